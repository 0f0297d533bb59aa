import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeSpending } from '../../../src/capabilities/reports/spend.ts';
import { noCadences } from '../../../src/core/domain/subscription-cadence.ts';
import type { AttributionModel } from '../../../src/kit/reports/attribution-model.ts';
import { Calendar } from '../../../src/kit/reports/calendar.ts';
import { some } from '../../quick.ts';
import { allTime, journey, lostPaths, touch } from './made-up.ts';

const spendRows = (model: AttributionModel, spent: number, unpaid = 0) => {
	const name = (number: number) => `channel ${number}`;
	const path = (number: number) => [touch(name(number % (spent + unpaid)), 5)];
	return describeSpending(
		Array.from({ length: spent }, (_, number) => ({
			day: '2026-01-01',
			channel: name(number),
			campaign: '',
			pence: 100 + (number % 7),
		})),
		Array.from({ length: 3 * (spent + unpaid) }, (_, number) =>
			journey(`S-${number}`, [[9, 100]], path(number)),
		),
		lostPaths([{ labels: ['channel 0'], visitors: 1 }]),
		{
			by: ['channel'],
			model,
			halfLifeDays: 7,
			period: allTime,
			calendar: new Calendar('UTC'),
			cadences: noCadences,
		},
	);
};

for (const channels of some([500, 10_000], 2))
	test(`each of ${channels} channels on which money was spent has its own subscriptions`, () => {
		const { rows, warnings } = spendRows('last-non-direct', channels, 300);
		assert.equal(rows.length, channels);
		assert.ok(rows.every(({ subscriptions, netPence }) => subscriptions === 3 && netPence === 300));
		assert.deepEqual(warnings, []);
	});

for (const channels of some([500, 10_000], 2))
	test(`the Markov model puts all but 199 of ${channels} channels into one row`, () => {
		const { rows, notes } = spendRows('markov', channels);
		assert.equal(rows.length, 200);
		const other = rows.find(({ channel }) => channel === '(other)');
		assert.equal(Math.round(other?.subscriptions ?? 0), 3 * (channels - 199));
		const sum = (name: 'subscriptions' | 'netPence' | 'spentPence') =>
			Math.round(rows.reduce((all, row) => all + row[name], 0));
		assert.equal(sum('subscriptions'), 3 * channels);
		assert.equal(sum('netPence'), 300 * channels);
		const spent = Array.from({ length: channels }, (_, number) => 100 + (number % 7));
		assert.equal(
			sum('spentPence'),
			spent.reduce((all, pence) => all + pence, 0),
		);
		assert.match(notes?.at(-1) ?? '', /The Markov model keeps the 199 names .* apart/);
	});

test('what was spent is divided by who pays, and not by who tries', () => {
	const { rows } = describeSpending(
		[{ day: '2026-01-01', channel: 'social', campaign: '', pence: 100_000 }],
		Array.from({ length: 100 }, (_, n) => {
			const paid = n % 4 === 0 ? [[24, 500] as const] : [];
			return journey(`S-${n}`, [[10, 0], ...paid], [touch('social', 9)]);
		}),
		lostPaths([]),
		{
			by: ['channel'],
			model: 'last',
			halfLifeDays: 7,
			period: allTime,
			calendar: new Calendar('UTC'),
			cadences: noCadences,
		},
	);
	const { trials, subscriptions, costPerSubscriptionPence, netPence } = rows[0] as (typeof rows)[number];
	assert.deepEqual([trials, subscriptions, costPerSubscriptionPence, netPence], [100, 25, 4000, 12_500]);
});
