import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histories } from '../../../src/kit/jobs/each-account.ts';
import { addAccount, type Engine, engines, openFor, startWritingFor } from '../../core/store/engines.ts';
import { hit } from '../../core/store/made-hits.ts';

const [sqlite] = engines as [Engine];

test('an account without a history is looked into once, by all jobs together, until something is stored', async (t) => {
	const store = await openFor(t, await sqlite.freshAddress(t));
	const ids = [await addAccount(store), await addAccount(store)] as const;
	const [job, other] = [new Histories(store), new Histories(store)];
	const named = (histories: Histories) => histories.among(ids);
	assert.deepEqual(await named(job), ids);
	for (const id of ids) assert.equal(await job.has(id), false);
	assert.deepEqual(await named(job), []);
	assert.deepEqual(await named(other), []);
	const writer = await startWritingFor(t, store);
	await writer.storeHit(ids[1], hit());
	for (const histories of [job, other]) {
		assert.deepEqual(await named(histories), [ids[1]]);
		assert.equal(await histories.has(ids[1]), true);
		assert.deepEqual(await named(histories), [ids[1]], 'who has a history is always named');
	}
});

test('what is stored while an account is looked into is news', async (t) => {
	const store = await openFor(t, await sqlite.freshAddress(t));
	const id = await addAccount(store);
	const histories = new Histories(store);
	await histories.among([id]);
	const writer = await startWritingFor(t, store);
	const read = t.mock.method(store, 'read', async () => {
		await writer.storeHit(id, hit());
		return Number.POSITIVE_INFINITY;
	});
	assert.equal(await histories.has(id), false);
	read.mock.restore();
	assert.deepEqual(await histories.among([id]), [id]);
});
