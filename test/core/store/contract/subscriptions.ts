import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { storeHistory } from '../../../../src/capabilities/history/store/past-history.ts';
import { eraseOne, eraseVisitor } from '../../../../src/capabilities/visitors/store/erasure.ts';
import type { SubscriptionEvent } from '../../../../src/core/domain/subscription-event.ts';
import { minuteMs } from '../../../../src/core/durations.ts';
import { foldAll } from '../../../../src/core/store/fold-all.ts';
import { rowsOf, select } from '../../../../src/core/store/steps.ts';
import type { OpenStore } from '../../../../src/core/store/store.ts';
import { visitorHistories } from '../../../../src/kit/reading/histories.ts';
import { examples } from '../../../quick.ts';
import {
	type Engine,
	openAccountOn,
	openFor,
	receivedAtMs,
	type Serving,
	startWritingFor,
	storedContent,
	subscriptionEvent,
	upload,
} from '../engines.ts';
import { addLongLog, longLogVid } from '../long-log.ts';
import { hit } from '../made-hits.ts';
import { assertAsTheLogSays } from './visitors.ts';

/** The owner of each event, and what names it: 2 its tid, 1 its cid, 0 its subscription. */
async function ownersIn(
	store: OpenStore,
	accountId: number,
): Promise<Record<string, [string | null, number]>> {
	const rows = await store.read(
		accountId,
		rowsOf([select`tid, vid, named FROM @subscription_event ORDER BY tid`]),
	);
	return Object.fromEntries(
		rows.map(({ tid, vid, named }) => [String(tid), [vid as string | null, Number(named)]]),
	);
}

