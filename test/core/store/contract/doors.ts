import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { countVisitors } from '../../../../src/core/store/account/reading/visitors.ts';
import type { Reading } from '../../../../src/core/store/steps.ts';
import { eventually } from '../../../eventually.ts';
import { takesLong } from '../../../quick.ts';
import { addAccount, type Engine, openAccountOn } from '../engines.ts';
import { hit } from '../made-hits.ts';

/** The contract of every engine for the two ways to an account's data. */
export function doorsContract(engine: Engine): void {
	suite(`reading and writing an account on ${engine.name}`, () => {
		test('a read cannot write, whatever it asks for', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			await writer.storeHit(accountId, hit());
			for (const sql of ['DELETE FROM @visitor', "UPDATE @visitor SET profile = 'null'"]) {
				// The types refuse this statement; the engine has to, too.
				const writing = function* () {
					yield [{ sql }];
				} as unknown as () => Reading<void>;
				await assert.rejects(store.read(accountId, writing()), /readonly|read-only/);
			}
			assert.equal(await store.read(accountId, countVisitors()), 1);
			await writer.storeHit(accountId, hit());
			assert.equal(await store.read(accountId, countVisitors()), 2);
		});

		test('what is written to an account becomes a mark of its own, and what is only read does not', {
			// PostgreSQL tells what was written ten seconds later.
			skip: !engine.isFolder && takesLong,
		}, async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const other = await addAccount(store);
			const marks = async () => {
				const all = await store.marks([accountId, other]);
				return [all.get(accountId), all.get(other)];
			};
			await writer.storeHit(accountId, hit());
			// A server's statistics are late.
			let [before, ofOther] = await marks();
			// Of a cluster, nobody can tell.
			if (engine.name.endsWith('cluster')) return assert.deepEqual([before, ofOther], [undefined, undefined]);
			const becomes = async (what: string) => {
				await eventually(what, async () => (await marks())[0] !== before, 70_000);
				[before, ofOther] = await marks();
			};
			assert.ok(before !== undefined && ofOther !== undefined);
			await writer.storeHit(accountId, hit());
			await becomes('a hit is a mark');
			await store.transact(accountId, function* () {
				yield [{ sql: 'DELETE FROM @visitor' }];
			});
			await becomes('a transaction is a mark');
			for (const id of [accountId, other]) {
				assert.equal(await store.read(id, countVisitors()), 0);
				assert.equal(await store.waiting(id), 0);
			}
			assert.deepEqual((await marks())[1], ofOther);
		});

		test('a read sees one state of the account', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			await writer.storeHit(accountId, hit());
			const twice = function* (): Reading<number[]> {
				const before = yield* countVisitors();
				return [before, yield* countVisitors()];
			};
			const [counts] = await Promise.all([store.read(accountId, twice()), writer.storeHit(accountId, hit())]);
			assert.equal(counts[0], counts[1]);
			// A store that has read can write.
			await store.transact(accountId, function* () {
				yield [{ sql: 'DELETE FROM @visitor' }];
			});
			assert.equal(await store.read(accountId, countVisitors()), 0);
		});
	});
}
