import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openStore } from '../../../../src/assembly/open-store.ts';
import { storeHistory } from '../../../../src/capabilities/history/store/past-history.ts';
import { visitorsFrom } from '../../../../src/core/store/account/reading/visitors.ts';
import { addAccount, engines, openFor } from '../../../core/store/engines.ts';
import { assertMisused, caskade, caskadeJson, mainPath, TestProcess } from '../../../process.ts';
import { event, startService, temporaryFolder } from '../../../support.ts';

const asOf = new Date().toISOString().slice(0, 10);

/** The reports and profiles of an account, without the names of the account and of visits. */
async function contentOf(aid: string, address: string): Promise<unknown> {
	const reports: unknown[] = [];
	for (const kind of ['attribution', 'paths', 'ltv', 'renewals', 'coverage']) {
		const models = kind === 'attribution' ? ['--model', 'all', '--no-intervals'] : [];
		const flags = ['--as-of', asOf, ...models, '--database', address];
		const report = (await caskadeJson(['report', kind, aid, ...flags])) as { rows: unknown[] };
		assert.ok(report.rows.length > 0, kind);
		reports.push({ ...report, aid: null });
	}
	const store = await openStore(address);
	try {
		const { id } = await store.control.account(aid);
		const profiles = await store.read(id, visitorsFrom(0, 10_000));
		return {
			reports,
			profiles: profiles.map(({ profile }) => JSON.stringify(profile).replace(/"sid":"\w+"/, '')).sort(),
		};
	} finally {
		await store.close();
	}
}

test('what export prints, imported into an empty account of any engine, gives the same profiles and reports', async (t) => {
	const folder = temporaryFolder(t);
	const source = `sqlite:${join(folder, 'source')}`;
	const made = await caskade([
		'demo',
		'c-a-first',
		'--visitors',
		'120',
		'--days',
		'90',
		'--database',
		source,
	]);
	assert.equal(made.code, 0, made.stderr);
	const odd = [
		{
			type: 'hit',
			at: '2026-01-31T10:00:00Z',
			visitor: 'v',
			title: 'a "quoted", =1+1',
			url: 'https://shop.example/a,b',
		},
		{
			type: 'hit',
			at: '2026-01-31T10:01:00Z',
			visitor: 'v',
			events: [{ name: 'order; "x"', tid: '=A,1' }],
			cid: ' c ',
		},
		{ type: 'subscription', at: '2026-01-31T10:05:00Z', tid: '=A,1', subid: '007', evt: 'gift', rvn: -5 },
	];
	const oddFile = join(folder, 'odd.ndjson');
	writeFileSync(oddFile, odd.map((line) => `${JSON.stringify(line)}\n`).join(''));
	const added = await caskade(['import', 'c-a-first', oddFile, '--database', source]);
	assert.equal(added.code, 0, added.stderr);
	const files: string[] = [];
	for (const flags of [[], ['--csv']]) {
		const { stdout, code } = await caskade(['export', 'c-a-first', ...flags, '--database', source]);
		assert.equal(code, 0);
		files.push(join(folder, `export-${flags.length}`));
		writeFileSync(files.at(-1) as string, stdout);
	}
	const expected = await contentOf('c-a-first', source);
	for (const engine of engines) {
		const address = await engine.installedAddress(t);
		for (const [number, file] of files.entries()) {
			const aid = `c-a-copy-${number}`;
			await caskade(['account', 'create', aid, '--client', 'copy', '--database', address]);
			// In CSV, a space around an id may be a spreadsheet's.
			const imported = await caskade(['import', aid, file, '--ids-as-written', '--database', address]);
			assert.equal(imported.code, 0, imported.stderr);
			assert.deepEqual(await contentOf(aid, address), expected, `${engine.name} ${file}`);
		}
	}
	const csv = await caskade(['events', 'c-a-first', '--tid', '=A,1', '--csv', '--database', source]);
	assert.match(
		csv.stdout,
		/^tid,subid,cid,evt,rvn,receivedAt,at\r\n"=A,1",007,,gift,-5,2026-01-31T10:05:00.000Z,\r\n$/,
	);
	assertMisused(await caskade(['events', 'c-a-first', '--csv', '--json', '--database', source]), /--csv/);
});

