import assert from 'node:assert/strict';
import { closeSync, existsSync, openSync, rmSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Check } from '../../../../src/core/store/maintenance.ts';
import { setSchemaVersion } from '../../../core/store/damage.ts';
import { checkpoint } from '../../../core/store/other-program.ts';
import { assertRefused, caskade, type Ended, emptyInstallation } from '../../../process.ts';
import { serveHere } from '../../../serve-here.ts';
import { temporaryFolder } from '../../../support.ts';

/** A sound folder with two accounts and a key. */
async function soundFolder(t: TestContext) {
	const folder = temporaryFolder(t);
	const at = ['--database', `sqlite:${folder}`];
	for (const aid of ['c-a-x', 'c-a-y']) await caskade(['account', 'create', aid, '--client', 'x', ...at]);
	await caskade(['key', 'issue', '--client', 'x', ...at]);
	return { folder, at, account: (id: number) => join(folder, 'accounts', `${id}.sqlite`) };
}

/** What needs care, by the name of its check. */
function careOf(ended: Ended): Record<string, string> {
	assert.equal(ended.stderr, '');
	const checks = JSON.parse(ended.stdout) as Check[];
	assert.equal(ended.code, checks.every(({ ok }) => ok) ? 0 : 1);
	return Object.fromEntries(checks.filter(({ ok }) => !ok).map(({ check, detail }) => [check, detail]));
}

test('doctor and coverage name keys that stand for a missing one', async (t) => {
	const { folder, at } = await soundFolder(t);
	const file = join(folder, 'history.ndjson');
	const day = new Date(Date.now() - 86_400_000).toISOString();
	const sale = { type: 'subscription', at: day, evt: 'newsletter', rvn: 1 };
	const hit = { type: 'hit', at: day, url: 'https://shop.example/' };
	const lines = [
		...[1, 2].map((n) => ({ ...sale, tid: `T-${n}`, subid: `S-${n}`, cid: 'undefined' })),
		{ ...sale, tid: 'T-3', subid: 'S-3', cid: 'C-3' },
		...[1, 2, 3].map((n) => ({ ...hit, visitor: `v${n}`, cid: 'Guest' })),
		{ ...hit, visitor: 'v4', cid: 'C-3' },
	];
	writeFileSync(file, lines.map((line) => JSON.stringify(line)).join('\n'));
	assert.equal((await caskade(['import', 'c-a-x', file, ...at])).code, 0);
	const { stdout, code } = await caskade(['doctor', ...at]);
	assert.equal(code, 0);
	const named = stdout.split('\n').filter((line) => line.includes('keys of'));
	assert.equal(named.length, 1);
	assert.match(
		named[0] ?? '',
		/keys of c-a-x: .*cid 'undefined' of 2 events and cid 'Guest' shown by 3 visitors/,
	);
	const report = await caskade(['report', 'coverage', 'c-a-x', ...at]);
	assert.match(report.stdout + report.stderr, /join nobody: 2 events with the cid 'undefined'\./);
	const other = await caskade(['report', 'coverage', 'c-a-x', '--to', '2020-01-01', ...at]);
	assert.doesNotMatch(other.stdout + other.stderr, /join nobody/);
});

