import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { type HistoryEvent, storeHistory } from '../../../../src/capabilities/history/store/past-history.ts';
import type { HistoryHit, HitRecord } from '../../../../src/core/domain/stored-hit.ts';
import { dayMs, minuteMs } from '../../../../src/core/durations.ts';
import type { OpenStore } from '../../../../src/core/store/store.ts';
import { examples } from '../../../quick.ts';
import {
	addAccount,
	type Engine,
	openAccountOn,
	openFor,
	receivedAtMs,
	storedEvents,
	subscriptionEvent,
	upload,
} from '../engines.ts';
import { body, derived, hit } from '../made-hits.ts';
import { assertAsTheLogSays } from './visitors.ts';

const vid = 'a'.repeat(32);

/** A hit of one visitor, this many minutes after the start. */
function past(
	minutes: number,
	fields: Partial<HistoryHit> = {},
	bodyFields: Partial<HitRecord> = {},
): HistoryHit {
	const url = `https://shop.example/page-${minutes}`;
	return {
		vid,
		sid: null,
		atMs: receivedAtMs + minutes * minuteMs,
		body: body({ url, ...bodyFields }),
		...fields,
	};
}

function pastEvent(fields: Partial<HistoryEvent> = {}): HistoryEvent {
	return { ...subscriptionEvent(), receivedAtMs, ...fields };
}

async function openWithAccount(_t: Parameters<typeof openFor>[0], engine: Engine) {
	const { store, accountId } = await openAccountOn(engine);
	const add = async (hits: readonly HistoryHit[], events: readonly HistoryEvent[] = []) => {
		const { left, ...stored } = await store.transact(accountId, () => storeHistory(hits, events));
		assert.deepEqual(left, []);
		return stored;
	};
	return { store, accountId, add };
}

/** The number of hits of each visit, in order of time. */
async function visitsOf(store: OpenStore, accountId: number): Promise<number[]> {
	const { visits } = (await derived(store, accountId)) as { visits: { profile: string }[] };
	const profiles = visits.map(({ profile }) => JSON.parse(profile) as { firstAtMs: number; hits: number });
	return profiles.sort((a, b) => a.firstAtMs - b.firstAtMs).map(({ hits }) => hits);
}

type Entry = { hit: HistoryHit } | { event: HistoryEvent };

/** Minutes that leave gaps of less than, exactly, and more than half an hour. */
const minutes = fc.integer({ min: 0, max: 20 }).map((tens) => tens * 10);
const maybe = fc.option(fc.constantFrom('1', '2'), { freq: 1 });
const somebody = fc.constantFrom('a', 'b');

function entriesOf(
	drawn: readonly { at: number; who: string; visit: string | null; tid: string | null; cid: string | null }[],
	sales: readonly { at: number; cid: string | null }[],
): Entry[] {
	return [
		...drawn.map(({ at, who, visit, tid, cid }, index) => ({
			hit: past(
				at,
				{ vid: who.repeat(32), sid: visit === null ? null : `${who}${visit}`.padEnd(32, 'f') },
				{
					url: `https://shop.example/${index}`,
					page: String(index),
					cid,
					events: tid === null ? [] : [{ name: 'checkout', tid }],
				},
			),
		})),
		...sales.map(({ at, cid }, index) => ({
			event: {
				tid: `${index + 1}`,
				subid: 'S',
				cid,
				evt: 'e',
				rvn: 1,
				receivedAtMs: receivedAtMs + at * minuteMs,
			},
		})),
	];
}

