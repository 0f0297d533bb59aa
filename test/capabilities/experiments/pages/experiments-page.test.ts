import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayMs } from '../../../../src/core/durations.ts';
import { formatNumber } from '../../../../src/core/format/numbers.ts';
import { consoleHere } from '../../../assembly/console/here.ts';
import { enginesAboveContract } from '../../../core/store/engines.ts';
import { begin, fromMs, madeUp, storeLives } from '../../reports/made-up-experiment.ts';

const aid = 'c-a-one';
const path = `/console/${aid}/experiments`;

for (const engine of enginesAboveContract)
	test(`the page of experiments shows what the report tells, with its intervals and its files, on ${engine.name}`, async (t) => {
		const { person, store, errors } = await consoleHere(t, engine, { makesReports: true });
		const victor = await person('victor@example.com', [{ aid, role: 'viewer' }]);
		assert.match(
			(await victor.whole(path)).body,
			/No experiments\. .*caskade experiment create c-a-one NAME/,
		);
		const { id } = await store.control.account(aid);
		await storeLives(store, id, madeUp(900));
		await begin(store, id);
		await begin(store, id, { name: 'later', segment: 'new', fromMs: fromMs + 300 * dayMs, toMs: null });
		const { status, body } = await victor.whole(`${path}?experiment=offer`);
		assert.equal(status, 200);
		assert.doesNotMatch(body, / style=|<script(?! type="module" src="\/console\/)/);
		assert.ok((body.match(/<\w/g) ?? []).length < 3000);
		assert.match(body, /<path class="interval"/);
		assert.match(body, /offer<\/a><\/th><td>considering<\/td>.*50 %.*ended/);
		assert.match(body, /later<\/a><\/th><td>new<\/td>.*planned.*until it is stopped/);
		// The view's usual 28 days are not the experiment's.
		const [, address = ''] = /href="([^"]*lift\.json[^"]*)"/.exec(body) ?? [];
		const file = await victor.get(address.replaceAll('&amp;', '&'));
		const { groups, rows } = JSON.parse(file.body) as {
			groups: Record<string, { visitors: number; conversions: number }>;
			rows: unknown[];
		};
		assert.ok((groups.treated?.visitors ?? 0) > 100);
		for (const [group, { visitors, conversions }] of Object.entries(groups))
			assert.match(
				body,
				new RegExp(
					`<bdi>${group}</bdi></th><td class="number">${formatNumber(visitors)}</td><td class="number">\\d+</td><td class="number">${formatNumber(conversions)}</td>`,
				),
			);
		const csv = await victor.get(address.replaceAll('&amp;', '&').replace('.json', '.csv'));
		assert.equal(csv.body.trim().split('\r\n').length, rows.length + 1);
		// The newest, where none is named.
		assert.match((await victor.whole(path)).body, / begins on 20/);
		assert.deepEqual(errors, []);
	});

for (const engine of enginesAboveContract)
	test(`an operator begins and stops an experiment, and nobody else, on ${engine.name}`, async (t) => {
		const { person, store, errors } = await consoleHere(t, engine, { makesReports: true });
		const { id } = await store.control.account(aid);
		const begun = { action: 'create', experiment: 'offer', segment: 'new', goal: 'return', holdout: '20' };
		const experiments = async () =>
			(await store.control.experiments(id)).map(({ name, goal, holdoutPercent, toMs, stoppedAtMs }) => ({
				name,
				goal,
				holdoutPercent,
				toMs,
				isStopped: stoppedAtMs !== null,
			}));
		const victor = await person('victor@example.com', [{ aid, role: 'viewer' }]);
		assert.doesNotMatch((await victor.whole(path)).body, /Begin an experiment/);
		assert.equal((await victor.post(path, begun)).status, 403);
		assert.deepEqual(await experiments(), []);

		const olga = await person('olga@example.com', [{ aid, role: 'operator' }]);
		assert.match((await olga.whole(path)).body, /Begin an experiment/);
		assert.match((await olga.post(path, { ...begun, holdout: '91' })).body, /“Held out, %” must be/);
		assert.match((await olga.post(path, { ...begun, segment: 'none' })).body, /has no segment none/);
		assert.match(
			(await olga.post(path, { ...begun, from: '2020-01-01' })).body,
			/“First day” cannot be in the past/,
		);
		assert.equal((await olga.post(path, begun)).status, 303);
		const offer = { name: 'offer', goal: 'return', holdoutPercent: 20, toMs: null };
		assert.deepEqual(await experiments(), [{ ...offer, isStopped: false }]);
		assert.match((await olga.whole(path)).body, /until it is stopped.*Stop<\/button>/s);
		assert.equal((await victor.post(path, { action: 'stop', experiment: 'offer' })).status, 403);
		assert.equal((await olga.post(path, { action: 'stop', experiment: 'offer' })).status, 303);
		assert.deepEqual(await experiments(), [{ ...offer, isStopped: true }]);
		const planned = { ...begun, experiment: 'later', from: '2026-12-01', to: '2026-12-07' };
		const early = await olga.post(path, { ...planned, to: '2026-11-01' });
		assert.match(early.body, /“Last day” must be later than “First day”, and in the future/);
		assert.equal((await olga.post(path, planned)).status, 303);
		assert.equal((await experiments()).at(-1)?.toMs, Date.UTC(2026, 11, 8), 'the last day is part of it');
		const noted = (await store.control.audit.list({ aid, limit: 50 }))
			.filter(({ action }) => action.includes('experiment'))
			.map(({ who, action, about }) => `${who.split('@')[0]}: ${action}, ${about}`);
		assert.deepEqual(noted, [
			'olga: experiment created, later',
			'olga: refused: experiment create, later',
			'olga: experiment stopped, offer',
			'victor: refused: experiment stop, offer',
			'olga: experiment created, offer',
			'olga: refused: experiment create, offer',
			'olga: refused: experiment create, offer',
			'victor: refused: experiment create, offer',
		]);
		assert.deepEqual(errors, []);
	});