test('doctor and import say how often they assume to be paid what nobody has renewed yet', async (t) => {
	const { folder, at } = await soundFolder(t);
	const file = join(folder, 'history.ndjson');
	const importing = async (
		...sales: readonly (readonly [subid: string, evt: string, daysAgo: number, rvn?: number])[]
	) => {
		const lines = sales.map(([subid, evt, daysAgo, rvn = 5]) => ({
			type: 'subscription',
			at: new Date(Date.now() - daysAgo * 86_400_000).toISOString(),
			tid: `${subid}-${daysAgo}`,
			subid,
			evt,
			rvn,
		}));
		writeFileSync(file, lines.map((line) => JSON.stringify(line)).join('\n'));
		const { code, stdout } = await caskade(['import', 'c-a-x', file, ...at]);
		assert.equal(code, 0);
		return stdout;
	};
	const change =
		"To change it: 'caskade account update c-a-x --renewal-days EVT=DAYS', or EVT=never for what is paid once.";
	const unknown = `No renewal yet: it is unknown how often 'lifetime' is paid. ${change}`;
	const tried = await importing(['L-1', 'lifetime', 17, 0], ['L-1', 'lifetime', 3]);
	assert.ok(tried.endsWith(`\n\n${unknown}\n`), tried);
	const renewed = [1, 2, 3, 4, 5].flatMap((n) =>
		[95, 65, 35, 5].map((daysAgo) => [`N-${n}`, 'newsletter', daysAgo] as const),
	);
	const borrowed = `No renewal yet: 'lifetime' is assumed to be paid every 30 days, as others are. ${change}`;
	assert.ok((await importing(...renewed)).endsWith(`\n\n${borrowed}\n`));
	// Nothing came, so nothing new is assumed.
	assert.ok(!(await importing(...renewed)).includes('To change it'));
	const told = async () =>
		(await caskade(['doctor', ...at])).stdout.split('\n').filter((line) => line.includes('renewals of'));
	assert.deepEqual(await told(), [`note  renewals of c-a-x: ${borrowed}`]);
	await caskade(['account', 'update', 'c-a-x', '--renewal-days', 'lifetime=never', 'newsletter=30', ...at]);
	const set = `'lifetime' is paid once, as set. ${change} This replaces the whole list, so repeat what should stay.`;
	assert.deepEqual(await told(), [`note  renewals of c-a-x: No renewal yet: ${set}`]);
	await caskade(['account', 'update', 'c-a-x', '--renewal-days', 'lifetime=365', ...at]);
	assert.match((await told()).join(), /'lifetime' is assumed to be paid every 365 days, as set/);
});

test('doctor names accounts that believe every id', async (t) => {
	const { at } = await soundFolder(t);
	const named = async () =>
		(await caskade(['doctor', ...at])).stdout.split('\n').filter((line) => line.includes('ids of'));
	assert.deepEqual(await named(), []);
	await caskade(['account', 'update', 'c-a-y', '--id-trust', 'trusted', ...at]);
	const [told = '', ...others] = await named();
	assert.match(told, /^note +ids of c-a-y: .*'caskade account update c-a-y --id-trust claimed'/);
	assert.deepEqual(others, []);
});

test('doctor reports all checks of a healthy folder as ok', async (t) => {
	const { at } = await soundFolder(t);
	const ended = await caskade(['doctor', ...at]);
	assert.equal(ended.code, 0);
	assert.deepEqual(
		ended.stdout.split('\n').map((line) => line.split(':')[0]),
		[
			'ok    disk space',
			'ok    server',
			'ok    control database',
			'ok    account c-a-x',
			'ok    account c-a-y',
			'ok    keys',
			'',
		],
	);
	assert.match(ended.stdout, /server: no server runs on this data folder/);
	await using server = await serveHere(at);
	const { stdout } = await caskade(['doctor', ...at]);
	assert.match(stdout, new RegExp(`server: a server runs on this data folder, at ${server.url}\n`));
});

/** @param commands as they are printed, without `caskade` */
async function assertWork(commands: readonly string[], at: readonly string[]): Promise<void> {
	for (const command of commands) {
		const words = [...command.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word);
		const { code, stderr } = await caskade([...words, ...at]);
		assert.deepEqual([code, stderr], [0, '']);
	}
}

test('doctor tells which goals count what they did in an earlier version', async (t) => {
	const { at } = await soundFolder(t);
	await assertWork(
		[
			'goal update c-a-x subscription --counts any',
			...['c-a-x', 'c-a-y'].map((aid) => `goal delete ${aid} renewal`),
		],
		at,
	);
	const checks = JSON.parse((await caskade(['doctor', '--json', ...at])).stdout) as Check[];
	const told = checks.filter(({ check }) => check.startsWith('goals'));
	assert.deepEqual(
		told.map(({ check, ok }) => [check, ok]),
		[['goals of c-a-x', true]],
	);
	const commands = [...(told[0]?.detail ?? '').matchAll(/'caskade (goal [^']+)'/g)].map(([, one]) => one);
	assert.equal(commands.length, 2);
	await assertWork(commands as string[], at);
	assert.doesNotMatch((await caskade(['doctor', ...at])).stdout, /goals of/);
});

