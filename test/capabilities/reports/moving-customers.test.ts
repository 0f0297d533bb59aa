import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { lifetimeValues } from '../../../src/capabilities/reports/lifetime-value.ts';
import { describeMovement, type MovementRow } from '../../../src/capabilities/reports/movement.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { Calendar } from '../../../src/kit/reports/calendar.ts';
import { coursesOf, isPaid } from '../../../src/kit/reports/courses.ts';
import type { Journey } from '../../../src/kit/reports/journey.ts';
import { examples } from '../../quick.ts';
import { day0Ms, journey, madeUpJourneys } from './made-up.ts';

const calendar = new Calendar('UTC');
const setDays = { newsletter: 30, annual: 365 };

/** A subscription that pays every 30 days from a day on, so many times. */
function monthly(subid: string, fromDay: number, times: number, pence = 500): Journey {
	return journey(
		subid,
		Array.from({ length: times }, (_, payment) => [fromDay + 30 * payment, pence]),
	);
}

function monthsOf(made: readonly Journey[], asOfDay: number, cids: Readonly<Record<string, string>>) {
	const asOfMs = day0Ms + asOfDay * dayMs;
	const spans = calendar.spans('month', day0Ms, asOfMs);
	const customerOf = (subid: string) => cids[subid];
	return describeMovement(coursesOf(made, setDays, asOfMs), { by: [], spans, asOfMs, customerOf }).map(
		({
			row: { subscriptions, customers, subscriptionChurn, customerChurn, customerNetRevenueRetention },
		}) => ({
			subscriptions: countsOf(subscriptions),
			customers: countsOf(customers),
			churn: [subscriptionChurn, customerChurn],
			retention: customerNetRevenueRetention,
		}),
	);
}

/** Opening, new, reactivated, ended, closing. */
function countsOf({ opening, new: added, reactivated, ended, closing }: MovementRow['customers']) {
	return [opening, added, reactivated, ended, closing];
}

test('who changes the plan under another subid has not left, and three titles of one reader are one customer', () => {
	const made = [
		monthly('stays', 5, 4),
		monthly('title 1', 6, 4),
		monthly('title 2', 7, 4),
		// Paid until 9 February; the annual plan begins on 15 February.
		monthly('monthly', 9, 1),
		journey('annual', [[45, 12_000]], [], { evt: 'annual' }),
	];
	const cids = { 'title 1': 'R', 'title 2': 'R', monthly: 'U', annual: 'U' };
	const [january, february, march] = monthsOf(made, 100, cids);
	assert.deepEqual(january?.subscriptions, [0, 4, 0, 0, 4]);
	assert.deepEqual(january?.customers, [0, 3, 0, 0, 3]);
	assert.deepEqual(february, {
		subscriptions: [4, 1, 0, 1, 4],
		customers: [3, 0, 0, 0, 3],
		churn: [0.25, 0],
		// Of £20.00 a month, the annual plan has added £5.00.
		retention: 1.25,
	});
	assert.deepEqual(march?.customers, [3, 0, 0, 0, 3]);
});

test('without a cid the visitor is the customer, and without a visitor each subscription', () => {
	const owned = (subid: string, owner: string) => ({
		...monthly(subid, 5, 2),
		subscription: { ...monthly(subid, 5, 2).subscription, owner },
	});
	const nobody = { ...monthly('C', 5, 2), subscription: { ...monthly('C', 5, 2).subscription, owner: null } };
	const [january] = monthsOf([owned('A', 'V'), owned('B', 'V'), nobody], 40, {});
	assert.deepEqual(january?.customers, [0, 2, 0, 0, 2]);
});

test('who comes back after the time to renew was over has left, and is reactivated under whatever subid', () => {
	// Paid until 2 March; lost on 17 March; back in April.
	const made = [monthly('first', 1, 2), monthly('second', 100, 1)];
	const months = monthsOf(made, 110, { first: 'C', second: 'C' });
	assert.deepEqual(
		months.map(({ customers }) => customers),
		[
			[0, 1, 0, 0, 1],
			[1, 0, 0, 0, 1],
			[1, 0, 0, 1, 0],
			[0, 0, 1, 0, 1],
		],
	);
});

test('where each subscription has a customer of its own, customers are subscriptions', () => {
	fc.assert(
		fc.property(madeUpJourneys, fc.integer({ min: 7, max: 90 }), (made, newsletter) => {
			const asOfMs = Date.UTC(2027, 3, 1);
			const spans = calendar.spans('month', day0Ms, asOfMs);
			const customerOf = (subid: string) => subid;
			const terms = { by: [], spans, asOfMs, customerOf };
			for (const { row } of describeMovement(coursesOf(made, { newsletter }, asOfMs), terms)) {
				const { recovered, ...subscriptions } = row.subscriptions;
				assert.deepEqual(row.customers, subscriptions);
				assert.equal(row.customerChurn, row.subscriptionChurn);
				assert.equal(row.customerNetRevenueRetention, row.netRevenueRetention);
			}
		}),
		{ numRuns: examples(50) },
	);
});

test('the value of a customer is of all subscriptions, and in the row of the first one', () => {
	const made = [
		monthly('monthly', 9, 2),
		// Two months later, under another subid.
		journey('annual', [[70, 12_000]], [], { evt: 'annual' }),
		monthly('other', 12, 1, 300),
		monthly('late', 45, 1),
	];
	const cids: Readonly<Record<string, string>> = { monthly: 'U', annual: 'U' };
	const asOfMs = day0Ms + 100 * dayMs;
	const period = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY };
	const rows = lifetimeValues(coursesOf(made, setDays, asOfMs).filter(isPaid), {
		by: [],
		asOfMs,
		calendar,
		months: 24,
		period,
		customerOf: (subid) => cids[subid],
	});
	assert.deepEqual(
		rows.map(({ month, subscriptions, customers, customerLtvPence, customerPenceToDate, ltvPence }) => [
			month,
			subscriptions,
			customers,
			customerLtvPence,
			customerPenceToDate,
			ltvPence,
		]),
		[
			// £3.00 and £5.00 in January, £5.00 in February, £120.00 in March.
			['2026-01', 2, 2, [400, 650, 6650, null], 13_300, [400, 650, 650, null]],
			['2026-02', 1, 1, [500, 500, null, null], 500, [500, 500, null, null]],
			['2026-03', 1, 0, [null, null, null, null], 0, [12_000, null, null, null]],
		],
	);
});
