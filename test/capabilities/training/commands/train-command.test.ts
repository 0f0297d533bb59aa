import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openStore } from '../../../../src/assembly/open-store.ts';
import { addAccount } from '../../../core/store/engines.ts';
import { installedPostgresDatabase } from '../../../core/store/postgres-server.ts';
import {
	assertMisused,
	assertRefused,
	caskade,
	caskadeJson,
	caskadeWithin,
	ServeProcess,
} from '../../../process.ts';
import { takesLong } from '../../../quick.ts';
import { temporaryFolder } from '../../../support.ts';
import { madeUpVisitors, storeVisitors } from '../made-up-log.ts';

interface Trained {
	readonly version: string | null;
	readonly active: boolean;
	readonly report: { readonly goal: string; readonly scope: string; readonly verdict: string };
}

async function withVisitors(t: TestContext, count: number, postgresAddress?: string) {
	const folder = temporaryFolder(t);
	const address = postgresAddress ?? `sqlite:${join(folder, 'data')}`;
	const store = await openStore(address);
	const accountId = await addAccount(store, 'c-a-acme-uk');
	await storeVisitors(store, accountId, madeUpVisitors(count));
	const models = () => store.control.models(accountId);
	t.after(() => store.close());
	return { folder, at: ['--database', address], models };
}

const asOf = ['--as-of', '2026-11-21'];

test('train prints and draws what an operator needs to know', async (t) => {
	const { folder, at, models } = await withVisitors(t, 250);
	const file = join(folder, 'report.html');
	const { code, stdout, stderr } = await caskade([
		...['train', 'c-a-acme-uk', '--goal', 'return', '--report', file, '--verbose', ...asOf, ...at],
	]);
	assert.equal(code, 0, stderr);
	assert.match(stderr, /read c-a-acme-uk: .* visitors/);
	for (const words of [
		/\nThe models are as of 2026-11-21T00:00:00\.000Z\.\nThe history covers \d+ days, .*, with \d+ hits\.\nAll \d+ visitors were read\./,
		/^Goal return of visitors, within 7 days\nSomebody who reached the goal scores higher than somebody who did not in \d\d of 100 pairs \(\d\d of 100, including visitors who have left the site\)\. Predicted [\d.]+ %, observed [\d.]+ %, on \d+ later rows\.\nVersion [-\d]+\.1 is now in use\.\n/,
		/rows +\d+\nconversions +\d+ visitors, in \d+ rows\nbase rate +\d/,
		/AUC of all rows +0\.\d{3} \(0\.\d{3} to 0\.\d{3}\)\nlog loss +0\.\d{4}, of the base rate 0\.\d{4}\nBrier +0\./,
		/later rows +predicted +observed\n +\d+ +[\d.]+ %/,
		/Log loss on later rows: logistic .* was chosen/,
		/feature +moves log-odds by +direction\n\w/,
	])
		assert.match(stdout, words);
	// What a person reads first fits a terminal; the rest is for who asks.
	const short = await caskade(['train', 'c-a-acme-uk', '--goal', 'return', ...asOf, ...at]);
	assert.equal(short.stdout.split('\n').length, 10);
	assert.match(
		short.stdout,
		/^Goal return of visitors, .*\nSomebody .* \d\d of 100 pairs.*\nVersion [-\d]+\.2 is now in use, instead of /,
	);
	const page = readFileSync(file, 'utf8');
	assert.ok(page.includes('<svg') && page.includes('Goal return of single visits'));
	assert.ok(
		(await models()).some(({ goal, scope, active }) => goal === 'return' && scope === 'vid' && active),
	);
	const scores = await caskade(['score', 'c-a-acme-uk', '--goal', 'return', '--json', ...at]);
	assert.match(scores.stderr, /^The log ended \d+ days ago/);
	const [first] = JSON.parse(scores.stdout) as { vid: string }[];
	const show = ['visitor', 'show', 'c-a-acme-uk', first?.vid as string, ...at];
	const { timeline } = (await caskadeJson(show)) as { timeline: Record<string, unknown>[] };
	const jumps = timeline.filter(({ what }) => what === 'score');
	assert.deepEqual(
		jumps.map(({ goal, change, reasons }) => [goal, change === null || (reasons as string[]).length > 0]),
		jumps.map(() => ['return', true]),
	);
	assert.equal(jumps[0]?.change, null);
	assert.match((await caskade(show)).stdout, / score +return \d+\.\d+ %/);
});

