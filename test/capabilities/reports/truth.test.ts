import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../src/kit/random.ts';
import { plans, projectionsOf, ratesOf, simulate, trouble } from './simulated-business.ts';

test('churn and renewals of a simulated business are within two points of the truth, for each plan and channel', () => {
	const days = 900;
	const rates = ratesOf(
		simulate(plans, trouble, { subscriptions: 6000, days, random: seededRandom(7) }),
		days,
	);
	assert.equal(rates.length, 12);
	for (const { what, told, truth } of rates)
		assert.ok(Math.abs(told - truth) <= 0.02, `${what}: ${told.toFixed(4)} told, ${truth.toFixed(4)} true`);
});

test('what subscriptions pay in a year is within the bounds of what was projected', () => {
	const random = seededRandom(3);
	const simulated = simulate(
		plans,
		{ ...trouble, riseDay: 100 },
		{ subscriptions: 6000, days: 1000, random },
	);
	const projections = projectionsOf(simulated, 600).filter(({ pence }) => pence > 10_000);
	const within = projections.filter(({ came, lowPence, highPence }) => came >= lowPence && came <= highPence);
	assert.ok(
		projections.length >= 6 && within.length >= 0.8 * projections.length,
		JSON.stringify(projections),
	);
	const sum = (of: 'pence' | 'came') => projections.reduce((total, one) => total + one[of], 0);
	assert.ok(Math.abs(sum('pence') / sum('came') - 1) < 0.1, `${sum('pence')} projected, ${sum('came')} came`);
});
