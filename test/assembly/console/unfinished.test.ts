import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createConsole } from '../../../src/assembly/console/console.ts';
import type { ConsoleOptions } from '../../../src/assembly/console/console-options.ts';
import { openStore } from '../../../src/assembly/open-store.ts';
import { newLoginLink } from '../../../src/capabilities/people/access/sign-in.ts';
import { runReport } from '../../../src/capabilities/reports/run-report.ts';
import { AccessDirectory } from '../../../src/core/access/directory.ts';
import { OperatorError } from '../../../src/core/errors.ts';
import type { OpenStore } from '../../../src/core/store/store.ts';
import { addAccount, engines, enginesAboveContract, startWritingFor } from '../../core/store/engines.ts';
import { hit } from '../../core/store/made-hits.ts';
import { parts } from '../../pages.ts';
import { Browser, consoleUrl } from './browser.ts';
import { computeAt } from './here.ts';

/** The console of a store, and a browser in which somebody with this role has signed in. */
async function openConsole(
	t: TestContext,
	store: OpenStore,
	{
		role,
		compute,
		waitMs,
	}: Required<Pick<ConsoleOptions, 'compute' | 'waitMs'>> & { readonly role: 'viewer' | 'analyst' },
): Promise<Browser> {
	const directory = await AccessDirectory.load(store.control, () => {});
	t.after(() => directory.stop());
	const pages = createConsole({
		store,
		directory,
		consoleUrl,
		now: store.now,
		monotonicMs: () => performance.now(),
		parts,
		onError: (error) => assert.fail(String(error)),
		compute,
		waitMs,
	});
	t.after(() => pages.stop());
	const person = await store.control.people.create('a@example.com', [{ aid: null, role }]);
	const browser = new Browser(pages);
	await browser.open((await newLoginLink(store.control, person, consoleUrl)).link);
	return browser;
}

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
		const browser = await openConsole(t, store, { role: 'viewer', compute, waitMs: 3000 });
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
	const browser = await openConsole(t, store, { role: 'analyst', compute, waitMs: 300 });
	for (const page of ['segments', 'scores', 'visitors?segment=all', 'visitors?goal=subscription&band=high'])
		assert.equal((await browser.get(`/console/c-a-one/${page}`)).headers.refresh, '1', page);
	later.resolve();
});
