import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeBusiness } from './judging-businesses.ts';
import { knownBusinesses } from './known-businesses.ts';

/** `npm run proof:businesses` judges all of them, and more months. */
const judgedHere = [
	'first year for half',
	'monthly, a tenth paid 17 days late, billing day kept',
	'a tenth lifetime, own evt, nothing said',
	'upgrade from monthly to annual, other subid',
	'paid twice within an hour, once refunded',
	'free months, not uploaded',
	'upgrade with proration',
	'monthly and every 28 days at one price',
	'all on the 31st',
	'annual only, 8 months old',
	'monthly and annual, 6 weeks old',
];

for (const name of judgedHere)
	test(`churn, net retention and recurring revenue are those of the business, or said to be unknown: ${name}`, () => {
		const business = knownBusinesses.find((one) => one.name === name);
		assert.ok(business);
		assert.deepEqual(judgeBusiness(business, { people: 500, months: 6 }).failed, []);
	});

test('whom a report does not know is judged to be wrong', () => {
	const lifetime = knownBusinesses.find(({ name }) => name === 'a tenth lifetime, own evt, nothing said');
	assert.ok(lifetime);
	const { unknown: _, ...unsaid } = lifetime;
	const { failed } = judgeBusiness(unsaid, { people: 500, months: 6 });
	assert.ok(failed.includes('recurring revenue') && failed.includes('netRetention of customers'));
});
