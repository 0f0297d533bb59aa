import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../src/scoring/rows/random.ts';
import { plans, ratesOf, simulate, trouble } from './simulated-business.ts';

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
