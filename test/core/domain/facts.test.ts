import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { visitFacts, visitorFacts } from '../../../src/core/domain/facts.ts';
import { type LogEntry, profileOf } from '../../../src/core/domain/profile.ts';
import { Cadences, noCadences } from '../../../src/core/domain/subscription-cadence.ts';
import { courseOf } from '../../../src/core/domain/subscription-course.ts';
import { dayMs, minuteMs } from '../../../src/core/durations.ts';
import { cadenceTableOf } from '../../../src/kit/reading/learned-cadences.ts';
import { anyLog, hit, startMs, subscription } from './log.ts';

function visitorAsOf(nowMs: number, ...log: LogEntry[]) {
	return visitorFacts(profileOf(log), nowMs);
}

describe('a visitor', () => {
	test('of whom nothing is known has zeros and empties, and has never subscribed', () => {
		const { daysSinceSubscription, ...others } = visitorFacts(null, startMs);
		assert.equal(daysSinceSubscription, Number.POSITIVE_INFINITY);
		for (const [name, value] of Object.entries(others)) {
			const isNothing = value instanceof Map ? value.size === 0 : String(value || '') === '';
			assert(isNothing, name);
		}
	});

	test('has the counts of the profile', () => {
		const facts = visitorAsOf(
			startMs + dayMs,
			hit(startMs, { page: 'offer', channel: 'email', events: ['play'] }),
			hit(startMs + 90_000, { page: null, device: 'mobile', events: ['play', 'stop'] }),
			hit(startMs + dayMs, { sid: 'b'.repeat(32), channel: 'direct' }),
		);
		const { hits, pages, visits, activeDays, dwellMinutes, device, firstChannel, lastChannel, landingPage } =
			facts;
		assert.deepEqual(
			{ hits, pages, visits, activeDays, dwellMinutes, device, firstChannel, lastChannel, landingPage },
			{
				hits: 3,
				pages: 2,
				visits: 2,
				activeDays: 2,
				dwellMinutes: 1.5,
				device: 'desktop',
				firstChannel: 'email',
				lastChannel: 'direct',
				landingPage: 'offer',
			},
		);
		assert.deepEqual(facts.channels, ['email', 'direct']);
		assert.deepEqual(
			[...facts.events],
			[
				['play', 2],
				['stop', 1],
			],
		);
	});

	test('has subscription events by evt, and the days since the latest', () => {
		const { subscriptions, renewals, revenuePence, daysSinceSubscription, evts } = visitorAsOf(
			startMs + 3 * dayMs,
			subscription(startMs, { tid: '1', evt: 'trial' }),
			subscription(startMs + dayMs, { tid: '2', revenuePence: 499 }),
		);
		assert.deepEqual(
			{ subscriptions, renewals, revenuePence, daysSinceSubscription },
			{ subscriptions: 2, renewals: 1, revenuePence: 499, daysSinceSubscription: 2 },
		);
		assert.deepEqual(
			[...evts],
			[
				['trial', 1],
				['membership', 1],
			],
		);
	});

	test('is as of now: recent counts decay between hits', () => {
		const log = [hit(startMs), hit(startMs + dayMs)];
		const then = visitorAsOf(startMs + dayMs, ...log);
		const later = visitorAsOf(startMs + 8 * dayMs, ...log);
		assert.deepEqual([then.daysSinceFirst, later.daysSinceFirst], [1, 8]);
		assert.deepEqual([then.daysSinceLast, later.daysSinceLast], [0, 7]);
		assert.equal(later.minutesSinceLast, 7 * 24 * 60);
		assert.equal(then.recentHits1d, 1.5);
		assert(Math.abs(later.recentHits7d - then.recentHits7d / 2) < 1e-4);
	});

	test('was last seen at the latest hit: an uploaded event is not a visit', () => {
		const facts = visitorAsOf(startMs + 2 * dayMs, hit(startMs), subscription(startMs + dayMs));
		assert.equal(facts.daysSinceLast, 2);
		assert.equal(facts.daysSinceSubscription, 1);
	});

	test('has seen pages within the days that the list names', () => {
		const facts = visitorAsOf(
			startMs + 40 * dayMs,
			hit(startMs, { page: 'old' }),
			hit(startMs + 10 * dayMs, { page: 'month' }),
			hit(startMs + 33 * dayMs, { page: 'week' }),
		);
		assert.deepEqual(facts.pages30d, ['month', 'week']);
		assert.deepEqual(facts.pages7d, ['week']);
	});

	test('whose last entry is ahead of the clock has no negative times', () => {
		const { daysSinceLast, daysSinceFirst } = visitorAsOf(startMs - minuteMs, hit(startMs));
		assert.deepEqual({ daysSinceLast, daysSinceFirst }, { daysSinceLast: 0, daysSinceFirst: 0 });
	});

	test('has no negative numbers except revenue, whatever the log', () => {
		fc.assert(
			fc.property(anyLog, fc.integer({ min: -5, max: 400 }), (log, days) => {
				const { revenuePence: _, ...facts } = visitorAsOf(startMs + days * dayMs, ...log);
				for (const [name, value] of Object.entries(facts))
					if (typeof value === 'number') assert(value >= 0, `${name} ${value}`);
			}),
		);
	});
});

