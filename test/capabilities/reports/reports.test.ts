import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { describeCoverage } from '../../../src/capabilities/reports/coverage.ts';
import { lifetimeValues, valueByAge } from '../../../src/capabilities/reports/lifetime-value.ts';
import { describePaths, pathText } from '../../../src/capabilities/reports/paths.ts';
import { projectionOf, Renewals } from '../../../src/capabilities/reports/projection.ts';
import { describeRenewals } from '../../../src/capabilities/reports/renewals.ts';
import { describeSpending } from '../../../src/capabilities/reports/spend.ts';
import { noCadences } from '../../../src/core/domain/subscription-cadence.ts';
import { subscriptionOf } from '../../../src/core/domain/subscription-steps.ts';
import { dayMs, hourMs } from '../../../src/core/durations.ts';
import { Calendar } from '../../../src/kit/reports/calendar.ts';
import { coursesOf, isPaid, type PaidJourney, planOf } from '../../../src/kit/reports/courses.ts';
import { percentilesOf } from '../../../src/kit/reports/exact-percentile.ts';
import type { Journey } from '../../../src/kit/reports/journey.ts';
import { pathOf, VisitorTouches } from '../../../src/kit/reports/path.ts';
import { examples } from '../../quick.ts';
import { allTime, day0Ms, journey, lostPaths, madeUpJourneys, touch } from './made-up.ts';

const utc = new Calendar('UTC');
const total = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0);

test('negative revenue is a refund, the first other event the acquisition, later ones are renewals', () => {
	const event = (tid: string, day: number, revenuePence: number) => ({
		subid: 'S',
		evt: `of ${tid}`,
		revenuePence,
		atMs: day0Ms + day * dayMs,
		shownAtMs: tid === 'B' ? day0Ms : null,
	});
	const all = [event('D', 9, 500), event('B', 5, 500), event('C', 5, 0), event('A', 1, -100)];
	const { steps, acquisition, evt, convertedAtMs, shownAtMs } = subscriptionOf(all, 'V');
	assert.deepEqual(
		steps.map(({ kind, evt: of }) => `${kind} ${of}`),
		[...['refund of A', 'acquisition of B', 'renewal of C', 'renewal of D']],
	);
	assert.equal(acquisition, steps[1]);
	assert.deepEqual(
		{ evt, convertedAtMs, shownAtMs },
		{ evt: 'of B', convertedAtMs: day0Ms, shownAtMs: day0Ms },
	);
	const refunds = subscriptionOf([event('B', 3, -1), event('A', 4, -1)], null);
	assert.deepEqual(
		[refunds.acquisition, refunds.shownAtMs, refunds.convertedAtMs],
		[null, null, day0Ms + 3 * dayMs],
	);
});

test('a path has the touches of the lookback period before the conversion', () => {
	const touches = [0, 10, 50, 100, 101].map((day) => touch('email', day));
	const path = pathOf(touches, day0Ms + 100 * dayMs, 90);
	assert.deepEqual(
		path,
		touches.slice(2, 4),
		'the moment 90 days before is out, that of the conversion is in',
	);
});

test('equal touches within half an hour count as one', () => {
	const minute = 1 / 1440;
	const touches = [touch('email', 1), touch('email', 1 + 29 * minute), touch('email', 1 + 58 * minute)];
	const later = [touch('social', 1 + 59 * minute), touch('email', 1 + 60 * minute), touch('email', 1.5)];
	const visitor = new VisitorTouches();
	for (let again = 0; again < 2; again++) {
		visitor.clear();
		for (const one of [...touches, ...later]) visitor.add(one.atMs, one);
		assert.deepEqual(visitor.touches(), [touches[0], ...later]);
	}
});

test('months follow the time zone, including changes of daylight saving time', () => {
	const london = new Calendar('Europe/London');
	assert.equal(london.startOfDay('2026-03-30') - london.startOfDay('2026-03-29'), 23 * hourMs);
	assert.equal(london.monthOf(Date.UTC(2026, 5, 30, 23, 30)), '2026-07');
	assert.equal(utc.monthOf(Date.UTC(2026, 5, 30, 23, 30)), '2026-06');
	assert.equal(new Calendar('America/New_York').monthOf(Date.UTC(2026, 6, 1, 3)), '2026-06');
	assert.throws(() => new Calendar('Europe/Lundon'), RangeError);
});