/** The contract of every engine for the events of one `subid`. */
export function subscriptionContract(engine: Engine): void {
	suite(`events of one subid on ${engine.name}`, () => {
		const shows = ({ writer, accountId }: Serving, fields: { tid?: string; cid?: string }) =>
			writer.storeHit(
				accountId,
				hit({}, { cid: fields.cid ?? null, events: fields.tid ? [{ name: 'order', tid: fields.tid }] : [] }),
			);
		const sends = ({ writer, accountId }: Serving, minute: number, fields: Partial<SubscriptionEvent>) =>
			upload(writer, accountId, [subscriptionEvent({ subid: 'S', ...fields })], {
				atMs: receivedAtMs + minute * minuteMs,
			});
		const subscriptionsOf = async (t: TestContext, { store, accountId }: Serving, vid: string) => {
			const reader = store.startReading();
			t.after(() => reader.close());
			return (await reader.visitor(accountId, vid))?.subscriptions ?? null;
		};

		test('renewals belong to the visitor of the acquisition', async (t) => {
			const serving = await openAccountOn(engine);
			const { vid } = await shows(serving, { tid: 'A' });
			await sends(serving, 1, { tid: 'A' });
			await sends(serving, 2, { tid: 'R-1' });
			await sends(serving, 3, { tid: 'R-2', cid: 'C-unknown' });
			assert.deepEqual(await ownersIn(serving.store, serving.accountId), {
				A: [vid, 2],
				'R-1': [vid, 0],
				'R-2': [vid, 0],
			});
			const subscriptions = await subscriptionsOf(t, serving, vid);
			assert.deepEqual(
				[subscriptions?.count, subscriptions?.renewals, subscriptions?.revenuePence],
				[3, 2, 1497],
			);
			await assertAsTheLogSays(serving.store, serving.accountId);
		});

		test('in whatever order hit, acquisition and renewal arrive', async (t) => {
			const serving = await openAccountOn(engine);
			await sends(serving, 2, { tid: 'R-1' });
			await sends(serving, 1, { tid: 'A' });
			assert.deepEqual(await ownersIn(serving.store, serving.accountId), { A: [null, 0], 'R-1': [null, 0] });
			const { vid } = await shows(serving, { tid: 'A' });
			assert.deepEqual(await ownersIn(serving.store, serving.accountId), { A: [vid, 2], 'R-1': [vid, 0] });
			assert.equal((await subscriptionsOf(t, serving, vid))?.renewals, 1);
			await assertAsTheLogSays(serving.store, serving.accountId);
		});

		test('within one request too, but nothing of a simulated one', async () => {
			const serving = await openAccountOn(engine);
			const { store, writer, accountId } = serving;
			const { vid } = await shows(serving, { cid: 'C' });
			const events = [{ tid: 'R' }, { tid: 'A', cid: 'C' }].map((fields) =>
				subscriptionEvent({ subid: 'S', ...fields }),
			);
			await sends(serving, 0, { tid: 'O' });
			await upload(writer, accountId, events, { simulate: true });
			assert.deepEqual(await ownersIn(store, accountId), { O: [null, 0] });
			await upload(writer, accountId, events);
			assert.deepEqual(await ownersIn(store, accountId), { A: [vid, 1], O: [vid, 0], R: [vid, 0] });
			await assertAsTheLogSays(store, accountId);
		});

		test('an event that names a visitor stays with it; one that names nobody follows the acquisition', async (t) => {
			const serving = await openAccountOn(engine);
			const renewer = await shows(serving, { tid: 'R-1' });
			await sends(serving, 1, { tid: 'A' });
			await sends(serving, 2, { tid: 'R-1' });
			await sends(serving, 3, { tid: 'R-2' });
			assert.deepEqual(await ownersIn(serving.store, serving.accountId), {
				A: [renewer.vid, 0],
				'R-1': [renewer.vid, 2],
				'R-2': [renewer.vid, 0],
			});
			const buyer = await shows(serving, { tid: 'A' });
			assert.deepEqual(await ownersIn(serving.store, serving.accountId), {
				A: [buyer.vid, 2],
				'R-1': [renewer.vid, 2],
				'R-2': [buyer.vid, 0],
			});
			assert.equal((await subscriptionsOf(t, serving, renewer.vid))?.count, 1);
			assert.equal((await subscriptionsOf(t, serving, buyer.vid))?.count, 2);
			await assertAsTheLogSays(serving.store, serving.accountId);
		});

		test('for two customers with one subid, the first owns what names nobody; refunds count last', async () => {
			const serving = await openAccountOn(engine);
			const [one, other] = [await shows(serving, { cid: 'C-1' }), await shows(serving, { cid: 'C-2' })];
			await sends(serving, 1, { tid: 'refund', cid: 'C-2', rvn: -100 });
			await sends(serving, 2, { tid: 'nobody' });
			assert.deepEqual((await ownersIn(serving.store, serving.accountId)).nobody, [other.vid, 0]);
			await sends(serving, 3, { tid: 'sale', cid: 'C-1' });
			await sends(serving, 4, { tid: 'sale of the other', cid: 'C-2' });
			assert.deepEqual(await ownersIn(serving.store, serving.accountId), {
				nobody: [one.vid, 0],
				refund: [other.vid, 1],
				sale: [one.vid, 1],
				'sale of the other': [other.vid, 1],
			});
			await assertAsTheLogSays(serving.store, serving.accountId);
		});

		test('erasing the visitor releases the events, and the next owner gets the rest', async () => {
			const serving = await openAccountOn(engine);
			const { store, accountId } = serving;
			const buyer = await shows(serving, { tid: 'A' });
			await sends(serving, 1, { tid: 'A' });
			await sends(serving, 2, { tid: 'R-1' });
			await eraseVisitor(store, accountId, buyer.vid);
			assert.deepEqual(await ownersIn(store, accountId), { A: [null, 0], 'R-1': [null, 0] });
			const renewer = await shows(serving, { tid: 'R-2' });
			await sends(serving, 3, { tid: 'R-2' });
			assert.deepEqual(await ownersIn(store, accountId), {
				A: [renewer.vid, 0],
				'R-1': [renewer.vid, 0],
				'R-2': [renewer.vid, 2],
			});
			await assertAsTheLogSays(store, accountId);
		});

		test('erasing the visitor removes the customer of all its events, however many there are', async () => {
			const serving = await openAccountOn(engine);
			const { store, writer, accountId } = serving;
			const buyer = await shows(serving, { tid: 'A' });
			await sends(serving, 1, { tid: 'A' });
			// More than an erasure does at once lie between the acquisition and the renewals, which follow it.
			const others = Array.from({ length: 60 }, () => subscriptionEvent({ subid: 'S', cid: 'C' }));
			await upload(writer, accountId, others, { atMs: receivedAtMs + 2 * minuteMs });
			for (let renewal = 0; renewal < 10; renewal++) await sends(serving, 3, { cid: 'C-private' });
			await eraseVisitor(store, accountId, buyer.vid);
			const customers = (await storedContent(store, accountId)).map(({ cid }) => cid);
			assert.deepEqual(new Set(customers), new Set([null]));
			await assertAsTheLogSays(store, accountId);
		});

		test('the same while the background has still to give them to the visitor, or to take them away', async () => {
			const serving = await openAccountOn(engine);
			const { store, writer, accountId } = serving;
			const many = (cid: string) => Array.from({ length: 60 }, () => subscriptionEvent({ cid }));
			await upload(writer, accountId, [...many('C-1'), ...many('C-2')]);
			const first = await shows(serving, { cid: 'C-1' });
			await foldAll(store, accountId);
			await writer.storeHit(accountId, hit({ atMs: receivedAtMs - minuteMs }, { cid: 'C-1' }));
			await shows(serving, { cid: 'C-2' });
			const last = await shows(serving, {});
			await writer.storeHit(accountId, hit({ ...last, atMs: receivedAtMs - minuteMs }, { cid: 'C-2' }));
			for (const { vid } of [first, last]) await eraseOne(store, accountId, vid);
			await foldAll(store, accountId);
			const customers = (await storedContent(store, accountId)).map(({ cid }) => cid);
			assert.deepEqual(new Set(customers), new Set(['C-1', null]));
			assert.equal(customers.filter((cid) => cid === 'C-1').length, 60);
			await assertAsTheLogSays(store, accountId);
		});

		test('a new visitor takes over the subscription of one with a long log, in whatever order they are replayed', async (t) => {
			for (const freshVid of ['0'.repeat(32), 'f'.repeat(32)]) {
				const serving = await openAccountOn(engine);
				const { store, writer, accountId } = serving;
				// Together with the new visitor, just more entries than a request may replay.
				await addLongLog(store, accountId, 496, receivedAtMs);
				const events = [{ name: 'order', tid: 'R' }];
				await writer.storeHit(accountId, hit({ vid: longLogVid, atMs: receivedAtMs + 1 }, { events }));
				await sends(serving, 1, { tid: 'A', cid: 'C' });
				await sends(serving, 2, { tid: 'R' });
				await sends(serving, 3, { tid: 'R-2' });
				const buyer = hit({ freshVid, atMs: receivedAtMs + 4 * minuteMs }, { cid: 'C' });
				await writer.storeHit(accountId, buyer);
				await foldAll(store, accountId);
				assert.equal((await subscriptionsOf(t, serving, freshVid))?.count, 2);
				assert.equal((await subscriptionsOf(t, serving, longLogVid))?.count, 1);
				await assertAsTheLogSays(store, accountId);
			}
		});

		test('training sees them as of any moment', async () => {
			const serving = await openAccountOn(engine);
			const { store, accountId } = serving;
			const { vid } = await shows(serving, { tid: 'A' });
			await sends(serving, 1, { tid: 'A' });
			await sends(serving, 2, { tid: 'R-1' });
			const seenAt = async (minute: number) => {
				const toMs = receivedAtMs + minute * minuteMs;
				const [history] = await store.read(accountId, visitorHistories([vid], toMs));
				return history?.events.map(({ entry }) => entry.tid);
			};
			assert.deepEqual([await seenAt(0), await seenAt(1), await seenAt(2)], [[], ['A'], ['A', 'R-1']]);
		});

		test('however much is stored concurrently', async (t) => {
			const serving = await openAccountOn(engine);
			const { store, writer, accountId, address } = serving;
			const other = engine.isFolder ? writer : await startWritingFor(t, await openFor(t, address));
			await fc.assert(
				fc.asyncProperty(fc.uuid(), async (run) => {
					const [acquisition, ...renewals] = ['A', 'R-1', 'R-2', 'R-3'].map((tid) =>
						subscriptionEvent({ tid: `${tid} ${run}`, subid: run }),
					);
					const order = [{ name: 'order', tid: `A ${run}` }];
					await Promise.all([
						...renewals.map((event, n) => upload(n % 2 ? writer : other, accountId, [event])),
						writer.storeHit(accountId, hit({}, { events: order })),
						upload(other, accountId, [acquisition as SubscriptionEvent]),
					]);
				}),
				{ numRuns: examples(15) },
			);
			await foldAll(store, accountId);
			const owners = Object.entries(await ownersIn(store, accountId));
			const runs = Map.groupBy(owners, ([tid]) => tid.split(' ')[1]);
			for (const events of runs.values())
				assert.deepEqual(new Set(events.map(([, [vid]]) => typeof vid)), new Set(['string']));
			await assertAsTheLogSays(store, accountId);
		});

		test('in any order of arrival, live or imported', async () => {
			const events = ['A', 'R-1', 'R-2', 'R-3'].map((tid, minute) => ({
				...subscriptionEvent({ tid, subid: 'S', cid: tid === 'R-2' ? 'C' : null }),
				receivedAtMs: receivedAtMs + minute * minuteMs,
			}));
			const { store, accountId } = await openAccountOn(engine);
			await store.transact(accountId, () => storeHistory([], events.toReversed()));
			const visits = ['T', 'C'].map((kind, visitor) => ({
				vid: String(visitor).repeat(32),
				sid: String(visitor + 5).repeat(32),
				atMs: receivedAtMs - 60_000,
				body: hit({}, kind === 'T' ? { events: [{ name: 'order', tid: 'A' }] } : { cid: 'C' }).body,
			}));
			await store.transact(accountId, () => storeHistory(visits, []));
			const [buyer, customer] = visits.map(({ vid }) => vid);
			assert.deepEqual(await ownersIn(store, accountId), {
				A: [buyer, 2],
				'R-1': [buyer, 0],
				'R-2': [customer, 1],
				'R-3': [buyer, 0],
			});
			await assertAsTheLogSays(store, accountId);
		});
	});
}
