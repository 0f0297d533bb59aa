import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { describeMovement, type MovementRow } from '../../../src/capabilities/reports/movement.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { Calendar } from '../../../src/kit/reports/calendar.ts';
import { type CoursedJourney, coursesOf } from '../../../src/kit/reports/courses.ts';
import type { Grouping } from '../../../src/kit/reports/label.ts';
import { examples } from '../../quick.ts';
import { day0Ms, journey, madeUpJourneys, touch } from './made-up.ts';

const utc = new Calendar('UTC');
const setDays = { newsletter: 30 };

function movement(journeys: readonly CoursedJourney[], asOfMs: number, by: Grouping = [], calendar = utc) {
	return describeMovement(journeys, { by, asOfMs, spans: calendar.spans('month', day0Ms, asOfMs) });
}

test('a month opens with what the month before closed with, and tells what came and went', () => {
	const asOfMs = Date.UTC(2026, 4, 10);
	const journeys = coursesOf(
		[
			journey('A', [
				[0, 500],
				[30, 600],
				[61, 600],
				[91, 600],
				[121, 600],
			]),
			journey('B', [
				[14, 1000],
				[15, -300],
			]),
			journey('C', [
				[40, 700],
				[110, 400],
			]),
		],
		setDays,
		asOfMs,
	);
	const rows = movement(journeys, asOfMs);
	assert.deepEqual(
		rows.map(({ span, row: { subscriptions: of } }) => [
			span.name,
			...[of.opening, of.new, of.reactivated, of.ended, of.closing, of.recovered],
		]),
		[
			// Opening, new, reactivated, ended, closing, recovered.
			['2026-01', 0, 2, 0, 0, 2, 0],
			['2026-02', 2, 1, 0, 1, 2, 0],
			['2026-03', 2, 0, 0, 1, 1, 0],
			['2026-04', 1, 0, 1, 0, 2, 0],
			['2026-05', 2, 0, 0, 0, 2, 0],
		],
	);
	assert.deepEqual(rows[1]?.row, {
		subscriptions: {
			opening: 2,
			new: 1,
			reactivated: 0,
			ended: 1,
			cancelled: 0,
			lapsed: 1,
			closing: 2,
			recovered: 0,
		},
		recurringPence: {
			opening: 1600,
			new: 700,
			reactivated: 0,
			expansion: 0,
			contraction: 0,
			ended: 1000,
			cancelled: 0,
			lapsed: 1000,
			closing: 1300,
		},
		refundPence: 0,
		subscriptionChurn: 0.5,
		grossRevenueRetention: 0.375,
		netRevenueRetention: 0.375,
		customers: { opening: 2, new: 1, reactivated: 0, ended: 1, cancelled: 0, lapsed: 1, closing: 2 },
		customerChurn: 0.5,
		customerNetRevenueRetention: 0.375,
		provisional: null,
	});
	const january = rows[0]?.row;
	assert.deepEqual([january?.refundPence, january?.recurringPence.expansion], [-300, 100]);
	assert.deepEqual([january?.subscriptionChurn, january?.netRevenueRetention], [null, null]);
});

test('who comes and goes in a month has not left those that were there', () => {
	const asOfMs = Date.UTC(2026, 2, 20);
	const journeys = coursesOf(
		[
			journey('A', [
				[0, 500],
				[30, 500],
				[60, 500],
			]),
			journey('B', [
				[35, 500],
				[37, -500],
			]),
		],
		setDays,
		asOfMs,
	);
	const february = movement(journeys, asOfMs)[1]?.row;
	assert.deepEqual(february?.subscriptions, {
		opening: 1,
		new: 1,
		reactivated: 0,
		ended: 1,
		// It was paid back.
		cancelled: 1,
		lapsed: 0,
		closing: 1,
		recovered: 0,
	});
	assert.deepEqual([february?.subscriptionChurn, february?.netRevenueRetention], [0, 1]);
});

