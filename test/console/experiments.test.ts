import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayMs } from '../../src/durations.ts';
import { formatNumber } from '../../src/format/numbers.ts';
import { begin, fromMs, madeUp, storeLives } from '../reports/made-up-experiment.ts';
import { enginesAboveContract } from '../store/engines.ts';
import { consoleHere } from './here.ts';

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
		assert.match(body, /offer<\/a><\/td><td>considering<\/td>.*50 %.*ended/);
		assert.match(body, /later<\/a><\/td><td>new<\/td>.*planned.*until it is stopped/);
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
					`<bdi>${group}</bdi></td><td class="number">${formatNumber(visitors)}</td><td class="number">\\d+</td><td class="number">${formatNumber(conversions)}</td>`,
				),
			);
		const csv = await victor.get(address.replaceAll('&amp;', '&').replace('.json', '.csv'));
		assert.equal(csv.body.trim().split('\r\n').length, rows.length + 1);
		// The newest, where none is named.
		assert.match((await victor.whole(path)).body, /The experiment has not begun\./);
		assert.deepEqual(errors, []);
	});
