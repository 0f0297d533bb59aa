import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { storeHistory } from '../../../../src/capabilities/history/store/past-history.ts';
import { prune } from '../../../../src/capabilities/upkeep/store/pruning.ts';
import {
	beginErasing,
	erasePiece,
	findAbandonedErasure,
} from '../../../../src/capabilities/visitors/store/erasing.ts';
import { eraseOne } from '../../../../src/capabilities/visitors/store/erasure.ts';
import { type LogEntry, profileOf } from '../../../../src/core/domain/profile.ts';
import type { ArrivingHit, HistoryHit } from '../../../../src/core/domain/stored-hit.ts';
import { storedEvent } from '../../../../src/core/domain/subscription-event.ts';
import { minuteMs } from '../../../../src/core/durations.ts';
import { joinEvents } from '../../../../src/core/store/account/arriving/arriving-events.ts';
import { storeHits } from '../../../../src/core/store/account/arriving/hits.ts';
import { foldPiece } from '../../../../src/core/store/account/profiles/folding.ts';
import { foldAll } from '../../../../src/core/store/fold-all.ts';
import type { ServingWriter } from '../../../../src/core/store/serving.ts';
import type { Row, Steps } from '../../../../src/core/store/steps.ts';
import type { OpenStore } from '../../../../src/core/store/store.ts';
import { seededRandom } from '../../../../src/kit/random.ts';
import { visitorRecord } from '../../../../src/kit/reading/visitor-record.ts';
import { examples, takesLong } from '../../../quick.ts';
import {
	addAccount,
	type Engine,
	openAccountOn,
	receivedAtMs,
	subscriptionEvent,
	upload,
} from '../engines.ts';
import { addLongLog, longLogSid, longLogVid } from '../long-log.ts';
import { body, derived, hit, newId } from '../made-hits.ts';
import { assertAsTheLogSays } from './visitors.ts';

const vid = longLogVid;
const sid = longLogSid;

export interface Cost {
	statements: number;
	rows: number;
}

/** Counts the statements and rows of steps. */
export function* counting<T>(steps: Steps<T>, cost: Cost): Steps<T> {
	let results: readonly (readonly Row[])[] = [];
	for (let step = steps.next(results); ; step = steps.next(results)) {
		if (step.done) return step.value;
		results = yield step.value;
		cost.statements += step.value.length;
		cost.rows += results.reduce((sum, rows) => sum + rows.length, 0);
		for (const query of step.value) if ('rows' in query) cost.rows += query.rows?.length ?? 0;
	}
}

/** Counts the table rows that PostgreSQL reads for these steps. */
function* scanning<T>(steps: Steps<T>, cost: { scanned: number }): Steps<T> {
	const before = yield* scanned();
	const outcome = yield* steps;
	cost.scanned = Math.max(cost.scanned, (yield* scanned()) - before);
	return outcome;
}

/** The count so far, on this connection. */
function* scanned(): Steps<number> {
	const [rows = []] = yield [
		{
			sql: 'SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) AS scanned FROM pg_stat_xact_user_tables',
		},
	];
	return Number(rows[0]?.scanned);
}

/** Compares everything derived from a log with a single pass over it. */
export async function assertFolded(store: OpenStore, accountId: number): Promise<void> {
	assert.equal(await store.waiting(accountId), 0);
	const record = await store.transact(accountId, () => readLog());
	const stored = (await derived(store, accountId)) as {
		visitors: { vid: string; profile: string }[];
		visits: { sid: string; profile: string }[];
	};
	for (const each of stored.visitors)
		assert.deepEqual(
			JSON.parse(each.profile),
			profileOf(record.filter(({ of }) => of === each.vid).map(({ entry }) => entry)),
		);
	for (const each of stored.visits)
		assert.deepEqual(
			JSON.parse(each.profile),
			profileOf(
				record.map(({ entry }) => entry).filter((entry) => entry.type === 'hit' && entry.sid === each.sid),
			),
		);
}

