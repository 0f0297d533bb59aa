import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { openStore } from '../../../src/assembly/open-store.ts';
import { storeHistory } from '../../../src/capabilities/history/store/past-history.ts';
import { graceMs, keepDays } from '../../../src/capabilities/reports/day-figures.ts';
import type { HistoryHit } from '../../../src/core/domain/stored-hit.ts';
import { dayMs, minuteMs } from '../../../src/core/durations.ts';
import { foldAll } from '../../../src/core/store/fold-all.ts';
import type { OpenStore } from '../../../src/core/store/store.ts';
import type { Report } from '../../../src/kit/reports/report.ts';
import { addAccount, type Engine, enginesAboveContract } from '../../core/store/engines.ts';
import { body } from '../../core/store/made-hits.ts';
import { report } from './filled.ts';
import { day0Ms } from './made-up.ts';
import { hit, readers, sales, scanners, sentMs, vidOf } from './made-up-mailing.ts';

async function open(t: TestContext, engine: Engine) {
	const clock = { ms: day0Ms + 16 * dayMs };
	const store = await openStore(await engine.installedAddress(t), { now: () => clock.ms });
	t.after(() => store.close());
	const id = await addAccount(store, 'c-a-acme-uk');
	const add = async (hits: readonly HistoryHit[], events: Parameters<typeof storeHistory>[1] = []) => {
		await store.transact(id, () => storeHistory(hits, events));
		await foldAll(store, id);
	};
	return { clock, store, id, add };
}

const emailIn = ({ rows }: Report) => {
	const row = rows.find(({ channel }) => channel === 'email') as {
		visitors: number;
		arrivals: number;
		models: { last: { conversionRate: number; netPerVisitorPence: number } };
	};
	const { conversionRate, netPerVisitorPence } = row.models.last;
	return { visitors: row.visitors, arrivals: row.arrivals, conversionRate, netPerVisitorPence };
};
const sum = (report: Report, name: string) =>
	report.rows.reduce((total, row) => total + Number(row[name] ?? 0), 0);
const attribution = (store: OpenStore, id: number, fields: Parameters<typeof report>[3] = {}) =>
	report(store, id, 'attribution', { intervals: false, ...fields });

for (const engine of enginesAboveContract)
	describe(engine.name, () => {
		test('mail gateways are left out of who came, and said, unless asked for', async (t) => {
			const { store, id, add } = await open(t, engine);
			await add([...scanners, ...readers], sales);
			const without = await attribution(store, id);
			const people = { visitors: 40, arrivals: 40, conversionRate: 0.1, netPerVisitorPence: 50 };
			assert.deepEqual(emailIn(without), people);
			assert.equal(without.gatewayVisitors, 400);
			assert.match(String(without.notes), /400 visitors are left out who are mail gateways/);
			const all = await attribution(store, id, { include: 'gateways' });
			assert.equal(emailIn(all).visitors, 440);
			assert.equal(emailIn(all).conversionRate, 0.009091);
			assert.ok(!('gatewayVisitors' in all));
			for (const kind of ['paths', 'spend', 'activity']) {
				assert.equal((await report(store, id, kind)).gatewayVisitors, 400, kind);
				assert.ok(!('gatewayVisitors' in (await report(store, id, kind, { include: 'gateways' }))), kind);
			}
		});

		test('hits and arrivals are without them, whether days are kept or not, and add up over any periods', async (t) => {
			const { clock, store, id, add } = await open(t, engine);
			await add(readers, sales);
			const activity = (fields = {}) => report(store, id, 'activity', { every: 'day', ...fields });
			const people = await activity();
			await add(scanners);
			const rowsOf = async () => [(await activity()).rows, (await activity({ channel: 'email' })).rows];
			const counted = await rowsOf();
			assert.deepEqual(counted[0], people.rows);
			assert.equal(sum(await activity({ include: 'gateways' }), 'hits'), sum(people, 'hits') + 400);
			await keepDays(store, { id, cancellationEvt: null });
			clock.ms += graceMs;
			await keepDays(store, { id, cancellationEvt: null });
			assert.deepEqual(await rowsOf(), counted);
			assert.equal(sum(await activity({ include: 'gateways' }), 'arrivals'), sum(people, 'arrivals') + 400);
			const asked = { from: '2026-01-06', to: '2026-01-07' };
			assert.equal((await activity(asked)).gatewayVisitors, 400);
			assert.ok(!('gatewayVisitors' in (await activity({ from: '2026-01-07' }))));
		});

		test('whoever comes back is a person, and a burst is judged half an hour after it', async (t) => {
			const { store, id, add } = await open(t, engine);
			await add([...scanners, ...readers], sales);
			await add([
				hit(vidOf('b', 7), sentMs + 2 * dayMs, { channel: 'direct', url: 'https://acme.example/' }),
			]);
			assert.equal((await attribution(store, id)).gatewayVisitors, 399);
			const asOf = (ms: number) => attribution(store, id, { asOf: ms });
			assert.equal((await asOf(sentMs + dayMs)).gatewayVisitors, 400);
			const endMs = sentMs + 5000 + 399 * 5;
			assert.equal((await asOf(endMs + 30 * minuteMs)).gatewayVisitors, 400);
			assert.ok(!('gatewayVisitors' in (await asOf(endMs + 30 * minuteMs - 1))));
		});

		test('nobody is left out whose burst has people, an event, a customer, or is by no mailing', async (t) => {
			const other = (fields: Parameters<typeof body>[0]) =>
				scanners.map(({ vid, atMs, body: own }) => ({
					vid,
					sid: null,
					atMs,
					body: { ...own, ...body({ ...own, ...fields }) },
				}));
			for (const [what, hits] of Object.entries({
				'who shows a customer id': other({ cid: 'C-1' }).map((one, number) => ({
					...one,
					body: { ...one.body, cid: `C-${number}` },
				})),
				'who fires an event': other({ events: [{ name: 'play' }] }),
				'who comes by a paid campaign': other({ channel: 'paid social' }),
				'of whom every fifth goes on': [
					...scanners,
					...scanners
						.filter((_, number) => number % 5 === 0)
						.map(({ vid, atMs }) => hit(vid, atMs + minuteMs, { channel: 'internal', url: null })),
				],
			})) {
				const { store, id, add } = await open(t, engine);
				await add(hits);
				const made = await report(store, id, 'activity');
				assert.ok(!('gatewayVisitors' in made), what);
				await store.close();
			}
		});
	});