describe('a visit', () => {
	test('that does not exist has zeros and empties', () => {
		const nothing = {
			hits: 0,
			dwellMinutes: 0,
			channel: '',
			landingPage: '',
			pagesSeen: [],
			eventsFired: [],
		};
		assert.deepEqual(visitFacts(null), nothing);
		assert.deepEqual(visitFacts(profileOf([subscription(startMs)])), nothing);
	});

	test('is only the latest one', () => {
		const sid = 'b'.repeat(32);
		const profile = profileOf([
			hit(startMs, { page: 'offer', events: ['play', 'stop'] }),
			hit(startMs + dayMs, { sid, page: 'pricing', channel: 'email' }),
			hit(startMs + dayMs + 2 * minuteMs, { sid, page: 'basket', channel: 'direct', events: ['play'] }),
		]);
		assert.deepEqual(visitFacts(profile), {
			hits: 2,
			dwellMinutes: 2,
			channel: 'email',
			landingPage: 'pricing',
			pagesSeen: ['pricing', 'basket'],
			eventsFired: ['play'],
		});
	});
});

describe('activeSubscriptions', () => {
	const monthly = [0, 30, 60].map((day, index) =>
		subscription(startMs + day * dayMs, {
			tid: `m${index}`,
			subid: 'monthly',
			evt: 'plan',
			revenuePence: 999,
		}),
	);
	const annual = subscription(startMs, { tid: 'a', subid: 'annual', evt: 'plan', revenuePence: 9900 });
	const table = {
		prices: [
			['plan', 999, [30]],
			['plan', 9900, [365]],
		],
		evts: [['plan', [30]]],
		all: [30],
	} as const;
	const activeAfter = (days: number, log: LogEntry[], cadences = new Cadences(table, {})) =>
		visitorFacts(profileOf(log), startMs + days * dayMs, cadences).activeSubscriptions;

	test('counts those that are paid for or in grace, each by its own cadence', () => {
		assert.equal(activeAfter(61, monthly), 1);
		assert.equal(activeAfter(100, monthly), 1, 'due on day 90, 15 days of grace');
		assert.equal(activeAfter(106, monthly), 0);
		assert.equal(activeAfter(360, [annual]), 1);
		assert.equal(activeAfter(396, [annual]), 0);
		assert.equal(activeAfter(100, [annual, ...monthly]), 2);
	});

	test('takes the cadence of the nearest price, of the evt, then of the account', () => {
		const once = (evt: string, revenuePence: number) => [
			subscription(startMs, { tid: 'o', subid: 'once', evt, revenuePence }),
		];
		assert.equal(activeAfter(300, once('plan', 8900)), 1);
		assert.equal(activeAfter(50, once('plan', 50_000)), 0);
		assert.equal(activeAfter(50, once('other', 999)), 0);
		assert.equal(activeAfter(5000, once('other', 999), noCadences), 1, 'it is unknown how often it is paid');
		assert.equal(activeAfter(20, once('other', 999), new Cadences(table, { other: 7 })), 0);
	});

	test('does not count what was paid back', () => {
		const refund = { subid: 'monthly', evt: 'plan', revenuePence: -999 };
		assert.equal(
			activeAfter(62, [...monthly, subscription(startMs + 61 * dayMs, { tid: 'r', ...refund })]),
			0,
		);
		assert.equal(activeAfter(1, [subscription(startMs, { tid: 'r', ...refund })]), 0);
	});

	test('counts all of a profile of an earlier version, as before', () => {
		const { latest: _, ...earlier } = profileOf(monthly)?.subscriptions ?? assert.fail();
		const profile = { ...(profileOf(monthly) ?? assert.fail()), subscriptions: earlier };
		assert.equal(visitorFacts(profile, startMs + 1000 * dayMs).activeSubscriptions, 1);
	});

	test('agrees with the course of the whole log, whatever was learned of others', () => {
		const plan = fc.record({
			evt: fc.constantFrom('plan', 'other'),
			pricePence: fc.constantFrom(999, 2700, 9900),
			days: fc.constantFrom(30, 90, 365),
			payments: fc.integer({ min: 1, max: 6 }),
			startDay: fc.nat(300),
		});
		fc.assert(
			fc.property(
				fc.array(plan, { minLength: 1, maxLength: 8 }),
				fc.integer({ min: 0, max: 900 }),
				(plans, day) => {
					const nowMs = startMs + day * dayMs;
					const paid = plans.map(({ evt, pricePence, days, payments, startDay }) => ({
						evt,
						payments: Array.from({ length: payments }, (_, index) => ({
							atMs: startMs + (startDay + index * days) * dayMs,
							pricePence,
							refundedAtMs: null,
						})).filter(({ atMs }) => atMs <= nowMs),
					}));
					const [one] = paid;
					// With two times between payments it depends on nobody else.
					fc.pre(one !== undefined && one.payments.length >= 3);
					const cadences = new Cadences(cadenceTableOf(paid, nowMs), {});
					const log = one.payments.map(({ atMs, pricePence }, index) =>
						subscription(atMs, { tid: `t${index}`, subid: 's', evt: one.evt, revenuePence: pricePence }),
					);
					const whole = courseOf(one, cadences, nowMs);
					const active = visitorFacts(profileOf(log), nowMs, cadences);
					assert.equal(active.activeSubscriptions, whole.state === 'ended' ? 0 : 1);
				},
			),
		);
	});
});
