import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openStore } from '../../../src/assembly/open-store.ts';
import { goalDefaults } from '../../../src/core/domain/goal.ts';
import { compute } from '../../../src/kit/jobs/compute.ts';
import { logEndMs, madeUpVisitors, storeVisitors } from '../../capabilities/training/made-up-log.ts';
import { addAccount } from '../../core/store/engines.ts';
import { temporaryFolder } from '../../support.ts';

const aid = 'c-a-acme-uk';

test('models that are trained at the same time are those of one thread', async (t) => {
	const place = { database: `sqlite:${join(temporaryFolder(t), 'data')}` };
	const store = await openStore(place.database);
	t.after(() => store.close());
	const accountId = await addAccount(store, aid);
	await store.control.createGoal(accountId, { ...goalDefaults, name: 'comes back', evts: ['visit'] });
	await storeVisitors(store, accountId, madeUpVisitors(80));
	const job = {
		type: 'training',
		aid,
		asOfMs: logEndMs,
		isOfNow: true,
		seed: 1,
		keepsChoice: false,
	} as const;
	const train = async (isInBackground: boolean) => {
		const told: number[] = [];
		const onProgress = ({ step, done, total }: { step: string; done: number; total: number }) =>
			told.push(step === 'train' ? 1 + done / total : done / total);
		const trained = await compute(place, { ...job, isInBackground }, { onProgress });
		assert.deepEqual(
			told,
			told.toSorted((a, b) => a - b),
			'progress grows',
		);
		assert.equal(told.at(-1), 2);
		const of = trained.map(async ({ version, report: { doubts: _, ...report } }) => {
			const { goal, scope } = report;
			const body = version && (await store.control.modelBody(accountId, { goal, scope, version }));
			return { goal, scope, body, report };
		});
		return Promise.all(of);
	};
	const inOneThread = await train(true);
	assert.ok(inOneThread.filter(({ body }) => body).length > 2);
	assert.deepEqual(await train(false), inOneThread);
});
