import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { storeHistory } from '../../../../src/capabilities/history/store/past-history.ts';
import type { PromiseRow } from '../../../../src/capabilities/training/reports/promise-comparison.ts';
import {
	keepServedScores,
	pruneServedScores,
	type ServedScore,
	servedScores,
} from '../../../../src/capabilities/training/store/served-scores.ts';
import { eraseVisitor } from '../../../../src/capabilities/visitors/store/erasure.ts';
import { followPromises } from '../../../../src/capabilities/webhooks/jobs/promises-job.ts';
import { deliveries } from '../../../../src/capabilities/webhooks/store/outbox.ts';
import { goalDefaults } from '../../../../src/core/domain/goal.ts';
import { dayMs, hourMs } from '../../../../src/core/durations.ts';
import { foldAll } from '../../../../src/core/store/fold-all.ts';
import type { OpenStore } from '../../../../src/core/store/store.ts';
import { seededRandom } from '../../../../src/kit/random.ts';
import { enginesAboveContract, openAccountOn, openFor } from '../../../core/store/engines.ts';
import { body } from '../../../core/store/made-hits.ts';
import { serveHere } from '../../../serve-here.ts';
import { addClient, servedAccount, temporaryFolder } from '../../../support.ts';
import { report } from '../../reports/filled.ts';

/** A Monday. */
const mondayMs = Date.UTC(2026, 9, 5);
const asOf = mondayMs + 28 * dayMs;
const all = (store: OpenStore, id: number) => store.read(id, servedScores(0, Number.MAX_SAFE_INTEGER));

async function pruned(store: OpenStore, id: number, beforeMs: number, fullFromMs: number): Promise<void> {
	for (let count = 1; count > 0; )
		count = await store.transact(id, () => pruneServedScores(beforeMs, fullFromMs));
}

/** Visitors of some weeks who subscribe with the chance that `truth` makes of their score. */
async function told(
	store: OpenStore,
	accountId: number,
	{ visitors, truth, weeks = 2 }: { visitors: number; truth: (score: number) => number; weeks?: number },
): Promise<void> {
	const random = seededRandom(4);
	const hits: Parameters<typeof storeHistory>[0][number][] = [];
	const events: Parameters<typeof storeHistory>[1][number][] = [];
	const served: ServedScore[] = [];
	for (let number = 0; number < visitors; number++) {
		const vid = number.toString(16).padStart(32, '0');
		const atMs = mondayMs + Math.floor(random() * weeks * 7 * dayMs);
		const score = 0.02 + 0.5 * random() ** 3;
		const band = score > 0.2 ? 'high' : score > 0.05 ? 'medium' : 'low';
		const tid = `T-${number}`;
		hits.push({ vid, sid: null, atMs, body: body({}) });
		served.push({ vid, goal: 'subscription', atMs, band, millionths: Math.round(score * 1e6) });
		// Read again in the same hour: it counts once.
		served.push({ vid, goal: 'subscription', atMs: atMs + 60_000, band: 'low', millionths: 999_999 });
		if (random() >= truth(score)) continue;
		const boughtMs = atMs + hourMs + Math.floor(random() * 5 * dayMs);
		hits.push({ vid, sid: null, atMs: boughtMs, body: body({ events: [{ name: 'order', tid }] }) });
		events.push({ tid, subid: tid, cid: null, evt: 'newsletter', rvn: 500, receivedAtMs: boughtMs });
	}
	// The log goes on.
	hits.push({
		vid: 'f'.repeat(32),
		sid: null,
		atMs: mondayMs + (weeks + 2) * 7 * dayMs - hourMs,
		body: body({}),
	});
	for (let from = 0; from < hits.length; from += 500)
		await store.transact(accountId, () => storeHistory(hits.slice(from, from + 500), []));
	for (let from = 0; from < events.length; from += 500)
		await store.transact(accountId, () => storeHistory([], events.slice(from, from + 500)));
	await foldAll(store, accountId);
	for (let from = 0; from < served.length; from += 500)
		await store.transact(accountId, () => keepServedScores(served.slice(from, from + 500)));
}