test('the same history and seed give the same result; other and rare goals have reports too', async (t) => {
	const { at } = await withVisitors(t, 60);
	const run = async () =>
		(await caskadeJson(['train', 'c-a-acme-uk', '--seed', '7', ...asOf, ...at])) as {
			aid: string;
			goals: Trained[];
		};
	const { aid, goals } = await run();
	assert.equal(aid, 'c-a-acme-uk');
	assert.deepEqual(goals.map(({ report: { goal, scope } }) => `${goal} ${scope}`).sort(), [
		'renewal vid',
		'return sid',
		'return vid',
		'subscription sid',
		'subscription vid',
	]);
	const rare = goals.find(({ report: { goal, scope } }) => goal === 'subscription' && scope === 'sid');
	assert.equal(rare?.active, false);
	assert.equal(rare?.report.verdict, 'few conversions');
	assert.deepEqual(
		(await run()).goals.map(({ report }) => report),
		goals.map(({ report }) => report),
	);
});

test('an account without history is reported without an error', async (t) => {
	const { at } = await withVisitors(t, 0);
	const { code, stdout } = await caskade(['train', 'c-a-acme-uk', ...at]);
	assert.equal(code, 0);
	assert.match(
		stdout,
		/No hit is old enough: what followed is known after 7 days\.\nNothing was stored, and the base rate stays in use\./,
	);
});

test('impossible options are refused', async (t) => {
	const { folder, at } = await withVisitors(t, 5);
	const train = (...args: string[]) => caskade(['train', ...args, ...at, '--json']);
	assertRefused(await train('c-a-other'), /There is no account c-a-other/);
	assertRefused(await train('c-a-acme-uk', '--goal', 'nonsense'), /has no goal nonsense/);
	assertRefused(
		await train('c-a-acme-uk', '--report', join(folder, 'missing', 'x.html')),
		/could not be written to .* \(ENOENT\)/,
	);
	for (const time of ['yesterday', '2026-13-01', '21.11.2026', '2026-11-21T25:00'])
		assertMisused(
			await train('c-a-acme-uk', '--as-of', time),
			/It must be a date or time such as 2026-11-21/,
		);
	assertMisused(await train('c-a-acme-uk', '--as-of', '2999-01-01'), /It must be in the past/);
	assertMisused(await train('c-a-acme-uk', '--as-of', '2026-02-30'), /such as 2026-11-21/);
	assertMisused(await train('c-a-acme-uk', '--seed', '-1'), /whole number/);
	for (const every of ['0h', '6', 'often', '366d'])
		assertMisused(
			await caskadeWithin(['serve', '--train-every', every, ...at]),
			/It must be a duration such as 90s/,
		);
});

test('serve --train-every trains at start, keeps serving, and stops at once', {
	skip: takesLong,
}, async (t) => {
	const { at, models } = await withVisitors(t, 60);
	await using server = await ServeProcess.start(['--train-every', '6h', ...at]);
	while (!/"scope":"sid".*"msg":"trained"/.test(server.stderr))
		await new Promise((resolve) => setTimeout(resolve, 50));
	assert.match(
		server.stderr,
		/"aid":"c-a-acme-uk","goal":"return","scope":"vid","version":".*"msg":"trained"/,
	);
	assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
	assert.ok((await models()).length > 0);
	assert.equal((await server.kill('SIGTERM')).code, 0);
});

test('several workers train once, in the process that starts them', { skip: takesLong }, async (t) => {
	const { at } = await withVisitors(t, 45, await installedPostgresDatabase());
	await using server = await ServeProcess.start(['--workers', '2', '--train-every', '6h', ...at]);
	const trained = () => server.stderr.split('\n').filter((line) => line.includes('"msg":"trained"'));
	while (trained().length < 4) await new Promise((resolve) => setTimeout(resolve, 50));
	assert.ok(trained().every((line) => !line.includes('"worker"')));
	assert.equal((await server.kill('SIGTERM')).code, 0);
	assert.equal(trained().length, 4);
});