const paid = [
	journey(
		'A',
		[
			[0, 500],
			[30, 500],
			[61, 500],
			[70, -500],
		],
		[touch('email', 0)],
	),
	journey('B', [[14, 1000]], [touch('social', 1), touch('email', 2)]),
	journey('C', [
		[40, 700],
		[71, 700],
	]),
];

const terms = { by: [], period: allTime, calendar: utc, months: 1200 };
const paidBy = (journeys: readonly Journey[], asOfMs: number, setDays = {}) =>
	coursesOf(journeys, setDays, asOfMs).filter(isPaid);

test('lifetime value is the revenue up to the end of each month, per subscription', () => {
	const asOfMs = Date.UTC(2026, 3, 15);
	const current = journey('D', [[100, 300]]);
	const rows = lifetimeValues(paidBy([...paid, current], asOfMs), { ...terms, asOfMs });
	assert.deepEqual(
		rows.map(({ projected: _, ...row }) => row),
		[
			{
				month: '2026-01',
				subscriptions: 2,
				penceToDate: 2000,
				ltvToDatePence: 1000,
				cumulativePence: [2000, 2000, 2000, null],
				ltvPence: [1000, 1000, 1000, null],
			},
			{
				month: '2026-02',
				subscriptions: 1,
				penceToDate: 1400,
				ltvToDatePence: 1400,
				cumulativePence: [700, 1400, null, null],
				ltvPence: [700, 1400, null, null],
			},
			{
				month: '2026-04',
				subscriptions: 1,
				penceToDate: 300,
				ltvToDatePence: 300,
				cumulativePence: [null, null, null, null],
				ltvPence: [null, null, null, null],
			},
		],
	);
	assert.deepEqual(valueByAge(rows), [
		{ age: 0, subscriptions: 3, ltvPence: 900 },
		{ age: 1, subscriptions: 3, ltvPence: 1133.33 },
		// The cohort of February has not reached it, but has earned more until then.
		{ age: 2, subscriptions: 2, ltvPence: 1133.33 },
	]);
	const [limited] = lifetimeValues(paidBy(paid, asOfMs), { ...terms, asOfMs, months: 1 });
	assert.deepEqual(limited?.ltvPence, [1000, 1000]);
	const byChannel = lifetimeValues(paidBy(paid, asOfMs), { ...terms, by: ['channel'], asOfMs });
	assert.deepEqual(
		byChannel.map(({ month, channel }) => `${month} ${channel}`),
		[...['2026-01 email', '2026-01 social', '2026-02 (none)']],
	);
});

test('what is projected are the payments that are due in a year, if each renews as often as others did', () => {
	const asOfMs = day0Ms + 100 * dayMs;
	const renewing = Array.from({ length: 40 }, (_, n) =>
		journey(
			`S-${n}`,
			// Half renew once, and then all of these.
			n % 2 ? [[0, 1000]] : [0, 30, 60, 90].map((day) => [day, 1000] as const),
		),
	);
	const journeys = paidBy([...renewing, journey('annual', [[0, 9000]])], asOfMs, { newsletter: 30 });
	// 41 were due at first, of whom 20 renewed, then these, who did. The third time is not over yet.
	const renewals = new Renewals(journeys, asOfMs);
	const plan = planOf(journeys[0] as PaidJourney);
	const { share, low, high } = renewals.rate(plan, 1.96);
	assert.ok(low < 40 / 61 && high > 40 / 61 && Math.abs(share - 40 / 61) < 0.02);
	const { pence, lowPence, highPence } = projectionOf(journeys.slice(0, 1), renewals, asOfMs);
	// Due on day 120, and then every month until day 455: twelve times.
	assert.equal(pence, Math.round((1000 * share * (1 - share ** 12)) / (1 - share)));
	assert.ok(lowPence < pence && highPence > pence);
	const ended = journeys.filter(({ course }) => course.state === 'ended');
	assert.equal(projectionOf(ended, renewals, asOfMs).pence, 0);
});

