import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { pruneAll } from '../../../src/capabilities/upkeep/jobs/retention-job.ts';
import { copyStore } from '../../../src/capabilities/upkeep/store/copy.ts';
import { eraseVisitor } from '../../../src/capabilities/visitors/store/erasure.ts';
import { rebuildAll } from '../../../src/capabilities/visitors/store/rebuilding.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { countRows } from '../../../src/core/store/account/reading/rows.ts';
import type { OpenStore } from '../../../src/core/store/store.ts';
import type { Report } from '../../../src/kit/reports/report.ts';
import { engines, enginesAboveContract, openFor } from '../../core/store/engines.ts';
import { collectWork } from '../../support.ts';
import { add, fill, report, sale, vidOf, visit } from './filled.ts';
import { day0Ms } from './made-up.ts';

/** All hits are older than may be. */
async function prune(store: OpenStore, keepTouches: boolean): Promise<void> {
	const { log, lines } = collectWork();
	await pruneAll(store, {
		keepHitsDays: 30,
		keepTouches,
		everyMs: 1,
		now: () => day0Ms + 300 * dayMs,
		log,
		signal: new AbortController().signal,
	});
	for (const [text, fields] of lines) assert.equal(text, 'pruned', JSON.stringify(fields));
}

const attribution = (store: OpenStore, id: number) =>
	report(store, id, 'attribution', { asOf: null, model: ['linear'] });

function netByChannel({ rows }: Report): unknown[] {
	return rows.map((row) => [row.channel, (row.models as { linear: { netPence: number } }).linear.netPence]);
}

async function subscribers(t: TestContext, address: string): Promise<{ store: OpenStore; id: number }> {
	const store = await openFor(t, address);
	const id = await fill(store, 'c-a-acme-uk', [
		...[visit(1, 10, null), visit(1, 20, 'A', 'social'), sale('A', 'S', 21, 500), sale('A-2', 'S', 50, 500)],
		// Somebody else has not subscribed.
		...[visit(2, 10, 'X'), visit(2, 12, null, 'social')],
	]);
	return { store, id };
}

/** Without the visits of others, whose hits are deleted. */
const creditOf = ({ rows }: Report) =>
	rows.map(({ channel, assistRatio, models }) => {
		const { subscriptions, netPence } = (models as Record<string, Record<string, number>>).linear ?? {};
		return { channel, assistRatio, subscriptions, netPence };
	});

for (const engine of enginesAboveContract)
	test(`retention keeps how subscribers arrived, if configured, on ${engine.name}`, async (t) => {
		const { store, id } = await subscribers(t, await engine.installedAddress(t));
		const before = await attribution(store, id);
		assert.deepEqual(netByChannel(before), [
			['email', 500],
			['social', 500],
		]);
		await prune(store, true);
		const count = (table: 'hit' | 'visitor' | 'touch' | 'claim') => store.read(id, countRows(table));
		assert.deepEqual(
			[await count('hit'), await count('visitor'), await count('touch'), await count('claim')],
			[0, 0, 2, 1],
			'of who has not subscribed, nothing stays',
		);
		assert.deepEqual(creditOf(await attribution(store, id)), creditOf(before));
		await rebuildAll(store, id);
		assert.deepEqual(
			creditOf(await attribution(store, id)),
			creditOf(before),
			'a rebuild cannot derive it from hits',
		);

		const target = await openFor(t, await engine.installedAddress(t));
		await copyStore(store, target, () => {});
		const copied = await target.control.account('c-a-acme-uk');
		assert.deepEqual(creditOf(await attribution(target, copied.id)), creditOf(before));

		await add(store, id, [sale('A-3', 'S', 80, 500)]);
		assert.deepEqual(netByChannel(await attribution(store, id)), [
			['email', 750],
			['social', 750],
		]);
		assert.equal(await count('visitor'), 0, 'without a hit there is no profile');
		assert.equal((await rebuildAll(store, id)).changed, 0);
		await eraseVisitor(store, id, vidOf(1));
		assert.deepEqual(netByChannel(await attribution(store, id)), [['(none)', 1500]]);
		assert.deepEqual([await count('touch'), await count('claim')], [0, 0]);

		await prune(target, false);
		assert.deepEqual(netByChannel(await attribution(target, copied.id)), [['(none)', 1000]]);
	});

test('a link that a younger hit shows too outlives what was kept', async (t) => {
	const { store, id } = await subscribers(
		t,
		await (engines[0] as (typeof enginesAboveContract)[number]).installedAddress(t),
	);
	await add(store, id, [visit(1, 280, 'A', 'referral')]);
	await prune(store, true);
	assert.equal(await store.read(id, countRows('touch')), 3);
	await prune(store, false);
	// Its `tid` is first shown by the younger hit now.
	assert.deepEqual(netByChannel(await attribution(store, id)), [['referral', 1000]]);
	await rebuildAll(store, id);
	assert.equal(await store.read(id, countRows('touch')), 1);
});
