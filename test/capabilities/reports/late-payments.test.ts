import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeMovement } from '../../../src/capabilities/reports/movement.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { seededRandom } from '../../../src/kit/random.ts';
import { Calendar } from '../../../src/kit/reports/calendar.ts';
import { coursesOf } from '../../../src/kit/reports/courses.ts';
import { some } from '../../quick.ts';
import { day0Ms, journey } from './made-up.ts';

const utc = new Calendar('UTC');
const asOfDay = (day: number) => day0Ms + day * dayMs;

interface Late {
	readonly every: number;
	readonly lateDays: number;
	readonly churn: number;
	/** Whether the next due day is as if it had been paid in time. */
	readonly keepsDay: boolean;
}

const days = 720;

/** Subscriptions of which a tenth of the renewals come late, with the truth about them. */
function simulated({ every, lateDays, churn, keepsDay }: Late) {
	const random = seededRandom(5);
	const truth: { fromDay: number; toDay: number }[] = [];
	let recovered = 0;
	const journeys = Array.from({ length: 2000 }, (_, n) => {
		const began = Math.floor(random() * days * 64) / 64;
		const payments: [number, number][] = [];
		let [due, paid] = [began, began];
		while (paid < days) {
			payments.push([paid, 499]);
			if (paid > due + 1) recovered++;
			due = (keepsDay ? due : paid) + every;
			if (random() < churn) break;
			paid = due + (random() < 0.1 ? lateDays : 0);
		}
		truth.push({ fromDay: began, toDay: paid < days && due < days ? due : Number.POSITIVE_INFINITY });
		return journey(`S-${n}`, payments);
	});
	return { journeys, truth, recovered };
}

for (const keepsDay of [false, true])
	for (const late of some(
		[
			{ every: 30, lateDays: 9, churn: 0.05 },
			{ every: 30, lateDays: 17, churn: 0.05 },
			{ every: 7, lateDays: 9, churn: 0.035 },
		],
		3,
	))
		test(`paid every ${late.every} days, a tenth ${late.lateDays} days late${keepsDay ? ', on the days as before' : ''}: late is not gone`, () => {
			const { journeys, truth, recovered } = simulated({ ...late, keepsDay });
			const asOfMs = asOfDay(days);
			const spans = utc.spans('month', day0Ms, asOfMs).slice(0, -3);
			const rows = describeMovement(coursesOf(journeys, {}, asOfMs), { by: [], spans, asOfMs });
			let [churn, told, reactivated] = [0, 0, 0];
			for (const { row, span } of rows.slice(6)) {
				const [from, to] = [(span.fromMs - day0Ms) / dayMs, (span.toMs - day0Ms) / dayMs];
				const there = truth.filter(({ fromDay, toDay }) => fromDay < from && toDay >= from);
				churn += there.filter(({ toDay }) => toDay < to).length / there.length;
				told += row.subscriptionChurn as number;
				reactivated += row.subscriptions.reactivated;
				if (keepsDay) continue;
				const closing = truth.filter(({ fromDay, toDay }) => fromDay < to && toDay >= to).length;
				assert.ok(Math.abs(row.subscriptions.closing / closing - 1) <= 0.005);
			}
			const months = rows.length - 6;
			// A few who paid late each time seem to have a cadence of their own.
			assert.ok(reactivated <= 0.02 * truth.length, `${reactivated} reactivated`);
			// Who pays late on the days as before, and then leaves, is taken to have paid from the late day on.
			assert.ok(
				Math.abs(told - churn) / months <= (keepsDay ? 0.003 : 0.002),
				`${told / months} told, ${churn / months}`,
			);
			const all = describeMovement(coursesOf(journeys, {}, asOfMs), {
				by: [],
				spans: utc.spans('month', day0Ms, asOfMs),
				asOfMs,
			});
			const toldRecovered = all.reduce((sum, { row }) => sum + row.subscriptions.recovered, 0);
			if (!keepsDay) assert.ok(Math.abs(toldRecovered / recovered - 1) < 0.01);
		});

const once = (day: number) =>
	journey('S', [
		[0, 499],
		[30, 499],
		[day, 499],
	]);
const stateOf = (day: number, asOf: number, graceDays = {}) =>
	coursesOf([once(day)], { newsletter: 30 }, asOfDay(asOf), { graceDays })[0]?.course;

test('the days of grace that an account has set decide, whatever was learned', () => {
	assert.equal(stateOf(30, 60 + 20)?.state, 'ended');
	assert.equal(stateOf(30, 60 + 20, { newsletter: 21 })?.state, 'at risk');
	assert.equal(stateOf(30, 60 + 21, { newsletter: 21 })?.state, 'ended');
	assert.equal(stateOf(30, 60, { newsletter: 0 })?.state, 'ended');
	assert.deepEqual(
		[stateOf(80, 82)?.state, stateOf(80, 82, { newsletter: 21 })?.state],
		['reactivated', 'active'],
	);
	assert.deepEqual(stateOf(80, 82, { newsletter: 21 })?.recoveredAtMs, [asOfDay(80)]);
});

test('a renewal that is missing is not late, and few late ones are no rule', () => {
	const asOfMs = asOfDay(400);
	const missing = Array.from({ length: 40 }, (_, n) =>
		journey(
			`S-${n}`,
			[0, 30, 60, 120, 150, 180].map((day) => [day + n, 499] as const),
		),
	);
	const few = Array.from({ length: 4 }, (_, n) =>
		journey(
			`L-${n}`,
			[0, 30, 78, 108].map((day) => [day + n, 499] as const),
		),
	);
	for (const { course } of coursesOf([...missing, ...few], {}, asOfMs))
		assert.ok(course?.movements.some(({ kind }) => kind === 'reactivated'));
});

test('a refund of the unused share ends what was paid, and that of another part does not', () => {
	const annual = (day: number, refundPence: number, days = 365.25) =>
		coursesOf(
			[
				journey('S', [
					[0, 4990],
					[day, -refundPence],
				]),
			],
			{ newsletter: days },
			asOfDay(day + 1),
		)[0]?.course?.state;
	assert.equal(annual(91, 3742), 'ended');
	// Of the eight whole months that are left.
	assert.equal(annual(110, Math.round((4990 * 8) / 12)), 'ended');
	assert.equal(annual(91, 1000), 'active');
	assert.equal(annual(355, 130), 'active');
	assert.equal(annual(15, 2495, 30), 'ended');
	assert.equal(annual(5, 2495, 30), 'active');
});