for (const engine of enginesAboveContract)
	describe(`promises of scores, on ${engine.name}`, () => {
		test('true scores are kept, week by week and band by band', async () => {
			const { store, accountId } = await openAccountOn(engine);
			await told(store, accountId, { visitors: 1200, truth: (score) => score });
			const { rows } = await report(store, accountId, 'promises', { asOf, goal: 'subscription' });
			const made = rows as unknown as PromiseRow[];
			assert.deepEqual(
				made.map(({ week, band }) => `${week} ${band}`),
				['all', '2026-10-05', '2026-10-12'].flatMap((week) =>
					['all', 'high', 'medium', 'low'].map((band) => `${week} ${band}`),
				),
			);
			assert.ok(made.filter(({ result }) => result === 'not contradicted').length >= 11);
			const [together, ...weeks] = made.filter(({ band }) => band === 'all');
			assert.deepEqual([together?.week, together?.visitors], ['all', 1200]);
			assert.equal(
				weeks.reduce((sum, { visitors }) => sum + visitors, 0),
				1200,
				'each visitor once',
			);
			const events = await store.read(accountId, servedScores(0, asOf));
			assert.equal(events.length, 2400);
			for (const { visitors, predicted, low, high, observed } of made)
				assert.ok(low <= predicted && predicted <= high && observed <= visitors);
		});

		test('scores that promise too much are seen, and those whose horizon is not over wait', async () => {
			const { store, accountId } = await openAccountOn(engine);
			await told(store, accountId, { visitors: 800, truth: (score) => score / 2 });
			const { rows } = await report(store, accountId, 'promises', { asOf, goal: 'subscription' });
			const results = rows.filter(({ band }) => band === 'all').map(({ result }) => result);
			assert.deepEqual(results, ['fewer came', 'fewer came', 'fewer came'], 'of all weeks, and of each');
			const early = await report(store, accountId, 'promises', {
				asOf: mondayMs + 8 * dayMs,
				goal: 'subscription',
			});
			const [first] = early.rows as unknown as PromiseRow[];
			assert.ok(first && first.waiting > 0 && first.visitors > 0 && first.waiting > first.visitors);
			await assert.rejects(
				report(store, accountId, 'promises', { asOf, goal: 'none' }),
				/There is no goal none/,
			);
		});

		test('scores 30 % too high, which no week contradicts, are found by all weeks together', async () => {
			const { store, accountId } = await openAccountOn(engine);
			const weeks = 8;
			await told(store, accountId, { visitors: 150 * weeks, truth: (score) => score / 1.3, weeks });
			const { rows } = await report(store, accountId, 'promises', {
				asOf: mondayMs + 10 * 7 * dayMs,
				goal: 'subscription',
			});
			const [together, ...single] = (rows as unknown as PromiseRow[]).filter(({ band }) => band === 'all');
			assert.equal(single.length, weeks);
			const contradicted = single.filter(({ result }) => result !== 'not contradicted');
			assert.ok(contradicted.length <= 2, JSON.stringify(contradicted));
			assert.deepEqual([together?.week, together?.result], ['all', 'fewer came']);
		});

		test('of all weeks, a visitor counts again when the horizon of the score before is over', async () => {
			const { store, accountId } = await openAccountOn(engine);
			const vid = 'a'.repeat(32);
			const days = [0, 6, 13, 15];
			await store.transact(accountId, () =>
				storeHistory(
					[...days, 27].map((day) => ({ vid, sid: null, atMs: mondayMs + day * dayMs, body: body({}) })),
					[],
				),
			);
			await foldAll(store, accountId);
			await store.transact(accountId, () =>
				keepServedScores(
					days.map((day) => ({
						vid,
						goal: 'subscription',
						band: 'low',
						millionths: 100_000,
						atMs: mondayMs + day * dayMs,
					})),
				),
			);
			const { rows } = await report(store, accountId, 'promises', { asOf, goal: 'subscription' });
			const made = (rows as unknown as PromiseRow[]).filter(({ band }) => band === 'all');
			// Of each week counts the first; of all weeks not that of day 15, which is about days that the one of day 13 is about.
			assert.deepEqual(
				made.map(({ week, visitors, predicted }) => [week, visitors, predicted]),
				[
					['all', 2, 0.2],
					['2026-10-05', 1, 0.1],
					['2026-10-12', 1, 0.1],
					['2026-10-19', 1, 0.1],
				],
			);
		});

		test('a visitor who is told many scores counts once a week, as an own count says', async () => {
			const { store, accountId } = await openAccountOn(engine);
			const random = seededRandom(9);
			const hits: Parameters<typeof storeHistory>[0][number][] = [];
			const served: (ServedScore & { buysMs: number })[] = [];
			const [weeks, weekMs] = [2, 7 * dayMs];
			for (let number = 0; number < 120; number++) {
				const vid = number.toString(16).padStart(32, 'b');
				const reads = number % 10 === 0 ? 20 : 1 + (number % 2);
				const buysMs = mondayMs + Math.floor(random() * 6 * weekMs);
				hits.push({ vid, sid: null, atMs: mondayMs - hourMs, body: body({}) });
				hits.push({ vid, sid: null, atMs: buysMs, body: body({ events: [{ name: 'buys' }] }) });
				for (let read = 0; read < reads; read++) {
					const score = random() ** 2;
					const band = (['low', 'medium', 'high'] as const)[Math.floor(3 * score)] ?? 'high';
					const atMs = mondayMs + Math.floor(random() * weeks * weekMs);
					const said = { vid, goal: 'buying', atMs, band, millionths: Math.round(score * 1e6) };
					served.push({ ...said, buysMs });
				}
			}
			await store.control.createGoal(accountId, { ...goalDefaults, name: 'buying', evts: ['buys'] });
			await store.transact(accountId, () => storeHistory(hits, []));
			await foldAll(store, accountId);
			await store.transact(accountId, () => keepServedScores(served.map(({ buysMs: _, ...one }) => one)));
			const { rows } = await report(store, accountId, 'promises', {
				asOf: mondayMs + 6 * weekMs,
				goal: 'buying',
			});
			const made = (rows as unknown as PromiseRow[]).filter(({ week }) => week !== 'all');
			const own = [0, 1].flatMap((week) => {
				const fromMs = mondayMs + week * weekMs;
				const ofWeek = served
					.filter(({ atMs }) => atMs >= fromMs && atMs < fromMs + weekMs)
					.sort((a, b) => a.atMs - b.atMs);
				const first = [...Map.groupBy(ofWeek, ({ vid }) => vid).values()].map(([one]) => one);
				return (['all', 'high', 'medium', 'low'] as const).map((band) => {
					const some = first.filter((one) => one && (band === 'all' || one.band === band));
					return {
						week: new Date(fromMs).toISOString().slice(0, 10),
						band,
						visitors: some.length,
						predicted: some.reduce((sum, one) => sum + (one?.millionths ?? 0), 0) / 1e6,
						observed: some.filter((one) => one && one.buysMs > one.atMs && one.buysMs <= one.atMs + weekMs)
							.length,
					};
				});
			});
			assert.deepEqual(
				made.map(({ week, band, visitors, observed }) => ({ week, band, visitors, observed })),
				own.map(({ week, band, visitors, observed }) => ({ week, band, visitors, observed })),
			);
			for (const [place, { predicted }] of made.entries())
				assert.ok(Math.abs(predicted - (own[place]?.predicted ?? 0)) < 0.006);
		});

		test('webhooks hear once of a goal that is outside two weeks running', async () => {
			const { store, accountId, aid } = await openAccountOn(engine);
			await told(store, accountId, { visitors: 800, truth: (score) => score / 2 });
			const account = await store.control.account(aid);
			const events = ['score.promise.broken'] as const;
			const address = { url: 'https://crm.example/', withCid: false, allowPrivate: false };
			await store.control.createWebhook(accountId, { ...address, events });
			await store.control.createWebhook(accountId, { ...address, events: ['goal.reached'] });
			const nowMs = mondayMs + 22 * dayMs;
			const early = await followPromises(store, account, mondayMs + 15 * dayMs);
			assert.deepEqual(early, [], 'one of the weeks was before');
			for (let round = 0; round < 2; round++) {
				const [broken, ...others] = await followPromises(store, account, nowMs);
				assert.equal(broken?.goal, 'subscription');
				assert.deepEqual(others, []);
				assert.deepEqual(
					broken?.weeks.map(({ week, result }) => `${week} ${result}`),
					['2026-10-05 fewer came', '2026-10-12 fewer came'],
				);
			}
			const sent = await store.read(accountId, deliveries({ webhook: undefined, failed: false, limit: 10 }));
			assert.deepEqual(
				sent.map(({ type }) => type),
				['score.promise.broken'],
			);
			assert.deepEqual(await followPromises(store, account, nowMs + 14 * dayMs), []);
		});

		test('a sample is bounded, pruned, and without visitors who are erased', async () => {
			const { store, accountId } = await openAccountOn(engine);
			await told(store, accountId, { visitors: 900, truth: () => 0 });
			const at = mondayMs + 3 * hourMs;
			const crowd = (await all(store, accountId))
				.filter(({ millionths }) => millionths === 999_999)
				.map((one) => ({ ...one, atMs: at }));
			await store.transact(accountId, () => keepServedScores(crowd));
			const of = async () => (await all(store, accountId)).filter(({ atMs }) => atMs === at).length;
			assert.equal(await of(), 900);
			await pruned(store, accountId, 0, mondayMs);
			assert.ok((await of()) <= 666);
			const beforeMs = mondayMs + 7 * dayMs;
			await pruned(store, accountId, beforeMs, beforeMs);
			const left = await all(store, accountId);
			assert.ok(left.length > 100 && left.every(({ atMs }) => atMs >= beforeMs));
			const gone = left[0] as ServedScore;
			await eraseVisitor(store, accountId, gone.vid);
			await store.transact(accountId, () => keepServedScores([gone]));
			assert.ok((await all(store, accountId)).every(({ vid }) => vid !== gone.vid));
		});
	});

test('what pages are told is kept when the server stops, of visitors and not of single visits', async (t) => {
	const address = `sqlite:${temporaryFolder(t)}/data`;
	const store = await openFor(t, address);
	const client = await addClient(store, {});
	const server = await serveHere(['--database', address]);
	const { url, hit, aid } = servedAccount(server, store, client);
	const { vid, cask } = await hit();
	for (const path of ['/visscores', '/visscores/segments'])
		assert.equal((await fetch(`${url}${path}?cask=${cask}`)).status, 200);
	const ofVisit = await hit({ vid }, {}, '?scope=sid');
	assert.equal((await fetch(`${url}/visscores?cask=${ofVisit.cask}`)).status, 200);
	await hit({ vid }, {}, '?include=scores');
	await server.stop();
	const { id } = await store.control.account(aid);
	const kept = await all(store, id);
	assert.deepEqual(
		kept.map((one) => [one.vid, one.goal, one.band, one.millionths]),
		[0, 1].flatMap(() =>
			['return', 'subscription'].map((goal) => [vid, goal, 'medium', kept[0]?.millionths]),
		),
	);
});
