import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { minuteMs } from '../../../../src/core/durations.ts';
import { foldPiece } from '../../../../src/core/store/account/profiles/folding.ts';
import { addTasks } from '../../../../src/core/store/account/tasks.ts';
import { foldAll } from '../../../../src/core/store/fold-all.ts';
import { type Steps, select } from '../../../../src/core/store/steps.ts';
import type { OpenStore } from '../../../../src/core/store/store.ts';
import { type Engine, openAccountOn, receivedAtMs, subscriptionEvent, upload } from '../engines.ts';
import { hit } from '../made-hits.ts';
import { assertAsTheLogSays } from './visitors.ts';

function waitingTasks(store: OpenStore, accountId: number): Promise<(readonly [string, number])[]> {
	return store.read(
		accountId,
		(function* () {
			const rows = yield* select`name, position FROM @task ORDER BY id`;
			return rows.map(({ name, position }) => [String(name), Number(position)] as const);
		})(),
	);
}

/** The contract of every engine for work that waits. */
export function tasksContract(engine: Engine): void {
	suite(`work that waits on ${engine.name}`, () => {
		test('equal work waits once, however often it is asked for', async () => {
			const { store, accountId } = await openAccountOn(engine);
			for (const names of [['c:A'], ['c:A', 's:1'], ['s:1', 's:1', 'c:A']])
				await store.transact(accountId, () => addTasks(names));
			assert.deepEqual(await waitingTasks(store, accountId), [
				['c:A', 0],
				['s:1', 0],
			]);
		});

		test('work that has begun does not count: the same waits again, for what came since', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const events = Array.from({ length: 120 }, () => subscriptionEvent({ cid: 'A' }));
			await upload(writer, accountId, events);
			await store.transact(accountId, () => addTasks(['c:A']));
			await store.transact(accountId, () => foldPiece());
			const [[, position] = []] = await waitingTasks(store, accountId);
			assert.ok(position, 'it has begun');
			await store.transact(accountId, () => addTasks(['c:A']));
			assert.deepEqual(await waitingTasks(store, accountId), [
				['c:A', position],
				['c:A', 0],
			]);
			await foldAll(store, accountId);
			assert.deepEqual(await waitingTasks(store, accountId), []);
		});

		test('work that asks for itself again while it is done is done again', async () => {
			const { store, accountId } = await openAccountOn(engine);
			await store.transact(accountId, () => addTasks(['s:1']));
			await store.transact(accountId, function* (): Steps<void> {
				yield* foldPiece();
				yield* addTasks(['s:1']);
			});
			assert.deepEqual(await waitingTasks(store, accountId), [['s:1', 0]]);
		});

		test("nothing waits where an upload names another than its subscription's owner, which it does not change", async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			for (const cid of ['C-1', 'C-2']) await writer.storeHit(accountId, hit({}, { cid }));
			const sends = (minute: number, cids: readonly (string | undefined)[]) =>
				upload(
					writer,
					accountId,
					cids.map((cid) => subscriptionEvent({ subid: 'S', cid: cid ?? null })),
					{ atMs: receivedAtMs + minute * minuteMs },
				);
			await sends(1, ['C-1']);
			// More than a transaction gives to another owner.
			await sends(2, Array.from({ length: 60 }));
			await sends(3, ['C-2']);
			assert.deepEqual(await waitingTasks(store, accountId), []);
			await sends(0, ['C-2']);
			assert.deepEqual(await waitingTasks(store, accountId), [['s:S', 0]]);
			await foldAll(store, accountId);
			await assertAsTheLogSays(store, accountId);
		});

		test('a customer with many events who is shown again and again waits once', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			await upload(
				writer,
				accountId,
				Array.from({ length: 60 }, () => subscriptionEvent({ cid: 'C-many' })),
			);
			// Each is earlier than the one before, so that it holds the customer from now on.
			const first = hit();
			for (let index = 0; index < 5; index++)
				await writer.storeHit(accountId, hit({ atMs: first.atMs - index * 1000 }, { cid: 'C-many' }));
			const names = (await waitingTasks(store, accountId)).map(([name]) => name);
			assert.equal(names.filter((name) => name === 'c:C-many').length, 1);
		});
	});
}
