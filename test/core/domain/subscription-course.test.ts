import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cadences } from '../../../src/core/domain/subscription-cadence.ts';
import { courseOf, paymentsOf, recurringPenceOf } from '../../../src/core/domain/subscription-course.ts';
import { subscriptionOf } from '../../../src/core/domain/subscription-steps.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { cadenceTableOf } from '../../../src/kit/reading/learned-cadences.ts';

/** How a monthly subscription with these events (day and pence) has gone by a day. */
function course(events: readonly (readonly [day: number, pence: number])[], day: number, cadenceDays = 30) {
	const known = events
		.filter(([at]) => at <= day)
		.map(([at, revenuePence]) => ({
			subid: 'S',
			evt: 'membership',
			atMs: at * dayMs,
			revenuePence,
			shownAtMs: null,
		}));
	const paid = { evt: 'membership', payments: paymentsOf(subscriptionOf(known, null)) };
	const setDays = cadenceDays > 0 ? { membership: cadenceDays } : {};
	const asOfMs = day * dayMs;
	const { movements, dueAtMs, endedAtMs, ...rest } = courseOf(
		paid,
		new Cadences(cadenceTableOf([paid], asOfMs), setDays),
		asOfMs,
	);
	const dayOf = (ms: number | null) => ms && ms / dayMs;
	const moved = movements.map(({ kind, atMs, recurringPence }) => `${kind} ${dayOf(atMs)} ${recurringPence}`);
	return { ...rest, moved, dueDay: dayOf(dueAtMs), endDay: dayOf(endedAtMs) };
}

function stateOn(events: readonly (readonly [number, number])[], day: number, cadenceDays?: number) {
	const { state, dueDay, endDay, recurringPence } = course(events, day, cadenceDays);
	return [state, dueDay, endDay, recurringPence];
}

test('a subscription is active until it is due, at risk for half its period, and then has ended when it was due', () => {
	const once = [[0, 999]] as const;
	assert.deepEqual(stateOn(once, 29), ['active', 30, null, 999]);
	assert.deepEqual(stateOn(once, 30), ['at risk', 30, null, 999]);
	assert.deepEqual(stateOn(once, 44), ['at risk', 30, null, 999]);
	assert.deepEqual(stateOn(once, 45), ['ended', 30, 30, 0]);
	assert.deepEqual(stateOn(once, 380, 365), ['at risk', 365, null, 83]);
	assert.deepEqual(stateOn(once, 395, 365), ['ended', 365, 365, 0]);
});

test('a renewal in time goes on, however late; a later one reactivates', () => {
	assert.deepEqual(course([...[[0, 999] as const], [44, 999]], 50).moved, ['new 0 999']);
	const late = course(
		[
			[0, 999],
			[46, 999],
		],
		50,
	);
	assert.deepEqual(late.moved, ['new 0 999', 'ended 30 0', 'reactivated 46 999']);
	assert.deepEqual([late.state, late.endDay], ['reactivated', null]);
	assert.deepEqual(late.renewed, [true, null]);
});

test('what was paid back ends at once, unless it is paid again in time', () => {
	const back = [
		[0, 999],
		[30, 999],
		[33, -999],
	] as const;
	assert.deepEqual(stateOn(back, 33), ['ended', 60, 33, 0]);
	assert.deepEqual(course(back, 90).moved, ['new 0 999', 'ended 33 0']);
	assert.deepEqual(course([...back, [60, 999]], 61).moved, ['new 0 999']);
	assert.deepEqual(course([...back, [200, 999]], 201).moved, [
		...['new 0 999', 'ended 33 0', 'reactivated 200 999'],
	]);
});

test('a refund of a part, or of an earlier period, ends nothing', () => {
	assert.deepEqual(stateOn([...[[0, 999] as const], [5, -500]], 10), ['active', 30, null, 999]);
	assert.deepEqual(stateOn([...[[0, 999] as const], [50, -999]], 60), ['ended', 30, 30, 0]);
	const both = course(
		[
			[0, 999],
			[20, 999],
			[21, -1998],
		],
		22,
	);
	assert.deepEqual([both.state, both.endDay], ['ended', 21]);
	const early = course(
		[
			[0, 999],
			[20, 999],
			[21, -999],
		],
		22,
	);
	assert.deepEqual([early.state, early.dueDay], ['active', 30]);
});