function* readLog(): Steps<{ of: string; entry: LogEntry }[]> {
	const [hits = [], events = []] = yield [
		{ sql: 'SELECT vid, sid, at, body FROM @logged_hit' },
		{ sql: 'SELECT vid, tid, subid, evt, rvn, received_at FROM @subscription_event WHERE vid IS NOT NULL' },
	];
	return [
		...hits.map((row) => {
			const text = String(row.body);
			const { page, channel, device, events: fired } = JSON.parse(text);
			const names = fired.map(({ name }: { name: string }) => name);
			const entry: LogEntry = {
				type: 'hit',
				atMs: Number(row.at),
				sid: String(row.sid),
				page,
				channel,
				device,
				events: names,
				tieBreak: text,
			};
			return { of: String(row.vid), entry };
		}),
		...events.map((row) => ({
			of: String(row.vid),
			entry: {
				type: 'subscription' as const,
				atMs: Number(row.received_at),
				tid: String(row.tid),
				subid: String(row.subid),
				evt: String(row.evt),
				revenuePence: Number(row.rvn),
			},
		})),
	];
}

/** The contract of every engine for work that is too much for a request. */
export function foldingContract(engine: Engine): void {
	suite(`folding on ${engine.name}`, () => {
		test('hits of one moment, and after a small step back of the clock, follow each other', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const issued = await writer.storeHit(accountId, hit());
			for (const atMs of [0, 0, -5000, -59_000, 1].map((ms) => receivedAtMs + ms))
				await writer.storeHit(accountId, hit({ ...issued, atMs }));
			const log = await store.transact(accountId, () => readLog());
			assert.deepEqual(
				log.map(({ entry }) => entry.atMs - receivedAtMs).sort((a, b) => a - b),
				[0, 1, 2, 3, 4, 5],
			);
			assert.equal(await store.waiting(accountId), 0);
			await assertAsTheLogSays(store, accountId);
		});

		test('of a visitor with a long log, a visit whose first two hits arrive at once, the later one first', async () => {
			const { store, accountId } = await openAccountOn(engine);
			await addLongLog(store, accountId, 600, receivedAtMs);
			const minutesLater = [60, 50].map((minutes) => hit({ vid, atMs: receivedAtMs + minutes * minuteMs }));
			await store.transact(accountId, () => storeHits(minutesLater));
			await foldAll(store, accountId);
			await assertFolded(store, accountId);
		});

		const late = (fields: Partial<ArrivingHit> = {}) =>
			hit({ vid, sid, atMs: receivedAtMs - 10 * minuteMs, ...fields });
		const requests: Readonly<Record<string, (store: OpenStore, accountId: number) => Steps<unknown>>> = {
			'a hit in the same millisecond': () => storeHits([late({ atMs: receivedAtMs })]),
			'a hit after the clock has stepped back': () => storeHits([late()]),
			'a hit that begins a visit in the past': () =>
				storeHits([late({ sid: null, atMs: receivedAtMs - 100 * minuteMs })]),
			'sixty hits of the past at once': () => storeHits(Array.from({ length: 60 }, () => late())),
			'an upload of events from before the last hit': () => {
				const events = Array.from({ length: 30 }, (_, index) =>
					storedEvent(subscriptionEvent({ tid: `late-${index}` }), { receivedAtMs: receivedAtMs - 5000 }),
				);
				return joinEvents(events, {
					owners: new Map(events.map(({ tid }) => [tid, { vid, named: 2 }])),
					subscribers: new Map(),
					isAnothers: () => false,
				});
			},
		};
		test('the cost of a request does not grow with what was sent before', {
			skip: !engine.isFolder && takesLong,
		}, async () => {
			for (const [what, request] of Object.entries(requests)) {
				const costs = [];
				for (const hits of [600, 6000]) {
					const { store, accountId } = await openAccountOn(engine);
					await addLongLog(store, accountId, hits, receivedAtMs);
					const cost = { statements: 0, rows: 0 };
					await store.transact(accountId, () => counting(request(store, accountId), cost));
					costs.push(cost);
				}
				assert.deepEqual(costs[0], costs[1], what);
				assert(
					Number(costs[0]?.rows) < 200 && Number(costs[0]?.statements) < 20,
					`${what}: ${JSON.stringify(costs)}`,
				);
			}
		});

		test('a visitor who shows the tid of a subscription with many events gains all of them eventually', async () => {
			const costs = [];
			for (const count of [300, 1500]) {
				const { store, accountId } = await openAccountOn(engine);
				const first = subscriptionEvent({ tid: 'T-first', subid: 'S-long' });
				const events = Array.from({ length: count }, () => subscriptionEvent({ subid: 'S-long' }));
				await store.transact(accountId, () =>
					storeHistory(
						[],
						[first, ...events].map((event, place) => ({ ...event, receivedAtMs: receivedAtMs + place })),
					),
				);
				const cost = { statements: 0, rows: 0 };
				const shown = hit(
					{ vid, freshVid: vid, atMs: receivedAtMs + minuteMs },
					{ events: [{ name: 'order', tid: 'T-first' }] },
				);
				await store.transact(accountId, () => counting(storeHits([shown]), cost));
				costs.push(cost);
				await foldAll(store, accountId);
				const { events: stored } = (await derived(store, accountId)) as { events: { vid: string | null }[] };
				assert.deepEqual(
					[stored.length, new Set(stored.map((event) => event.vid))],
					[count + 1, new Set([vid])],
				);
				const later = subscriptionEvent({ subid: 'S-long' });
				const uploading = { statements: 0, rows: 0 };
				await store.transact(accountId, () =>
					counting(storeHistory([], [{ ...later, receivedAtMs: receivedAtMs + 10 * minuteMs }]), uploading),
				);
				costs.push(uploading);
				await assertAsTheLogSays(store, accountId);
			}
			assert.deepEqual(costs.slice(0, 2), costs.slice(2));
			for (const { rows, statements } of costs)
				assert.ok(rows < 100 && statements < 60, JSON.stringify(costs));
		});

		test('a visitor who shows a customer id with many events gains all of them eventually', {
			skip: takesLong,
		}, async () => {
			const costs = [];
			for (const count of [300, 1500]) {
				const { store, writer, accountId } = await openAccountOn(engine);
				const events = Array.from({ length: count }, () => subscriptionEvent({ cid: 'C-popular' }));
				await store.transact(accountId, () =>
					storeHistory(
						[],
						events.map((event, index) => ({ ...event, receivedAtMs: receivedAtMs - index })),
					),
				);
				const cost = { statements: 0, rows: 0 };
				const first = hit({ atMs: receivedAtMs + 1 }, { cid: 'C-popular' });
				await store.transact(accountId, () => counting(storeHits([first]), cost));
				costs.push(cost);
				assert.equal(await store.waiting(accountId), 1);
				await writer.storeHit(accountId, hit({ atMs: receivedAtMs + 2 }, { cid: 'C-popular' }));
				assert.equal(await store.waiting(accountId), 1, 'who comes second gets nothing');
				let after: string | undefined = '';
				while (after !== undefined) {
					const piece = { statements: 0, rows: 0 };
					after = (await store.transact(accountId, () => counting(foldPiece(after), piece)))?.name;
					assert(piece.rows < 1600, JSON.stringify(piece));
				}
				await assertFolded(store, accountId);
				const { events: joined } = (await derived(store, accountId)) as { events: { vid: string }[] };
				assert(joined.every((event) => event.vid === first.freshVid));
			}
			assert.deepEqual(costs[0], costs[1]);
			assert(Number(costs[0]?.rows) < 100, JSON.stringify(costs));
		});

		test('reads give the last known profile until folding is complete, and pieces are short', async (t) => {
			const { store, writer, accountId } = await openAccountOn(engine);
			await addLongLog(store, accountId, 1500, receivedAtMs);
			const reader = store.startReading();
			t.after(() => reader.close());
			const hits = async () => (await reader.visitor(accountId, vid))?.hits;
			await writer.storeHit(accountId, late());
			assert.equal(await store.waiting(accountId), 2);
			assert.equal(await hits(), 1500);
			// The latest entry is known at once.
			await writer.storeHit(accountId, late({ atMs: receivedAtMs + 1000 }));
			assert.equal(await hits(), 1501);
			let after: string | undefined = '';
			for (let pieces = 0; ; pieces++) {
				const cost = { statements: 0, rows: 0 };
				after = (await store.transact(accountId, () => counting(foldPiece(after), cost)))?.name;
				assert(cost.rows < 250, JSON.stringify(cost));
				if (after === undefined) break;
				assert(pieces < 20);
			}
			assert.equal(await hits(), 1502);
			await assertFolded(store, accountId);
		});

		test('everything that arrives during folding is in the profile', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			await addLongLog(store, accountId, 700, receivedAtMs);
			const cid = 'C-long';
			await writer.storeHit(accountId, late({ atMs: receivedAtMs + 1 }));
			await writer.storeHit(accountId, hit({ vid, sid, atMs: receivedAtMs + 2 }, { cid }));
			const seconds = fc.integer({ min: -800, max: 20 });
			const happening = fc.oneof(
				fc.record({ type: fc.constant('hit' as const), seconds, visit: fc.constantFrom(sid, null) }),
				fc.record({ type: fc.constant('upload' as const), seconds }),
				fc.record({ type: fc.constant('fold' as const), pieces: fc.integer({ min: 1, max: 4 }) }),
			);
			await fc.assert(
				fc.asyncProperty(fc.array(happening, { minLength: 1, maxLength: 10 }), async (script) => {
					let after: string | undefined = '';
					for (const each of script) {
						if (each.type === 'fold')
							for (let piece = 0; piece < each.pieces; piece++)
								after = (await store.transact(accountId, () => foldPiece(after)))?.name ?? '';
						else if (each.type === 'hit')
							await writer.storeHit(
								accountId,
								late({ sid: each.visit, atMs: receivedAtMs + each.seconds * 1000 }),
							);
						else await uploadAt(writer, accountId, cid, receivedAtMs + each.seconds * 1000);
					}
					await foldAll(store, accountId);
					await assertFolded(store, accountId);
				}),
				{ numRuns: examples(engine.isFolder ? 30 : 12) },
			);
		});

		test('importing history of a visitor with a long log gives the same result in any order, in short pieces', {
			skip: !engine.isFolder && takesLong,
		}, async () => {
			const { store, accountId: whole } = await openAccountOn(engine);
			const pieces = await addAccount(store);
			const random = seededRandom(3);
			let atMs = receivedAtMs;
			const all = Array.from({ length: 7000 }, (_, index): HistoryHit => {
				// Occasionally, half an hour lies between two hits, or a visit is named.
				atMs += random() < 0.002 ? 31 * minuteMs : 500 + Math.floor(random() * 1000);
				const url = `https://shop.example/${index}`;
				return { vid, sid: random() < 0.02 ? sid : null, atMs, body: body({ url, cid: 'C-1' }) };
			});
			await store.transact(whole, () => storeHistory(all, []));
			await foldAll(store, whole);
			const later = all.slice(3000);
			const few = all.filter((_, index) => index % 7 === 0);
			const orders = [later, few, all.slice(0, 100), all];
			const most = { rows: 0, given: 0 };
			for (const hits of orders)
				for (let from = 0; from < hits.length; from += 700)
					for (let left: readonly HistoryHit[] = hits.slice(from, from + 700); left.length > 0; ) {
						const cost = { statements: 0, rows: 0 };
						const given = left.length;
						({ left } = await store.transact(pieces, () => counting(storeHistory(left, []), cost)));
						assert(left.length < given);
						if (given === 700) most.rows = Math.max(most.rows, cost.rows);
					}
			// Mostly the hits themselves and the 1,000 between which they arrive.
			assert(most.rows < 6000, JSON.stringify(most));
			await foldAll(store, pieces);
			await assertFolded(store, pieces);
			assert.deepEqual(await derived(store, pieces), await derived(store, whole));
		});

		if (!engine.isFolder)
			test('no transaction reads more rows than a piece, counted in the tables', {
				skip: takesLong,
			}, async () => {
				const { store, accountId } = await openAccountOn(engine);
				await addLongLog(store, accountId, 12_000, receivedAtMs);
				// So many that PostgreSQL does not take reading all their links for as quick as looking one up.
				const others = Array.from({ length: 2000 }, (_, index) =>
					hit({ atMs: receivedAtMs + index }, { cid: 'C-1' }),
				);
				await store.transact(accountId, () => storeHits(others));
				const sales = Array.from({ length: 1000 }, (_, index) => ({
					...subscriptionEvent({ cid: index % 2 === 0 ? 'C-1' : 'C-2' }),
					receivedAtMs: receivedAtMs + index,
				}));
				await store.transact(accountId, () => storeHistory([], sales));
				const most = async (steps: () => Steps<unknown>, times = 1) => {
					const cost = { scanned: 0 };
					for (let time = 0; time < times; time++)
						await store.transact(accountId, () => scanning(steps(), cost));
					return cost.scanned;
				};
				const scans = new Map<string, number>();
				for (const [what, request] of Object.entries(requests))
					scans.set(what, await most(() => request(store, accountId)));
				const link = hit({ atMs: receivedAtMs - 1 }, { cid: 'C-2' });
				scans.set('a link', await most(() => storeHits([link])));
				scans.set('to fold', await most(() => foldPiece(), 40));
				scans.set('to prune', await most(() => prune(receivedAtMs - 1_000_000), 5));
				await store.transact(accountId, () =>
					beginErasing(vid, 1, { mark: 'M', successor: newId(), atMs: 1 }),
				);
				scans.set('to erase', await most(() => erasePiece(vid, 1, receivedAtMs), 5));
				// PostgreSQL reads tables as small as that of the 1,000 events completely, up to four times; the long
				// log never.
				assert.deepEqual(
					[...scans].filter(([, rows]) => rows > 6000),
					[],
				);
			});

		const prunings = [...Array(3).keys()].map((third) => receivedAtMs - third * 400_000);
		test('hits pruned from long logs no longer count, nor do their links and sales, and pieces are short', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			await addLongLog(store, accountId, 1200, receivedAtMs);
			const other = await writer.storeHit(accountId, hit({ atMs: receivedAtMs - 300_000 }));
			// Shown early and late by the visitor with the long log, and in between by the other.
			for (const [tid, ago] of [
				['T-again', 1_000_000],
				['T-once', 1_000_000],
				['T-again', 100_000],
			] as const)
				await writer.storeHit(
					accountId,
					hit({ vid, sid, atMs: receivedAtMs - ago }, { events: [{ name: 'order', tid }], cid: 'C-long' }),
				);
			const between = { ...other, atMs: receivedAtMs - 200_000 };
			await writer.storeHit(accountId, hit(between, { events: [{ name: 'order', tid: 'T-again' }] }));
			await upload(writer, accountId, [
				subscriptionEvent({ tid: 'T-again' }),
				subscriptionEvent({ tid: 'T-once' }),
				subscriptionEvent({ tid: 'T-customer', cid: 'C-long' }),
			]);
			await foldAll(store, accountId);
			assert.deepEqual(await owners(store, accountId), [vid, vid, vid]);
			for (const beforeMs of prunings.reverse()) {
				for (let pruned = 1; pruned > 0; ) {
					const cost = { statements: 0, rows: 0 };
					pruned = await store.transact(accountId, () => counting(prune(beforeMs), cost));
					assert(cost.rows < 1500, JSON.stringify(cost));
				}
				await foldAll(store, accountId);
				await assertFolded(store, accountId);
				await assertAsTheLogSays(store, accountId);
				if (beforeMs === receivedAtMs - 400_000)
					assert.deepEqual(await owners(store, accountId), [other.vid, null, vid]);
			}
		});

		test('a visitor with a long log is unknown as soon as the erasure begins, and is deleted in short pieces', async (t) => {
			const { store, writer, accountId } = await openAccountOn(engine);
			await addLongLog(store, accountId, 700, receivedAtMs);
			for (let number = 0; number < 3; number++)
				await writer.storeHit(accountId, hit({ vid, sid, atMs: receivedAtMs + number }, { cid: 'C-1' }));
			await upload(writer, accountId, [subscriptionEvent({ tid: 'T-mine', cid: 'C-1' })]);
			const next = await writer.storeHit(accountId, hit({ atMs: receivedAtMs + 9 }, { cid: 'C-1' }));
			const reader = store.startReading();
			t.after(() => reader.close());
			assert.equal((await reader.visit(accountId, sid))?.hits, 353);
			await store.transact(accountId, () => beginErasing(vid, 1, { mark: 'M', successor: newId(), atMs: 1 }));
			assert.deepEqual(
				[await reader.visitor(accountId, vid), await reader.visit(accountId, sid)],
				[null, null],
			);
			assert.equal(await store.transact(accountId, () => visitorRecord(vid)), null);
			// A visitor who shows erased keys later is a new one, and later events belong to the next holder.
			const again = hit({ vid, sid, atMs: receivedAtMs + 10 }, { cid: 'C-1' });
			assert.deepEqual(await writer.storeHit(accountId, again), { vid: again.freshVid, sid: again.freshSid });
			await upload(writer, accountId, [subscriptionEvent({ tid: 'T-next', cid: 'C-1' })]);
			const cost = { statements: 0, rows: 0 };
			await store.transact(accountId, () => counting(erasePiece(vid, 2, receivedAtMs), cost));
			assert(cost.rows < 500, JSON.stringify(cost));
			// A server resumes what was interrupted.
			assert.equal(await store.transact(accountId, () => findAbandonedErasure(2)), undefined);
			assert.equal(await store.transact(accountId, () => findAbandonedErasure(3)), vid);
			await eraseOne(store, accountId, vid);
			await foldAll(store, accountId);
			const left = (await derived(store, accountId)) as Record<string, { vid: string; tid?: string }[]>;
			for (const rows of Object.values(left)) assert(rows.every((row) => row.vid !== vid));
			assert.deepEqual(
				left.events?.map((event) => [event.tid, event.vid]),
				[
					['T-mine', null],
					['T-next', next.vid],
				],
			);
			assert.equal(await store.waiting(accountId), 0);
			await assertFolded(store, accountId);
		});

		test('concurrent folding by several processes gives the same result', async (_t: TestContext) => {
			const { store, writer, accountId } = await openAccountOn(engine);
			await addLongLog(store, accountId, 1500, receivedAtMs);
			await writer.storeHit(accountId, late());
			await Promise.all([foldAll(store, accountId), foldAll(store, accountId)]);
			await assertFolded(store, accountId);
		});
	});
}

async function owners(store: OpenStore, accountId: number): Promise<(string | null)[]> {
	const { events } = (await derived(store, accountId)) as { events: { tid: string; vid: string | null }[] };
	return ['T-again', 'T-once', 'T-customer'].map(
		(tid) => events.find((each) => each.tid === tid)?.vid ?? null,
	);
}

async function uploadAt(writer: ServingWriter, accountId: number, cid: string, atMs: number): Promise<void> {
	await upload(writer, accountId, [subscriptionEvent({ cid }), subscriptionEvent({ cid })], { atMs });
}
