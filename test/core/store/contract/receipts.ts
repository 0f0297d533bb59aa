import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { storeHistory } from '../../../../src/capabilities/history/store/past-history.ts';
import {
	addAccount,
	type Engine,
	openAccountOn,
	receivedAtMs,
	subscriptionEvent,
	upload,
} from '../engines.ts';
import { hit } from '../made-hits.ts';

/** The contract of every engine for receipts. */
export function receiptContract(engine: Engine): void {
	suite(`receipts on ${engine.name}`, () => {
		test('receipts say what is stored, when, by which request, and whether it is joined', async (t) => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const first = subscriptionEvent({ tid: '1', cid: 'C-1', rvn: -499 });
			const other = subscriptionEvent({ tid: "o'ther 👩‍👩‍👧" });
			const old = subscriptionEvent({ tid: 'old' });
			await upload(writer, accountId, [first, other], { requestId: 'request-1' });
			await upload(writer, accountId, [{ ...first, rvn: 1 }], { requestId: 'request-2' });
			await upload(writer, accountId, [subscriptionEvent({ tid: 'simulated' })], { simulate: true });
			await store.transact(accountId, () => storeHistory([], [{ ...old, receivedAtMs: 5 }]));
			await writer.storeHit(accountId, hit({}, { cid: 'C-1' }));
			const reader = store.startReading();
			t.after(() => reader.close());
			const tids = ['1', other.tid, 'old', 'simulated', 'nobody', '1'];
			const receipts = await reader.receipts(accountId, tids);
			const byTid = Object.fromEntries(receipts.map((receipt) => [receipt.event.tid, receipt]));
			assert.deepEqual(byTid, {
				1: { event: first, receivedAtMs, requestId: 'request-1', joined: true },
				[other.tid]: { event: other, receivedAtMs, requestId: 'request-1', joined: false },
				old: { event: old, receivedAtMs: 5, requestId: null, joined: false },
			});
		});

		test('receipts belong to one account', async (t) => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const otherId = await addAccount(store, undefined, 'other');
			const event = subscriptionEvent();
			await upload(writer, accountId, [event]);
			const reader = store.startReading();
			t.after(() => reader.close());
			assert.equal((await reader.receipts(accountId, [event.tid])).length, 1);
			assert.deepEqual(await reader.receipts(otherId, [event.tid]), []);
		});
	});
}