test('higher and lower prices are expansion and contraction, and a free period is worth nothing', () => {
	const prices = course(
		[
			[0, 0],
			[30, 999],
			[60, 1199],
			[90, 1199],
			[120, 1099],
		],
		121,
	);
	assert.deepEqual(prices.moved, [
		...['new 0 0', 'expansion 30 999', 'expansion 60 1199', 'contraction 120 1099'],
	]);
});

test('payments of one occasion are one', () => {
	const { moved, renewed } = course(
		[
			[0, 999],
			[0.2, 200],
			[30, 1199],
		],
		31,
	);
	assert.deepEqual([moved, renewed], [['new 0 1199'], [null, null]]);
});

test('a refund takes back what was paid on the occasion of a free payment, whatever was refunded before', () => {
	const events = [
		[0, 0],
		[0.1, -500],
		[0.2, 499],
		[0.3, -500],
	] as const;
	assert.deepEqual(stateOn(events, 1), ['ended', 30, 0.2, 0]);
});

test('what was paid for a year is not over because less was paid meanwhile', () => {
	const events = [
		[0, 9990],
		[100, 999],
	] as const;
	const others = [0, 30, 60].map((at) => [at, 999] as const);
	const known = [...events].map(([at, revenuePence]) => ({
		subid: 'S',
		evt: 'membership',
		atMs: at * dayMs,
		revenuePence,
		shownAtMs: null,
	}));
	const paidOf = (all: readonly (readonly [number, number])[]) => ({
		evt: 'membership',
		payments: all.map(([at, pricePence]) => ({ atMs: at * dayMs, pricePence, refundedAtMs: null })),
	});
	const yearly = paidOf([
		[-365, 9990],
		[0, 9990],
	]);
	const paid = { evt: 'membership', payments: paymentsOf(subscriptionOf(known, null)) };
	const asOfMs = 300 * dayMs;
	const cadences = new Cadences(cadenceTableOf([paid, paidOf(others), yearly, yearly], asOfMs), {});
	const { state, dueAtMs } = courseOf(paid, cadences, asOfMs);
	assert.equal(state, 'active');
	assert.ok((dueAtMs as number) > asOfMs);
});

test('where it is unknown how often it is paid, a subscription does not end and has no recurring revenue', () => {
	assert.deepEqual(stateOn([[0, 999]], 5000, 0), ['active', null, null, 0]);
	assert.deepEqual(stateOn([...[[0, 999] as const], [3, -999]], 4, 0), ['ended', null, 3, 0]);
});

test('recurring revenue is per month: of a year a twelfth, of four weeks and other times in proportion', () => {
	assert.deepEqual(
		[30, 31, 28.6, 91, 182, 365, 28, 7].map((days) => recurringPenceOf(1200, days)),
		[1200, 1200, 1200, 400, 200, 100, 1304, Math.round((1200 * 365.25) / 12 / 7)],
	);
});

test('a refund that came before its sale pays it back, at whatever time each came', () => {
	const refundFirst = [
		[0, -999],
		[1, 999],
	] as const;
	assert.deepEqual(stateOn(refundFirst, 5), ['ended', 31, 1, 0]);
	assert.deepEqual(course(refundFirst, 5).moved, ['new 1 999', 'ended 1 0']);
	// A part of it, and one that is more than the first payment.
	assert.deepEqual(stateOn([...[[0, -500] as const], [1, 999]], 5), ['active', 31, null, 999]);
	assert.deepEqual(course([...[[0, -1998] as const], [1, 999], [31, 999]], 32).state, 'ended');
	// After a free period too, which stays free.
	const trial = [
		[0, 0],
		[10, -999],
		[14, 999],
	] as const;
	assert.deepEqual(stateOn(trial, 15)[0], 'active');
	assert.deepEqual(stateOn(trial, 46)[0], 'ended');
});

test('what a refund is above all that was paid is not taken from later payments', () => {
	assert.deepEqual(stateOn([...[[0, 999] as const], [1, -5000], [40, 999]], 41)[0], 'active');
});

test('of events of one moment, a sale comes before its refund, in whatever order they are stored', () => {
	for (const order of [
		[999, -999],
		[-999, 999],
	])
		assert.equal(
			stateOn(
				order.map((pence) => [3, pence] as const),
				5,
			)[0],
			'ended',
			String(order),
		);
});
