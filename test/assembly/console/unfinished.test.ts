import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openStore } from '../../../src/assembly/open-store.ts';
import { runReport } from '../../../src/capabilities/reports/run-report.ts';
import { OperatorError } from '../../../src/core/errors.ts';
import { addAccount, engines, enginesAboveContract, startWritingFor } from '../../core/store/engines.ts';
import { hit } from '../../core/store/made-hits.ts';
import { computeAt, consoleOf } from './here.ts';

for (const engine of enginesAboveContract)
	test(`${engine.name}: the overview does not wait for what each channel is credited with, and shows it when it is made`, async (t) => {
		const store = await openStore(await engine.installedAddress(t), {});
		t.after(() => store.close());
		const accountId = await addAccount(store, 'c-a-one');
		const writer = await startWritingFor(t, store);
		await writer.storeHit(accountId, hit({ atMs: store.now() }));
		const late = Promise.withResolvers<void>();
		const compute = computeAt(store, async ({ account, query }) => {
			if (query.kind === 'attribution') await late.promise;
			return runReport(store, account, query);
		});
		const errors: unknown[] = [];
		const onError = (error: unknown) => errors.push(error);
		const browser = await consoleOf(t, store, { role: 'viewer', compute, waitMs: 3000, onError });
		const unfinished = await browser.get('/console/c-a-one/');
		assert.equal(unfinished.status, 200);
		assert.equal(unfinished.headers.refresh, '1');
		assert.match(unfinished.body, /<main id="main" aria-busy="true" data-live>/);
		assert.match(unfinished.body, /The credit of each channel is being calculated/);
		assert.match(unfinished.body, /What came in/);
		late.resolve();
		const finished = await browser.get('/console/c-a-one/');
		assert.equal(finished.headers.refresh, undefined);
		assert.doesNotMatch(finished.body, /aria-busy|is being calculated/);
		assert.deepEqual(errors, []);
	});

test('what takes a look at thousands of visitors is no work of the thread that answers', async (t) => {
	const store = await openStore(await (engines[0] as (typeof engines)[number]).installedAddress(t), {});
	t.after(() => store.close());
	await addAccount(store, 'c-a-one');
	const { id } = await store.control.account('c-a-one');
	await store.control.createSegment(id, { id: 'all', name: 'All', rule: 'true' });
	const later = Promise.withResolvers<void>();
	const compute = (async () => {
		await later.promise;
		throw new OperatorError('nothing is made here');
	}) as never;
	const errors: unknown[] = [];
	const onError = (error: unknown) => errors.push(error);
	const browser = await consoleOf(t, store, { role: 'analyst', compute, waitMs: 300, onError });
	for (const page of ['segments', 'scores', 'visitors?segment=all', 'visitors?goal=subscription&band=high'])
		assert.equal((await browser.get(`/console/c-a-one/${page}`)).headers.refresh, '1', page);
	assert.deepEqual(errors, []);
	later.resolve();
});