test('an export has what only the arrival knew: the site of a paid click, the app, and that nothing proved an id', async (t) => {
	const service = await startService(t);
	const { aid, url, folder } = service;
	assert.equal((await service.upload({ aid, data: [event({ cid: 'customer-42' })] })).status, 201);
	for (const [hit, app] of [
		[
			{ url: 'https://shop.example/?gclid=1', cid: 'customer-42', events: [{ name: 'buy', tid: 'web-1' }] },
			'',
		],
		[{ url: 'https://shop.example/' }, ' Instagram 300.0.0.0'],
	] as const) {
		const answer = await fetch(`${url}/hit`, {
			method: 'POST',
			headers: {
				'user-agent': `Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15${app}`,
			},
			body: JSON.stringify({ aid, ...hit }),
		});
		assert.equal(answer.headers.get('x-hit-stored'), '1');
	}
	const exportOf = async (of: string, database: string, flags: readonly string[] = []) => {
		const { stdout, code } = await caskade(['export', of, ...flags, '--database', database]);
		assert.equal(code, 0);
		return stdout;
	};
	const linesOf = (text: string) =>
		text
			.trim()
			.split('\n')
			.map((line) => JSON.parse(line))
			.map(({ visitor: _, visit: __, ...line }) => line)
			.sort((a, b) => a.at.localeCompare(b.at));
	const source = `sqlite:${folder}`;
	const expected = linesOf(await exportOf(aid, source));
	assert.deepEqual(
		expected.slice(1).map(({ source: site, isByApp, isCidUnproven }) => [site, isByApp, isCidUnproven]),
		[
			['google.com', undefined, true],
			['instagram.com', true, undefined],
		],
	);
	const file = join(temporaryFolder(t), 'exported');
	for (const engine of engines) {
		const address = await engine.installedAddress(t);
		for (const [number, flags] of [[], ['--csv']].entries()) {
			const copy = `c-a-copy-${number}`;
			writeFileSync(file, await exportOf(aid, source, flags));
			await caskade(['account', 'create', copy, '--client', 'copy', '--database', address]);
			const imported = await caskade(['import', copy, file, '--ids-as-written', '--database', address]);
			assert.equal(imported.code, 0, imported.stderr);
			assert.deepEqual(linesOf(await exportOf(copy, address)), expected, `${engine.name} ${flags}`);
		}
	}
});

test('an export reads events as fast as they are taken, not all at once', async (t) => {
	const address = `sqlite:${temporaryFolder(t)}`;
	const store = await openFor(t, address);
	const id = await addAccount(store, 'c-a-acme-uk');
	const event = (number: number) => ({
		tid: `T-${number}`,
		subid: `S-${number}`,
		cid: null,
		evt: 'newsletter'.repeat(20),
		rvn: 1,
		receivedAtMs: 1000 + number,
	});
	// More than fits into a pipe and the buffers at its ends.
	const events = Array.from({ length: 3000 }, (_, number) => event(number));
	await store.transact(id, () => storeHistory([], events));
	await using exporting = new TestProcess(process.execPath, [
		...[mainPath, 'export', 'c-a-acme-uk', '--database', address],
	]);
	const { stdout } = exporting.child;
	await once(stdout as NodeJS.ReadableStream, 'data');
	stdout?.pause();
	await store.transact(id, () => storeHistory([], [event(3000)]));
	stdout?.resume();
	const { stdout: lines, code } = await exporting.ended;
	assert.equal(code, 0);
	assert.equal(lines.trim().split('\n').length, 3001);
});