test('doctor tells which segments mean what they did in an earlier version', async (t) => {
	const { at } = await soundFolder(t);
	await assertWork(
		[
			'segment update c-a-x subscriber --rule "visitor.subscriptions > 0"',
			'segment delete c-a-x subscribed-before',
		],
		at,
	);
	const checks = JSON.parse((await caskade(['doctor', '--json', ...at])).stdout) as Check[];
	const told = checks.filter(({ check }) => check.startsWith('segments'));
	assert.deepEqual(
		told.map(({ check, ok }) => [check, ok]),
		[['segments of c-a-x', true]],
	);
	const commands = [...(told[0]?.detail ?? '').matchAll(/'caskade ([^']+)'/g)].map(([, one]) => one);
	assert.equal(commands.length, 3);
	await assertWork(commands as string[], at);
	assert.doesNotMatch((await caskade(['doctor', ...at])).stdout, /segments of/);
});

test('doctor reports that nobody can upload', async (t) => {
	const at = await emptyInstallation(t);
	const care = careOf(await caskade(['doctor', '--json', ...at]));
	assert.deepEqual(Object.keys(care), ['keys']);
	assert.match(care.keys as string, /'caskade key issue' makes one/);
});

test('doctor reports a missing file, and continues', async (t) => {
	const { at, account } = await soundFolder(t);
	rmSync(account(1));
	assert.deepEqual(careOf(await caskade(['doctor', '--json', ...at])), {
		'account c-a-x': 'the file of account 1 is missing: restore a backup',
	});
});

test('doctor reports damage anywhere in a file, and continues', async (t) => {
	const damages: ((path: string) => void)[] = [
		(path) => truncateSync(path, 5000),
		(path) => {
			const file = openSync(path, 'r+');
			writeSync(file, 'not a database', 0);
			closeSync(file);
		},
		(path) => {
			const file = openSync(path, 'r+');
			writeSync(file, Buffer.alloc(4096, 0xff), 0, 4096, 4096);
			closeSync(file);
		},
	];
	const { at, account } = await soundFolder(t);
	for (const id of [1, 2]) checkpoint(account(id));
	for (const damage of damages) {
		damage(account(1));
		const care = careOf(await caskade(['doctor', '--json', ...at]));
		assert.deepEqual(Object.keys(care), ['account c-a-x']);
		assert.match(care['account c-a-x'] as string, /^damaged \(.+\): restore a backup/);
	}
});

test('doctor reports a schema that is newer or older than its own', async (t) => {
	const { at, account } = await soundFolder(t);
	setSchemaVersion(account(1), 99);
	assert.match(
		careOf(await caskade(['doctor', '--json', ...at]))['account c-a-x'] as string,
		/schema 99 is newer than this Caskade/,
	);
	setSchemaVersion(account(1), 1);
	const ended = await caskade(['doctor', ...at]);
	assert.match(ended.stdout, /ok +account c-a-x: .* is available: run 'caskade migrate'/);
	assert.equal(ended.code, 0);
});

test('a missing data folder is refused and not created, because it may be mistyped', async (t) => {
	const folder = join(temporaryFolder(t), 'dat');
	const at = ['--database', `sqlite:${folder}`];
	for (const command of [
		['doctor'],
		['usage'],
		['key', 'list'],
		['account', 'list'],
		['events', 'c-a-x'],
		['backup', `${folder}-copy`],
	]) {
		assertRefused(await caskade([...command, ...at]), /There is no data in .*dat; /);
		assert.equal(existsSync(folder), false, command.join(' '));
	}
});

test('doctor names an account that a server of this version could not bring to its schema', async (t) => {
	const { at, account } = await soundFolder(t);
	// It has what the migrations would add.
	setSchemaVersion(account(1), 5);
	await using server = await serveHere(at);
	assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
	const care = careOf(await caskade(['doctor', '--json', ...at]));
	assert.deepEqual(Object.keys(care), ['account c-a-x']);
	assert.match(care['account c-a-x'] ?? '', /The server has not migrated it: .*'caskade migrate' says why/);
	assert.match((await caskade(['migrate', ...at])).stderr, /except c-a-x \(.+\); restore a backup/);
});
