import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SeriesRow } from '../../../src/capabilities/reports/attribution-series.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { Calendar } from '../../../src/kit/reports/calendar.ts';
import { spansOf } from '../../../src/kit/reports/journey.ts';
import { enginesAboveContract, openFor } from '../../core/store/engines.ts';
import { fill, report, sale, visit } from './filled.ts';
import { day0Ms } from './made-up.ts';

for (const engine of enginesAboveContract)
	test(`attribution by day, week or month adds up to that of the period, on ${engine.name}`, async (t) => {
		const store = await openFor(t, await engine.installedAddress(t));
		const id = await fill(store, 'c-a-acme-uk', [
			...[visit(1, 0, null), visit(1, 3, null, 'social'), visit(1, 9, 'A'), sale('A', 'S', 10, 500)],
			...[sale('A-2', 'S', 40, 500), sale('A-3', 'S', 41, -100)],
			...[visit(2, 9.5, null), visit(2, 33, 'B', 'paid search'), sale('B', 'S-2', 33.5, 700)],
			...[sale('C', 'S-3', 35, 300), visit(3, 44, null, 'social')],
		]);
		for (const every of ['day', 'week', 'month'] as const)
			for (const basis of ['event', 'cohort'] as const)
				for (const period of [{}, { from: '2026-01-04', to: '2026-02-12' }]) {
					const asked = { every, basis, ...period, model: ['linear', 'markov'], intervals: false } as const;
					const made = await report(store, id, 'attribution', asked);
					const series = made.series as readonly SeriesRow[];
					assert.equal(made.seriesModel, 'linear');
					for (const row of made.rows) {
						const own = series.filter(({ channel }) => channel === row.channel);
						const sum = (name: 'arrivals' | 'subscriptions' | 'netPence') =>
							own.reduce((all, one) => all + Number(one[name]), 0);
						const credited = (row.models as Record<string, Record<string, number>>).linear;
						assert.equal(sum('arrivals'), row.arrivals ?? 0, `${every} ${row.channel}`);
						assert.ok(Math.abs(sum('subscriptions') - (credited?.subscriptions ?? 0)) < 0.001);
						assert.ok(Math.abs(sum('netPence') - (credited?.netPence ?? 0)) <= 3);
					}
				}
		const made = await report(store, id, 'attribution', { every: 'month', model: ['last'] });
		assert.deepEqual(
			(made.series as readonly SeriesRow[]).find(
				({ month, channel }) => month === '2026-01' && channel === 'email',
			),
			{
				month: '2026-01',
				part: null,
				channel: 'email',
				visitors: 2,
				arrivals: 3,
				subscriptions: 1,
				netPence: 500,
				conversionRate: 0.5,
			},
		);
	});

test('spans begin at midnight of the zone, and there are not too many', () => {
	const calendar = new Calendar('Europe/London');
	const days = calendar.spans('day', Date.UTC(2026, 2, 28, 12), Date.UTC(2026, 2, 30, 12));
	assert.deepEqual(
		days.map(({ name, fromMs, toMs }) => [name, (toMs - fromMs) / 3_600_000]),
		[
			['2026-03-28', 24],
			['2026-03-29', 23],
			['2026-03-30', 24],
		],
	);
	assert.throws(
		() => calendar.spans('day', day0Ms, day0Ms + 2000 * dayMs),
		/more than 1000 days; choose longer ones/,
	);
});

test('a period that has not begun has no rows, although its first month has', () => {
	const calendar = new Calendar('UTC');
	const period = { fromMs: calendar.startOfDay('2026-03-10'), toMs: calendar.startOfDay('2026-04-20') };
	const spans = (asOf: string) =>
		spansOf(0, 'month', { period, calendar, asOfMs: calendar.startOfDay(asOf) });
	assert.deepEqual(spans('2026-03-01'), []);
	assert.deepEqual(
		spans('2026-03-11').map(({ name }) => name),
		['2026-03'],
	);
});

test('a day that a zone has skipped has no row', () => {
	const apia = new Calendar('Pacific/Apia');
	const days = apia.spans('day', Date.UTC(2011, 11, 29, 20), Date.UTC(2012, 0, 1));
	assert.deepEqual(
		days.map(({ name }) => name),
		['2011-12-29', '2011-12-31', '2012-01-01'],
	);
	for (const [place, span] of days.slice(1).entries()) assert.equal(span.fromMs, days[place]?.toMs);
});
