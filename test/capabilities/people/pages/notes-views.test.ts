import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayMs } from '../../../../src/core/durations.ts';
import { consoleHere } from '../../../assembly/console/here.ts';
import {
	enginesAboveContract,
	startWritingFor,
	subscriptionEvent,
	upload,
} from '../../../core/store/engines.ts';

const hostile = '<img src=x onerror=alert(1)> =cmd() هوية';
const path = '/console/c-a-one';

for (const engine of enginesAboveContract)
	test(`notes stand on the pictures of everybody, and are written and removed by analysts, on ${engine.name}`, async (t) => {
		const { person, store, clock, errors } = await consoleHere(t, engine, { makesReports: true });
		const { id } = await store.control.account('c-a-one');
		await upload(await startWritingFor(t, store), id, [subscriptionEvent()], { atMs: clock.now - 3 * dayMs });
		const ada = await person('ada@example.com', [{ aid: 'c-a-one', role: 'analyst' }]);
		const victor = await person('victor@example.com', [{ aid: 'c-a-one', role: 'viewer' }]);
		const note = { action: 'add note', day: '2026-11-20', text: hostile };
		assert.equal((await victor.post(`${path}/notes`, note)).status, 403);
		const added = await ada.post(`${path}/notes`, { ...note, back: 'period=7&to=//evil.example' });
		assert.deepEqual(
			[added.status, added.location],
			[303, `${path}/?period=7&to=%2F%2Fevil.example`],
			'back to the overview, and nowhere else',
		);
		assert.match((await ada.post(`${path}/notes`, { ...note, day: '2026-02-30' })).body, /is not a date/);
		await ada.post(`${path}/notes`, { ...note, day: '2020-01-01', text: 'long ago' });
		await store.control.createSegment(id, { id: 'often', name: 'Often', rule: 'true' });

		const { body } = await victor.whole(`${path}/`);
		assert.match(body, /<path class="noted" d="[^"]+"><title>2026-11-20: &#60;img/);
		assert.match(body, /<li>2026-11-20: <bdi>&#60;img src=x/);
		assert.match(body, /<li>2026-11-21: <bdi>The segment often was added\.<\/bdi>/);
		assert.doesNotMatch(body, /<img|long ago|Add a note/);
		assert.match((await ada.whole(`${path}/`)).body, /Add a note/);
		assert.match((await victor.whole(`${path}/revenue`)).body, /class="noted"/);

		const { body: all } = await ada.get(`${path}/notes`);
		for (const text of ['long ago', 'adds its own', 'ada@example.com']) assert.ok(all.includes(text), text);
		const [written] = (await store.control.notes.list(id)).filter(({ text }) => text === hostile);
		const removal = { action: 'remove note', id: written?.id ?? '' };
		assert.equal((await victor.post(`${path}/notes`, removal)).status, 403);
		assert.equal((await ada.post(`${path}/notes`, removal)).status, 303);
		assert.equal((await ada.post(`${path}/notes`, removal)).status, 400);
		assert.doesNotMatch((await victor.whole(`${path}/`)).body, /&#60;img/);
		const actions = (await store.control.audit.list({ aid: 'c-a-one', limit: 20 })).map(
			({ who, action }) => `${who} ${action}`,
		);
		assert.ok(
			actions.includes('ada@example.com note added') && actions.includes('ada@example.com note removed'),
		);
		assert.deepEqual(errors, []);
	});

for (const engine of enginesAboveContract)
	test(`a view is kept under a name, for oneself or for the account, on ${engine.name}`, async (t) => {
		const { person, store, errors } = await consoleHere(t, engine, { makesReports: true });
		const ada = await person('ada@example.com', [{ aid: 'c-a-one', role: 'analyst' }]);
		const victor = await person('victor@example.com', [{ aid: 'c-a-one', role: 'viewer' }]);
		const from = '?period=91&channel=email&compare=year';
		const { body } = await victor.whole(`${path}/retention${from}`);
		const hidden = Object.fromEntries(
			[...body.matchAll(/<input type="hidden" name="(page|query)" value="([^"]*)">/g)].map(
				([, name, value]) => [name, value?.replaceAll('&#38;', '&')],
			),
		) as Record<string, string>;
		assert.doesNotMatch(body, /name="shared"/);
		const view = { action: 'save view', name: `Mail ${hostile}`, ...hidden };
		const saved = await victor.post(`${path}/views`, view);
		assert.deepEqual([saved.status, saved.location], [303, `${path}/retention${from}`]);
		assert.equal((await victor.post(`${path}/views`, { ...view, shared: 'on' })).status, 403);
		assert.equal((await victor.post(`${path}/views`, { ...view, page: '../c-a-two/' })).status, 400);
		assert.equal((await ada.post(`${path}/views`, { ...view, name: 'For all', shared: 'on' })).status, 303);
		const menu = async (who: typeof ada) =>
			(await who.whole(`${path}/journeys`)).body.split('</nav>')[0]?.split('<p class="hint">Views</p>')[1] ??
			'';
		assert.match(
			await menu(victor),
			/href="\/console\/c-a-one\/retention\?period=91&#38;channel=email&#38;compare=year"><bdi>Mail &#60;img/,
		);
		assert.match(await menu(victor), /For all/);
		assert.doesNotMatch(await menu(ada), /Mail/);
		const own = (await store.control.views.list(1, '')).map(({ id }) => id);
		assert.equal(
			(await victor.post(`${path}/views`, { action: 'remove view', id: own[0] ?? '', shared: 'on' })).status,
			403,
		);
		assert.equal(
			(await ada.post(`${path}/views`, { action: 'remove view', id: own[0] ?? '', shared: 'on' })).status,
			303,
		);
		assert.equal(await menu(ada), '');
		assert.match((await victor.get(`${path}/views`)).body, /Mail/);
		const log = await store.control.audit.list({ aid: 'c-a-one', limit: 9 });
		assert.deepEqual(
			log.map(({ who, action }) => [who, action]).filter(([, action]) => action?.includes('view')),
			[
				['ada@example.com', 'view of everybody removed'],
				['victor@example.com', 'refused: view remove-shared'],
				['ada@example.com', 'view shared'],
				['victor@example.com', 'refused: view share'],
				['victor@example.com', 'view saved'],
			],
		);
		assert.deepEqual(errors, []);
	});