test('a new price is expected of those who pay the old one once five in a row have paid it', () => {
	const projectedAt = (day: number) => {
		const asOfMs = day0Ms + day * dayMs;
		const paid = Array.from({ length: 10 }, (_, n) =>
			journey(
				`S-${n}`,
				[0, 20, 40].map((at) => [at + n, at + n < 43 ? 1000 : 1300] as const).filter(([at]) => at < day),
			),
		);
		const journeys = paidBy(paid, asOfMs, { newsletter: 20 });
		const last = journeys.filter(({ subscription: { subid } }) => subid === 'S-9');
		const renewals = new Renewals(journeys, asOfMs);
		const { share } = renewals.chanceOf(last[0] as PaidJourney);
		return projectionOf(last, renewals, asOfMs, { days: 10 }).pence / share;
	};
	assert.ok(Math.abs(projectedAt(47) - 1000) < 2);
	assert.ok(Math.abs(projectedAt(48) - 1300) < 2);
});

test('a plan of which more is known than of the one before it has a rate', () => {
	const asOfMs = day0Ms + 200 * dayMs;
	const monthly = [10, 40, 70, 100, 130, 160, 190].map((day) => [day, 1000] as const);
	const annual = Array.from({ length: 3 }, (_, n) =>
		journey(
			`annual-${n}`,
			[-730, -365, 0].map((day) => [day, 10_000] as const),
		),
	);
	const [changed] = paidBy([journey('changed', [[0, 10_000], ...monthly]), ...annual], asOfMs);
	assert.ok(changed);
	assert.deepEqual(changed.course.renewed, [null, true, true, true, true, true, null, null]);
	const { low, high } = new Renewals([changed], asOfMs).rate(planOf(changed), 1.96);
	assert.deepEqual({ low, high }, { low: 0.5655, high: 1 });
});

test('another time zone moves subscriptions between months and loses none', () => {
	const zone = fc.constantFrom('Europe/London', 'America/Los_Angeles', 'Pacific/Kiritimati', 'Asia/Kolkata');
	fc.assert(
		fc.property(madeUpJourneys, zone, (journeys, timezone) => {
			const asOfMs = Date.UTC(2030, 0, 1, 12);
			const made = paidBy(journeys, asOfMs);
			const sums = [utc, new Calendar(timezone)].map((calendar) => {
				const rows = lifetimeValues(made, { ...terms, by: ['channel'], asOfMs, calendar });
				const last = rows.map(({ cumulativePence }) => cumulativePence.findLast((sum) => sum !== null) ?? 0);
				assert.deepEqual(
					last,
					rows.map(({ penceToDate }) => penceToDate),
				);
				return [total(rows.map(({ subscriptions }) => subscriptions)), total(last)];
			});
			assert.deepEqual(sums[0], sums[1]);
			const begun = made.filter(({ payments }) => payments.length > 0);
			assert.deepEqual(sums[0], [
				begun.length,
				begun
					.flatMap(({ subscription }) => subscription.steps)
					.reduce((sum, { revenuePence }) => sum + revenuePence, 0),
			]);
		}),
		{ numRuns: examples(50) },
	);
});

test('paths are counted with repeats collapsed', () => {
	const journeys = [
		journey(
			'A',
			[[20, 500]],
			['email', 'email', 'email', 'direct'].map((name, n) => touch(name, n)),
			{ shownDay: 10 },
		),
		journey(
			'B',
			[[20, 500]],
			['email', 'email', 'email', 'direct'].map((name, n) => touch(name, n + 10)),
		),
		journey('C', [[20, 900]]),
	];
	const report = describePaths(journeys, {
		by: ['channel'],
		period: allTime,
		basis: 'event',
		top: 10,
		pages: [],
		distinctPages: 0,
	});
	assert.deepEqual(report.rows, [
		{
			path: ['email', 'direct'],
			repeats: [3, 1],
			trials: 0,
			subscriptions: 2,
			netPence: 1000,
			share: 0.6667,
		},
		{ path: [], repeats: [], trials: 0, subscriptions: 1, netPence: 900, share: 0.3333 },
	]);
	assert.deepEqual(report.rows.map(pathText), ['email ×3 > direct', '(none)']);
	assert.deepEqual(report.lengths, [
		{ touches: 0, subscriptions: 1 },
		{ touches: 4, subscriptions: 2 },
	]);
	assert.deepEqual(report.daysToConvert, { p50: 10, p75: 10, p90: 10 });
	assert.deepEqual(report.approvalDays, { p50: 10, p75: 10, p90: 10 });
	assert.deepEqual(
		report.transitions.map(({ from, to, subscriptions }) => `${from} ${to} ${subscriptions}`),
		[
			...[
				'(start) email 2',
				'direct (conversion) 2',
				'email direct 2',
				'(none) (conversion) 1',
				'(start) (none) 1',
			],
		],
	);
});