/** What is there at a moment, from the courses themselves. */
function standing(journeys: readonly CoursedJourney[], ms: number) {
	const there = journeys.flatMap(({ course }) => {
		const last = course?.movements.findLast(({ atMs }) => atMs < ms);
		return last && last.kind !== 'ended' ? [last.recurringPence] : [];
	});
	return [there.length, there.reduce((sum, pence) => sum + pence, 0)];
}

test('opening and movements are closing, exactly, in every zone, group and period, and groups add up', () => {
	const zones = fc.constantFrom('UTC', 'Europe/London', 'Pacific/Kiritimati', 'America/St_Johns');
	const by = fc.constantFrom<Grouping>([], ['channel'], ['evt', 'price'], ['channel', 'price']);
	fc.assert(
		fc.property(
			madeUpJourneys,
			zones,
			by,
			fc.integer({ min: 90, max: 500 }),
			(made, zone, dimensions, day) => {
				const calendar = new Calendar(zone);
				const asOfMs = day0Ms + day * dayMs;
				const known = made.filter(({ subscription: { steps } }) => steps.every(({ atMs }) => atMs <= asOfMs));
				const journeys = coursesOf(known, {}, asOfMs);
				const rows = movement(journeys, asOfMs, dimensions, calendar);
				const closings = new Map<string, MovementRow>();
				for (const { values, row } of rows) {
					const { subscriptions: of, recurringPence: pence } = row;
					assert.equal(of.opening + of.new + of.reactivated - of.ended, of.closing);
					assert.equal(
						pence.opening + pence.new + pence.reactivated + pence.expansion - pence.contraction - pence.ended,
						pence.closing,
					);
					const before = closings.get(JSON.stringify(values));
					assert.equal(of.opening, before?.subscriptions.closing ?? 0);
					assert.equal(pence.opening, before?.recurringPence.closing ?? 0);
					closings.set(JSON.stringify(values), row);
				}
				for (const span of calendar.spans('month', day0Ms, asOfMs)) {
					const own = rows.filter((row) => row.span.name === span.name).map(({ row }) => row);
					const sum = (of: (row: MovementRow) => number) => own.reduce((total, row) => total + of(row), 0);
					const closing = [sum((row) => row.subscriptions.closing), sum((row) => row.recurringPence.closing)];
					assert.deepEqual(closing, standing(journeys, span.toMs));
				}
				const refunded = made.length === known.length;
				const refunds = known
					.flatMap(({ subscription: { steps } }) => steps)
					.reduce((sum, { revenuePence }) => sum + Math.min(0, revenuePence), 0);
				if (refunded)
					assert.equal(
						rows.reduce((sum, { row }) => sum + row.refundPence, 0),
						refunds,
					);
			},
		),
		{ numRuns: examples(60) },
	);
});

test('weeks begin on Monday in the time zone of the report', () => {
	const auckland = new Calendar('Pacific/Auckland');
	const spans = auckland.spans('week', Date.UTC(2026, 8, 24, 12), Date.UTC(2026, 9, 1));
	assert.deepEqual(
		spans.map(({ name, fromMs, toMs }) => [name, (toMs - fromMs) / dayMs]),
		// Summer time begins on the 27th.
		[
			['2026-09-21', 7 - 1 / 24],
			['2026-09-28', 7],
		],
	);
});

test('rows are by the first touch, the evt and the first price, and by price and channel together', () => {
	const asOfMs = day0Ms + 10 * dayMs;
	const journeys = coursesOf(
		[
			journey(
				'A',
				[
					[0, 0],
					[3, 499],
				],
				[touch('email', 0)],
			),
			journey('B', [[0, 4990]]),
		],
		setDays,
		asOfMs,
	);
	const values = (by: Grouping) => movement(journeys, asOfMs, by).map((row) => row.values);
	assert.deepEqual(values(['channel', 'price']), [
		{ channel: '(none)', pricePence: 4990 },
		{ channel: 'email', pricePence: 499 },
	]);
	assert.deepEqual(values(['evt']), [{ evt: 'newsletter' }]);
});