/** The contract of every engine for imported history. */
export function historyContract(engine: Engine): void {
	suite(`history on ${engine.name}`, () => {
		test('history gives the same result in any order and any number of times', async () => {
			const { store } = await openAccountOn(engine);
			const add = async (pieces: readonly (readonly Entry[])[]) => {
				const accountId = await addAccount(store);
				for (const entries of pieces)
					await store.transact(accountId, () =>
						storeHistory(
							entries.flatMap((entry) => ('hit' in entry ? [entry.hit] : [])),
							entries.flatMap((entry) => ('event' in entry ? [entry.event] : [])),
						),
					);
				return accountId;
			};
			const drawnHit = fc.record({ at: minutes, who: somebody, visit: maybe, tid: maybe, cid: maybe });
			await fc.assert(
				fc.asyncProperty(
					fc.array(drawnHit, { minLength: 1, maxLength: 12 }),
					fc.array(fc.record({ at: minutes, cid: maybe }), { maxLength: 3 }),
					fc.infiniteStream(fc.nat()),
					fc.integer({ min: 1, max: 6 }),
					async (drawn, sales, keys, piece) => {
						const entries = entriesOf(drawn, sales);
						const expected = await derived(store, await add([entries]));
						const again = [...entries, ...entries.slice(0, 3)];
						const keyed = again.map((entry) => [keys.next().value as number, entry] as const);
						const shuffled = keyed.sort(([a], [b]) => a - b).map(([, entry]) => entry);
						const pieces = Array.from({ length: Math.ceil(shuffled.length / piece) }, (_, index) =>
							shuffled.slice(index * piece, (index + 1) * piece),
						);
						const accountId = await add(pieces);
						assert.deepEqual(await derived(store, accountId), expected);
						await assertAsTheLogSays(store, accountId);
					},
				),
				{ numRuns: examples(engine.isFolder ? 60 : 15) },
			);
		});

		test('hits without a visit form visits, separated by half an hour without a hit', async (t) => {
			const { store, accountId, add } = await openWithAccount(t, engine);
			await add([past(0), past(29), past(59), past(100)]);
			assert.deepEqual(await visitsOf(store, accountId), [2, 1, 1]);
			await add([past(45)]);
			assert.deepEqual(await visitsOf(store, accountId), [4, 1], 'two visits have become one');
			await add([past(110)]);
			assert.deepEqual(await visitsOf(store, accountId), [4, 2], 'the last one goes on');
			await assertAsTheLogSays(store, accountId);
		});

		test('a visit named by history stays one visit, however long, without other hits', async (t) => {
			const { store, accountId, add } = await openWithAccount(t, engine);
			const named = { sid: 'b'.repeat(32) };
			await add([past(0, named), past(500, named)]);
			await add([past(250, named), past(251)]);
			await add([past(510), past(520, named)]);
			assert.deepEqual(await visitsOf(store, accountId), [4, 1, 1]);
			await add([past(700)]);
			await add([past(710, { sid: 'c'.repeat(32) })]);
			await add([past(720)]);
			assert.deepEqual(await visitsOf(store, accountId), [4, 1, 1, 2, 1], 'one goes on behind another');
			await assertAsTheLogSays(store, accountId);
		});

		test('repeated history is not stored again, in whole or in part', async (t) => {
			const { store, accountId, add } = await openWithAccount(t, engine);
			const events = [pastEvent(), pastEvent()];
			assert.deepEqual(await add([past(0), past(5), past(5)], events), { hits: 2, events: 2, conflicts: [] });
			const before = await derived(store, accountId);
			assert.deepEqual(await add([past(5), past(0)], events), { hits: 0, events: 0, conflicts: [] });
			assert.deepEqual(await derived(store, accountId), before);
			const more = await add([past(5), past(6), past(90)], [...events, pastEvent()]);
			assert.deepEqual(more, { hits: 2, events: 1, conflicts: [] });
		});

		test('an event that names another visitor than its subscription, stored with the hit that names that one', async (t) => {
			const { store, accountId, add } = await openWithAccount(t, engine);
			const customer = past(0, { vid: 'b'.repeat(32) }, { cid: 'C' });
			await add([customer], [pastEvent({ tid: 'A', subid: 'S' })]);
			const buyer = past(1, {}, { events: [{ name: 'checkout', tid: 'A' }] });
			await add([buyer], [pastEvent({ tid: 'R', subid: 'S', cid: 'C' })]);
			await assertAsTheLogSays(store, accountId);
		});

		test('concurrent imports store nothing twice', async (t) => {
			const address = await engine.installedAddress(t);
			const stores = [await openFor(t, address), await openFor(t, address)];
			const accountId = await addAccount(stores[0] as OpenStore, 'c-a-acme-uk');
			const hits = Array.from({ length: 200 }, (_, index) =>
				past(index, { vid: String(index % 20).padStart(32, 'c') }),
			);
			const stored = await Promise.all(
				stores.map((store) => store.transact(accountId, () => storeHistory(hits, []))),
			);
			assert.deepEqual(stored.map((one) => one.hits).sort(), [0, 200]);
		});

		test('hits that differ in anything but channel and device are different hits', async (t) => {
			const { add } = await openWithAccount(t, engine);
			await add([past(0)]);
			const isStored = async (bodyFields: Partial<HitRecord>, fields: Partial<HistoryHit> = {}) =>
				(await add([past(0, fields, bodyFields)])).hits === 1;
			assert.equal(await isStored({ channel: 'email', device: 'tv', page: 'renamed' }), false);
			assert.equal(await isStored({ events: [{ name: 'checkout' }] }), true);
			assert.equal(await isStored({ cid: 'C-1' }), true);
			assert.equal(await isStored({ referrer: 'https://news.example/' }), true);
			assert.equal(await isStored({}, { atMs: receivedAtMs + 1 }), true);
		});

		test('the first event with a tid is stored; different content is a conflict', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const [uploaded, first] = [subscriptionEvent(), pastEvent({ rvn: 1 })];
			await upload(writer, accountId, [uploaded]);
			const other = { ...first, rvn: 2 };
			const earlier = { ...uploaded, receivedAtMs: receivedAtMs - minuteMs };
			const outcome = await store.transact(accountId, () => storeHistory([], [earlier, first, other, first]));
			assert.deepEqual(outcome, { hits: 0, events: 1, conflicts: [other], left: [] });
			assert.deepEqual(
				(await storedEvents(store, accountId)).map(({ tid, rvn }) => [tid, rvn]),
				[
					[uploaded.tid, uploaded.rvn],
					[first.tid, 1],
				],
			);
		});

		test('a live hit without its sid continues the visit and keeps its data', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const issued = await writer.storeHit(accountId, hit());
			const next = hit({ vid: issued.vid, atMs: receivedAtMs + minuteMs });
			assert.deepEqual(await writer.storeHit(accountId, next), issued);
			await assertAsTheLogSays(store, accountId);
		});

		test('the secret of an account is created once and is unique', async () => {
			const { store } = await openAccountOn(engine);
			const [one, other] = [await addAccount(store), await addAccount(store)];
			const secret = await store.control.importSecret(one);
			assert.match(secret, /^[\w-]{43}$/);
			assert.equal(await store.control.importSecret(one), secret);
			assert.notEqual(await store.control.importSecret(other), secret);
		});

		test('the secret that signs ids is made once, and the one before it counts for a day after a rotation', async () => {
			const { store } = await openAccountOn(engine);
			const [one, other] = [await addAccount(store), await addAccount(store)];
			const known = async (id: number) =>
				[...(await store.control.accessSnapshot()).accounts.values()].find((account) => account.id === id)
					?.identitySecrets;
			assert.equal(await known(one), null);
			const secret = await store.control.identitySecret(one);
			assert.equal(await store.control.identitySecret(one), secret);
			assert.deepEqual(await known(one), { secret, previous: null });
			assert.notEqual(await store.control.identitySecret(other), secret);
			const before = store.now();
			const next = await store.control.rotateIdentitySecret(one);
			assert.notEqual(next, secret);
			const secrets = await known(one);
			assert.deepEqual([secrets?.secret, secrets?.previous?.secret], [next, secret]);
			const untilMs = secrets?.previous?.untilMs ?? 0;
			assert.ok(untilMs >= before + dayMs && untilMs <= store.now() + dayMs);
		});
	});
}