test('percentiles are elements of the list', () => {
	assert.deepEqual(percentilesOf([]), { p50: null, p75: null, p90: null });
	assert.deepEqual(percentilesOf([10, 1, 2, 3, 4, 5, 6, 7, 8, 9]), { p50: 5, p75: 8, p90: 9 });
});

test('renewals are counted among subscriptions whose time to renew is over, each by its own cadence', () => {
	const yearly = [
		journey('Y', [[0, 9990]]),
		journey('Z', [
			[-365, 9990],
			[0, 9990],
		]),
	];
	const asOfMs = day0Ms + 77 * dayMs;
	const describe = (journeys: readonly Journey[], setDays = {}) =>
		describeRenewals(coursesOf(journeys, setDays, asOfMs), { by: [], period: allTime, asOfMs });
	const [monthly, annual] = describe([...paid, ...yearly]);
	const rate = { subscriptions: 3, refundRate: 0.3333 };
	assert.deepEqual(monthly, {
		evt: 'newsletter',
		periodDays: 30.44,
		...rate,
		// Within half a period after the due day. C has renewed, but others of its age still have time.
		eligible: [2, 1],
		renewed: [1, 1],
		survivors: [
			{ age: 1, atRisk: 2, renewed: 1, share: 0.5, low: 0.0945, high: 0.9055 },
			{ age: 2, atRisk: 1, renewed: 1, share: 0.5, low: 0.0945, high: 0.9055 },
		],
	});
	assert.deepEqual(
		[annual?.periodDays, annual?.subscriptions, annual?.eligible, annual?.renewed],
		[365.25, 2, [1], [1]],
	);
	const [set] = describe(paid, { newsletter: 365 });
	assert.deepEqual([set?.periodDays, set?.eligible], [365, []]);
});

test('coverage counts events by how they were joined', () => {
	const event = (id: number, vid: string | null, named: 0 | 1 | 2, revenuePence: number) => ({
		id,
		atMs: day0Ms,
		evt: 'newsletter',
		vid,
		named,
		revenuePence,
	});
	assert.deepEqual(
		describeCoverage(
			[event(1, 'V', 2, 5), event(2, 'V', 0, 7), event(3, null, 0, 9), event(4, null, 0, -1)],
			{ period: allTime, calendar: utc },
			new Set([2]),
		),
		[
			{
				month: '2026-01',
				evt: 'newsletter',
				events: 4,
				tid: 1,
				cid: 0,
				subid: 1,
				unjoined: 2,
				claimed: 1,
				tidPence: 5,
				cidPence: 0,
				subidPence: 7,
				unjoinedPence: 8,
				claimedPence: 7,
			},
		],
	);
});

test('spending is compared with the revenue it brought', () => {
	const spend = (day: string, channel: string, pence: number) => ({ day, channel, campaign: '', pence });
	const { rows } = describeSpending(
		[
			spend('2026-01-01', 'email', 1000),
			spend('2026-01-31', 'email', 500),
			spend('2026-02-01', 'display', 900),
		],
		paid,
		lostPaths(),
		{
			by: ['channel'],
			model: 'last-non-direct',
			halfLifeDays: 7,
			period: allTime,
			calendar: utc,
			cadences: noCadences,
		},
	);
	assert.deepEqual(rows, [
		{
			channel: 'email',
			spentPence: 1500,
			trials: 0,
			subscriptions: 2,
			netPence: 2000,
			costPerSubscriptionPence: 750,
			returnRatio: 1.3333,
			paybackMonth: 0,
			recovered: [1.3333, 1.3333, 1.3333],
		},
		{
			channel: 'display',
			spentPence: 900,
			trials: 0,
			subscriptions: 0,
			netPence: 0,
			costPerSubscriptionPence: null,
			returnRatio: 0,
			paybackMonth: null,
			recovered: [0, 0, 0],
		},
	]);
});
