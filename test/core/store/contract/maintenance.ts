import assert from 'node:assert/strict';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { AccessDirectory } from '../../../../src/core/access/directory.ts';
import type { SubscriptionEvent } from '../../../../src/core/domain/subscription-event.ts';
import { temporaryFolder } from '../../../support.ts';
import {
	addAccount,
	assertRefuses,
	type Engine,
	openFor,
	startServingFor,
	startWritingFor,
	storedContent,
	storedEvents,
	subscriptionEvents,
	upload,
} from '../engines.ts';

/** The contract of every engine for maintenance. */
export function maintenanceContract(engine: Engine): void {
	const skip = !engine.isFolder && 'only a data folder does this itself';
	suite(`looking after ${engine.name}`, () => {
		test('several processes may open an empty store at once; one creates the schema', async (t) => {
			const address = await engine.freshAddress(t);
			const stores = await Promise.all(Array.from({ length: 5 }, () => openFor(t, address)));
			for (const store of stores)
				assert.deepEqual(
					(await store.control.plans()).map(({ name }) => name),
					['standard'],
				);
		});

		test('migrating twice changes nothing', async (t) => {
			const { store, writer, accountId } = await startServingFor(t, engine);
			const given = subscriptionEvents(2);
			await upload(writer, accountId, given);
			const steps: unknown[] = [];
			await store.migrate((step) => steps.push(step));
			assert.deepEqual(steps, [{ database: 'c-a-acme-uk', migrations: 0, done: 1, total: 1 }]);
			assert.deepEqual(await storedContent(store, accountId), given);
		});

		test('only one server runs at a time', { skip }, async (t) => {
			const { address, writer } = await startServingFor(t, engine);
			const second = await openFor(t, address);
			await assertRefuses(
				startWritingFor(t, second),
				/^Another 'caskade serve' runs on .*; stop it first, or .*\.$/,
			);
			await writer.probe();
			await writer.stop();
			await startWritingFor(t, second);
		});

		test('a backup taken during uploads is a store of its own, with each upload whole', {
			skip,
		}, async (t) => {
			const { store, writer, accountId } = await startServingFor(t, engine);
			const otherId = await addAccount(store, 'c-a-other-us', 'other');
			const before = Array.from({ length: 20 }, () => subscriptionEvents(30));
			for (const given of before) await upload(writer, accountId, given);
			await upload(writer, otherId, subscriptionEvents(1));
			const { key } = await store.control.issueKey('acme', 'standard');

			const meanwhile = Array.from({ length: 200 }, () => subscriptionEvents(30));
			const uploads = Promise.all(meanwhile.map((given) => upload(writer, accountId, given)));
			const folder = join(temporaryFolder(t), 'deeper', 'backup');
			const told: string[] = [];
			await store.backup(folder, ({ database, bytes }) => {
				assert.ok(bytes > 0);
				told.push(database);
			});
			await uploads;
			assert.deepEqual(told, ['control', 'c-a-acme-uk', 'c-a-other-us']);

			const copy = await openFor(t, `sqlite:${folder}`);
			assert.deepEqual(await copy.control.accounts(), await store.control.accounts());
			assert.deepEqual(await copy.control.keys(), await store.control.keys());
			assert.deepEqual(await storedEvents(copy, otherId), await storedEvents(store, otherId));
			const copied = await storedContent(copy, accountId);
			assert.deepEqual(copied.slice(0, 600), before.flat());
			assert.equal(copied.length % 30, 0);
			assert.deepEqual(copied, (await storedContent(store, accountId)).slice(0, copied.length));

			// The copy can be served in place of the original.
			const copyWriter = await startWritingFor(t, copy);
			assert.equal(
				(await upload(copyWriter, accountId, before[0] as SubscriptionEvent[])).duplicateRows.length,
				30,
			);
			const directory = await AccessDirectory.load(copy.control, () => {});
			t.after(() => directory.stop());
			assert.ok(directory.key(key));
		});

		test('a backup is only written to a new folder', { skip }, async (t) => {
			const { store } = await startServingFor(t, engine);
			const folder = join(temporaryFolder(t), 'backup');
			await store.backup(folder, () => {});
			await assertRefuses(
				store.backup(folder, () => {}),
				/is not empty; name a new folder/,
			);
		});

		test('checks report no problem in a sound store', async (t) => {
			const { store } = await startServingFor(t, engine);
			const careOf = async () =>
				(await Array.fromAsync(store.runChecks())).filter(({ ok }) => !ok).map(({ check }) => check);
			assert.deepEqual(await careOf(), ['keys'], 'nobody can upload yet');
			await store.control.issueKey('acme', 'standard');
			assert.deepEqual(await careOf(), []);
		});
	});
}
