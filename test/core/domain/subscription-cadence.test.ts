import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Cadences, type Paid, usualDays } from '../../../src/core/domain/subscription-cadence.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { cadenceTableOf } from '../../../src/kit/reading/learned-cadences.ts';
import { takesLong } from '../../quick.ts';

const month = 365.25 / 12;

const day = 400;
/** Payments on these days. */
function paid(days: readonly number[], pricePence = 999, evt = 'membership'): Paid {
	const payments = days.map((at) => ({ atMs: at * dayMs, pricePence, refundedAtMs: null }));
	return { evt, payments };
}
function learn(all: readonly Paid[], setDays: Readonly<Record<string, number>> = {}) {
	const cadences = new Cadences(cadenceTableOf(all, day * dayMs), setDays);
	return { of: (one: Paid) => cadences.of(one, day * dayMs) };
}
/** The cadence of the last payment. */
function lastOf(one: Paid, others: readonly Paid[] = []) {
	return learn([one, ...others])
		.of(one)
		.at(-1);
}
const monthly = [0, 1, 2].map((from) => paid([from, from + 30, from + 60, from + 90]));

test('early, late and missing renewals and pauses do not change the usual time between payments', () => {
	const cases: readonly (readonly [gaps: readonly number[], days: number])[] = [
		[[30, 60], 30],
		[[30, 30, 91, 30], 30],
		[[37, 23], 30],
		[[31, 28, 31, 45, 16], 30],
		[[30, 200], 30],
		[[365, 366], 365.5],
		[[7, 7, 14, 7], 7],
		[[91, 92], 91.5],
	];
	for (const [gaps, days] of cases)
		assert.ok(Math.abs(usualDays(gaps) - days) <= 1, `${gaps}: ${usualDays(gaps)}`);
});

test('a cadence is found in most subscriptions, whatever their length, with some renewals missing, late or early', () => {
	const lengths = fc.constantFrom(7, 30, 91, 182, 365);
	const gap = fc.record({ missing: fc.boolean(), late: fc.double({ min: -0.12, max: 0.15, noNaN: true }) });
	fc.assert(
		fc.property(lengths, fc.array(gap, { minLength: 4, maxLength: 12 }), (days, gaps) => {
			fc.pre(gaps.filter(({ missing }) => missing).length <= gaps.length / 4);
			const found = usualDays(gaps.map(({ missing, late }) => days * (1 + late) * (missing ? 2 : 1)));
			assert.ok(Math.abs(found / days - 1) < 0.2, `${found} of ${days}`);
		}),
	);
});

test("with fewer than two times of its own, those of the same evt and price tell a subscription's cadence", () => {
	const quarterly = paid([0, 91, 182, 273], 2699);
	const cases: readonly (readonly [Paid, number, string])[] = [
		[paid([0, 29, 61]), 30, 'own'],
		[paid([380]), 30, 'price'],
		[paid([300, 361]), 30, 'price'],
		// Prices have risen.
		[paid([380], 1199), 30, 'price'],
		[paid([380], 2699), 91, 'price'],
	];
	for (const [one, days, from] of cases) {
		const cadence = lastOf(one, [...monthly, quarterly]);
		assert.deepEqual([Math.round(cadence?.days ?? 0), cadence?.from], [days, from]);
	}
	const other = lastOf(paid([380], 999, 'gift'), monthly);
	assert.deepEqual([other?.days, other?.from], [month, 'account']);
	assert.deepEqual(lastOf(paid([380, 390])), { days: 10, from: 'own' }, 'nobody else is known');
	assert.equal(lastOf(paid([380])), null);
});

test('a plan at ten times the price of a month is that of a year, although nobody has renewed it yet', () => {
	const annual = [0, 50, 100, 200].map((at) => paid([at], 9990));
	for (const one of annual) {
		const cadence = lastOf(one, [...monthly, ...annual]);
		assert.deepEqual([cadence?.days, cadence?.from], [365.25, 'event']);
	}
	const dearer = [1599, 1999, 2699, 5000].map((pence) => lastOf(paid([390], pence), monthly)?.days);
	assert.deepEqual(dearer, [month, 3 * month, 3 * month, 6 * month]);
});

test('one odd buyer does not tell when the many pay who have not paid again', () => {
	const silent = Array.from({ length: 20 }, (_, at) => paid([at * 10], 9990));
	const odd = paid([100, 112], 9990);
	const cadence = lastOf(silent[3] as Paid, [...silent, odd, ...monthly]);
	assert.equal(cadence?.days, 365.25);
});

test('where plans of one price differ, a payment is of the shortest that is not over', () => {
	const yearly = [0, 1, 2].map((from) => paid([from, from + 365]));
	const all = [...monthly, ...yearly];
	assert.equal(lastOf(paid([390]), all)?.days, month);
	assert.equal(lastOf(paid([340]), all)?.days, 12 * month, 'nothing is lost before its own time');
	assert.equal(lastOf(paid([0, 364]), all)?.days, 12 * month);
	assert.equal(lastOf(paid([300, 331]), all)?.days, month);
	// A month was missing, or it was a pause.
	assert.equal(learn([...all, paid([300, 360])]).of(paid([300, 360]))[0]?.days, month);
});

