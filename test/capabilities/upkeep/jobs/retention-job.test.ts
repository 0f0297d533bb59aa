import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { pruneAll, runRetention } from '../../../../src/capabilities/upkeep/jobs/retention-job.ts';
import { dayMs } from '../../../../src/core/durations.ts';
import type { OpenStore } from '../../../../src/core/store/store.ts';
import { visitorRecord } from '../../../../src/kit/reading/visitor-record.ts';
import {
	addAccount,
	engines,
	enginesAboveContract,
	openFor,
	receivedAtMs,
	startServingFor,
	startWritingFor,
} from '../../../core/store/engines.ts';
import { hit } from '../../../core/store/made-hits.ts';
import { ServeProcess, withinASecond } from '../../../process.ts';
import { takesLong } from '../../../quick.ts';
import { collectWork } from '../../../support.ts';

function optionsAt(nowMs: number) {
	const { log, lines: reports } = collectWork();
	const stopping = new AbortController();
	return {
		reports,
		stopping,
		options: {
			keepHitsDays: 30,
			keepTouches: false,
			everyMs: 10,
			now: () => nowMs,
			log,
			signal: stopping.signal,
		},
	};
}

async function hitsOf(store: OpenStore, accountId: number, vid: string): Promise<number> {
	return (await store.transact(accountId, () => visitorRecord(vid)))?.hits.length ?? 0;
}

for (const engine of enginesAboveContract)
	test(`hits are kept for the set number of days on ${engine.name}, in every account, to the millisecond`, async (t) => {
		const { store, writer, accountId } = await startServingFor(t, engine);
		const otherId = await addAccount(store, 'c-a-other-us', 'other');
		await store.control.setAccountDisabled('c-a-other-us', true);
		const old = await writer.storeHit(accountId, hit());
		const younger = await writer.storeHit(accountId, hit({ atMs: receivedAtMs + 1 }));
		const other = await writer.storeHit(otherId, hit());
		const { reports, options } = optionsAt(receivedAtMs + 30 * dayMs);
		await pruneAll(store, options);
		assert.deepEqual(reports, [], 'what is exactly as old as it may be stays');
		await pruneAll(store, { ...options, now: () => receivedAtMs + 30 * dayMs + 1 });
		assert.deepEqual(reports, [
			['pruned', { aid: 'c-a-acme-uk', hits: 1 }],
			['pruned', { aid: 'c-a-other-us', hits: 1 }],
		]);
		assert.equal(await hitsOf(store, accountId, old.vid), 0);
		assert.equal(await hitsOf(store, otherId, other.vid), 0);
		assert.equal(await hitsOf(store, accountId, younger.vid), 1);
	});

test('two concurrent jobs on one database prune everything exactly once', async (t) => {
	const { store, address, accountId } = await startServingFor(
		t,
		engines[1] as (typeof enginesAboveContract)[number],
	);
	await storeOldHits(store, accountId, 1200);
	const second = await openFor(t, address);
	const { reports, options } = optionsAt(receivedAtMs + 40 * dayMs);
	await Promise.all([pruneAll(store, options), pruneAll(second, options)]);
	await pruneAll(store, options);
	const pruned = reports.map(([text, fields]) => {
		assert.equal(text, 'pruned');
		return (fields as { hits: number }).hits;
	});
	assert.equal(
		pruned.reduce((sum, hits) => sum + hits, 0),
		1200,
	);
});

async function storeOldHits(store: OpenStore, accountId: number, count: number): Promise<void> {
	const { storeHits } = await import('../../../../src/core/store/account/arriving/hits.ts');
	await store.transact(accountId, () => storeHits(Array.from({ length: count }, () => hit())));
}

test('an account that fails is reported, and the others are pruned', async (t) => {
	const { store, writer } = await startServingFor(t, engines[0] as (typeof enginesAboveContract)[number]);
	await store.control.createAccount({ aid: 'c-a-broken', client: 'acme', origins: [] }, async () => {});
	const otherId = await addAccount(store, 'c-a-other-us');
	await writer.storeHit(otherId, hit());
	const { reports, options } = optionsAt(receivedAtMs + 40 * dayMs);
	await pruneAll(store, options);
	assert.deepEqual(reports, [
		['retention failed', { aid: 'c-a-broken', reason: 'the file of account 2 is missing' }],
		['pruned', { aid: 'c-a-other-us', hits: 1 }],
	]);
});

test('pruning is repeated until it is stopped', async (t) => {
	const { store, writer, accountId } = await startServingFor(
		t,
		engines[0] as (typeof enginesAboveContract)[number],
	);
	const issued = await writer.storeHit(accountId, hit());
	let nowMs = receivedAtMs + 30 * dayMs;
	const { reports, stopping, options } = optionsAt(0);
	const done = runRetention(store, { ...options, everyMs: 10, now: () => nowMs });
	await delay(50);
	assert.equal(await hitsOf(store, accountId, issued.vid), 1);
	nowMs += 1;
	await withinASecond('pruned', () => reports.length > 0);
	stopping.abort();
	await done;
	assert.deepEqual(reports, [['pruned', { aid: 'c-a-acme-uk', hits: 1 }]]);
});

test('serve --keep-hits-days prunes at start, keeps serving, and stops cleanly', {
	skip: takesLong,
}, async (t) => {
	const [sqlite] = engines;
	assert.ok(sqlite);
	const address = await sqlite.freshAddress(t);
	const store = await openFor(t, address);
	const accountId = await addAccount(store, 'c-a-acme-uk');
	const writer = await startWritingFor(t, store);
	const old = await writer.storeHit(accountId, hit({ atMs: Date.now() - 8 * dayMs }));
	const fresh = await writer.storeHit(accountId, hit({ atMs: Date.now() }));
	await writer.stop();
	await using server = await ServeProcess.start(['--database', address, '--keep-hits-days', '7']);
	await withinASecond('pruned', () => server.stderr.includes('"msg":"pruned"'));
	assert.match(server.stderr, /"aid":"c-a-acme-uk","hits":1,"msg":"pruned"/);
	assert.equal(await hitsOf(store, accountId, old.vid), 0);
	assert.equal(await hitsOf(store, accountId, fresh.vid), 1);
	assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
	assert.equal((await server.kill('SIGTERM')).code, 0);
});
