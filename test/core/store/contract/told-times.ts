import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { changedSince } from '../../../../src/capabilities/webhooks/store/standings.ts';
import type { UploadedEvent } from '../../../../src/core/domain/subscription-event.ts';
import { dayMs } from '../../../../src/core/durations.ts';
import { readSubscriptions } from '../../../../src/kit/reports/read-journeys.ts';
import { type Engine, openAccountOn, receivedAtMs, subscriptionEvent, upload } from '../engines.ts';
import { hit } from '../made-hits.ts';

const period = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY };
const startMs = receivedAtMs - 200 * dayMs;

function told(tid: string, day: number, event: Partial<UploadedEvent> = {}): UploadedEvent {
	return subscriptionEvent({
		tid,
		subid: 'S',
		cid: 'C',
		atMs: startMs + day * dayMs,
		...event,
	} as UploadedEvent);
}

/** Some of one moment, a refund of the second payment, and two customers. */
const history: readonly UploadedEvent[] = [
	told('sale', 0, { rvn: 499 }),
	told('also', 0, { rvn: 499, evt: 'audio' }),
	told('renewal', 30, { rvn: 499 }),
	told('refund', 30, { rvn: -499 }),
	told('again', 61, { rvn: 599 }),
	told('other', 10, { subid: 'T', rvn: 100 }),
	told('other refund', 9, { subid: 'T', rvn: -100 }),
	told('theirs', 12, { subid: 'U', cid: 'D', rvn: 0 }),
];

/** The contract of every engine for events that tell when they happened. */
export function toldTimesContract(engine: Engine): void {
	async function stateAfter(order: readonly UploadedEvent[], size: number) {
		const { store, writer, accountId } = await openAccountOn(engine);
		const { vid } = await writer.storeHit(accountId, hit({ atMs: startMs - dayMs }, { cid: 'C' }));
		for (let from = 0; from < order.length; from += size)
			await upload(writer, accountId, order.slice(from, from + size), { atMs: receivedAtMs + from });
		const reader = store.startReading();
		const profile = await reader.visitor(accountId, vid);
		// Its ids are random.
		const known = profile && { ...profile, visit: null };
		await reader.close();
		const journeys = await store.read(
			accountId,
			readSubscriptions({ asOfMs: receivedAtMs + dayMs, isPast: false, period } as never),
		);
		const subscriptions = journeys.map(({ subscription: { owner, ...rest } }) => ({
			isOwned: owner === vid,
			...rest,
		}));
		return { profile: known, subscriptions };
	}

	suite(`events that tell their time on ${engine.name}`, () => {
		test('profiles and subscriptions do not depend on the order and the splits in which events arrive', async () => {
			const expected = await stateAfter(history, history.length);
			assert.equal(expected.subscriptions.length, 3);
			assert.equal(expected.profile?.subscriptions?.count, 7);
			const orders = fc.shuffledSubarray([...history], { minLength: history.length });
			await fc.assert(
				fc.asyncProperty(orders, fc.integer({ min: 1, max: 4 }), async (order, size) => {
					assert.deepEqual(await stateAfter(order, size), expected);
				}),
				{ numRuns: 4 },
			);
		});

		test('the receipt has both times, and webhooks see what has just arrived', async (t) => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const { vid } = await writer.storeHit(accountId, hit({ atMs: startMs }, { cid: 'C' }));
			const old = told('old', 3);
			const fresh = subscriptionEvent({ tid: 'fresh' });
			await upload(writer, accountId, [old, fresh]);
			const reader = store.startReading();
			t.after(() => reader.close());
			const receipts = await reader.receipts(accountId, ['old', 'fresh']);
			const byTid = new Map(receipts.map((receipt) => [receipt.event.tid, receipt]));
			assert.deepEqual([byTid.get('old')?.atMs, byTid.get('old')?.receivedAtMs], [old.atMs, receivedAtMs]);
			assert.deepEqual(
				[byTid.get('fresh')?.atMs, byTid.get('fresh')?.receivedAtMs],
				[undefined, receivedAtMs],
			);
			const changed = await store.read(accountId, changedSince(receivedAtMs - 1, receivedAtMs));
			assert.deepEqual([...changed], [[vid, receivedAtMs]]);
		});

		test('a repeat conflicts only if it tells another time than the one that was told', async () => {
			const { writer, accountId } = await openAccountOn(engine);
			const event = told('1', 3);
			const { atMs, ...untold } = event;
			const plain = subscriptionEvent({ tid: '2' });
			await upload(writer, accountId, [event, plain]);
			const conflicts = async (repeat: UploadedEvent) =>
				(await upload(writer, accountId, [repeat])).conflictingRows.length;
			assert.equal(await conflicts(event), 0);
			assert.equal(await conflicts(untold), 0);
			assert.equal(await conflicts({ ...plain, atMs: startMs }), 0);
			assert.equal(await conflicts({ ...event, atMs: Number(atMs) + 1 }), 1);
		});
	});
}