test('a cadence that others tell is in months, or whole days', () => {
	const tenDays = [0, 1, 2].map((from) => paid([from, from + 10.2, from + 20.5], 99, 'gift'));
	const cadences = learn([...monthly, ...tenDays]);
	for (const [one, days] of [
		[paid([395]), month],
		[paid([395], 99, 'gift'), 10],
	] as const)
		assert.deepEqual(cadences.of(one), [{ days, from: 'price' }]);
});

test('who changes from a month to a year has the cadence of each', () => {
	const changed = {
		evt: 'membership',
		payments: [...paid([0, 30, 60]).payments, ...paid([90], 9990).payments],
	};
	const days = learn([changed, ...monthly])
		.of(changed)
		.map((cadence) => Math.round(cadence?.days ?? 0));
	assert.deepEqual(days, [30, 30, 30, 365]);
});

test('after a first year for half, the next is due on the same day, before anybody has paid the whole price twice', () => {
	const halved = [100, 131, 159, 190, 220].map((from) => ({
		evt: 'membership',
		payments: [...paid([from], 2495).payments, ...paid([from + 365], 4990).payments],
	}));
	const cadences = new Cadences(cadenceTableOf(halved, 600 * dayMs), {}, { isLearned: true });
	assert.deepEqual(cadences.billing('membership', { days: 12 * month, from: 'price' }), {
		isOfCalendar: true,
		keepsDay: false,
	});
});

test('what the operator has set overrides everything', () => {
	const [one] = monthly as [Paid];
	assert.deepEqual(learn(monthly, { membership: 28 }).of(one).at(-1), { days: 28, from: 'account' });
});

test('cadences do not depend on the order of subscriptions, and any payments have one that is above nothing or none', () => {
	const some = fc.array(
		fc.tuple(fc.integer({ min: 0, max: 400 }), fc.constantFrom(0, 1, 499, 999, 1000, 9990)),
		{
			minLength: 1,
			maxLength: 8,
		},
	);
	const subscription = some.map(
		(payments): Paid => ({
			evt: 'membership',
			payments: payments
				.sort(([a], [b]) => a - b)
				.map(([at, pricePence], place) => ({ atMs: (at + place) * dayMs, pricePence, refundedAtMs: null })),
		}),
	);
	fc.assert(
		fc.property(fc.array(subscription, { minLength: 1, maxLength: 12 }), (all) => {
			const found = all.map((one) => learn(all).of(one));
			assert.deepEqual(
				all.map((one) => learn(all.toReversed()).of(one)),
				found,
			);
			for (const cadence of found.flat()) assert.ok(cadence === null || cadence.days > 0);
		}),
	);
});

test('a hundred thousand payments of one subscription, or as many prices, take no time', {
	skip: takesLong,
}, () => {
	const payments = Array.from({ length: 100_000 }, (_, n) => ({
		atMs: n * dayMs,
		pricePence: 100 + (n % 50_000),
		refundedAtMs: null,
	}));
	const one = { evt: 'usage', payments };
	const many = payments.map((payment) => ({ evt: 'usage', payments: [payment] }));
	const before = process.threadCpuUsage();
	learn([one]).of(one);
	const cadences = learn(many);
	for (const each of many.slice(0, 1000)) cadences.of(each);
	// Not the time of a clock, which runs on while other programs have the processor.
	const { user } = process.threadCpuUsage(before);
	assert.ok(user < 5_000_000, `${user} µs`);
});

test('twenty alike times of its own tell two cadences at one price apart; a few do not', () => {
	const every = (days: number, times: number) =>
		paid(Array.from({ length: times + 1 }, (_, at) => at * days));
	const neighbours = Array.from({ length: 30 }, () => every(10, 12));
	assert.equal(lastOf(every(8, 20), neighbours)?.days, 8);
	assert.equal(lastOf(every(8, 4), neighbours)?.days, 10);
	assert.equal(lastOf(every(10, 20), neighbours)?.days, 10);
});

test('a price that nobody goes on paying has no cadence, although one of a near price was paid again', () => {
	const silent = Array.from({ length: 25 }, () => paid([100], 499));
	const again = paid([0, 182], 520);
	assert.equal(lastOf(silent[0] as Paid, [...silent, again]), null);
	assert.equal(lastOf(again, silent)?.days, 6 * month);
	// What others with its evt pay says more.
	assert.equal(lastOf(silent[0] as Paid, [...silent, again, ...monthly])?.from, 'event');
});

test('a price that tells nothing itself, since it was paid back, is told by lower ones like any other', () => {
	const others = monthly.map(({ payments }) => ({ evt: 'newsletter', payments }));
	const back: Paid = {
		evt: 'membership',
		payments: [{ atMs: 300 * dayMs, pricePence: 9990, refundedAtMs: 301 * dayMs }],
	};
	const told = lastOf(back, others);
	assert.deepEqual([told?.days, told?.from], [12 * month, 'account']);
});
