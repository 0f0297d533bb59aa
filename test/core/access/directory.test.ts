import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AccessDirectory } from '../../../src/core/access/directory.ts';
import { engines, enginesAboveContract, openAccountOn } from '../store/engines.ts';

for (const engine of enginesAboveContract)
	test(`of two looks at once, the one that ends last takes nothing back, on ${engine.name}`, async () => {
		const { store, aid, accountId } = await openAccountOn(engine);
		const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
		const read = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
		let looks = -1;
		const control = Object.assign(Object.create(store.control), {
			async accessSnapshot() {
				const look = looks++;
				const snapshot = await store.control.accessSnapshot();
				read[look]?.resolve();
				await gates[look]?.promise;
				return snapshot;
			},
		});
		const directory = await AccessDirectory.load(control, (error) => assert.fail(String(error)));
		await directory.stop();
		const goals = () => directory.account(aid)?.goals.map(({ name }) => name) ?? [];
		const goal = { evts: ['a'], counts: 'any', horizonDays: 7, mediumFrom: 50, highFrom: 90 } as const;
		await store.control.createGoal(accountId, { ...goal, name: 'first' });
		const slow = directory.refresh();
		await read[0]?.promise;
		await store.control.createGoal(accountId, { ...goal, name: 'second' });
		const quick = directory.refresh();
		gates[1]?.resolve();
		await quick;
		assert.ok(goals().includes('second'));
		gates[0]?.resolve();
		await slow;
		assert.ok(goals().includes('second'), 'what was known stays known');
	});

test('a control database that was set back is followed, though its revision is lower', async () => {
	const [engine] = engines;
	assert.ok(engine);
	const { store, accountId } = await openAccountOn(engine);
	const before = await store.control.accessSnapshot();
	const goal = { evts: ['a'], counts: 'any', horizonDays: 7, mediumFrom: 50, highFrom: 90 } as const;
	await store.control.createGoal(accountId, { ...goal, name: 'first' });
	const control = Object.create(store.control);
	const directory = await AccessDirectory.load(control, (error) => assert.fail(String(error)));
	await directory.stop();
	assert.ok(directory.revision > before.revision);
	Object.assign(control, { revision: async () => before.revision, accessSnapshot: async () => before });
	await directory.refresh();
	assert.equal(directory.revision, before.revision);
});
