/** What users of other products reported of such figures, tried here. The log is in `test/street/README.md`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lifetimeValues } from '../../../src/capabilities/reports/lifetime-value.ts';
import { describeMovement } from '../../../src/capabilities/reports/movement.ts';
import { retainedCohorts, retentionByAge } from '../../../src/capabilities/reports/retention.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { Calendar } from '../../../src/kit/reports/calendar.ts';
import { type CoursedJourney, coursesOf, isPaid } from '../../../src/kit/reports/courses.ts';
import type { Journey } from '../../../src/kit/reports/journey.ts';
import { enginesAboveContract, openFor } from '../../core/store/engines.ts';
import { type Entry, fill, report, sale, visit } from './filled.ts';
import { allTime, day0Ms, journey, touch } from './made-up.ts';

const calendar = new Calendar('UTC');
const monthDays = 365.25 / 12;
const atDay = (day: number) => day0Ms + Math.round(day * dayMs);
/** Paid so many times, each so many days. */
const paid = (
	subid: string,
	from: number,
	times: number,
	pence = 500,
	days = monthDays,
	evt = 'newsletter',
) =>
	journey(
		subid,
		Array.from({ length: times }, (_, n) => [from + n * days, pence] as const),
		[],
		{ evt },
	);

function closing(journeys: readonly CoursedJourney[], asOfMs: number) {
	const spans = calendar.spans('month', day0Ms, asOfMs);
	const rows = describeMovement(journeys, { by: [], spans, asOfMs });
	return { rows: rows.map(({ row }) => row), last: rows.at(-1)?.row };
}

test('who never paid for a trial has not left, and is no recurring revenue', () => {
	const made = [
		...[paid('A', 0, 9), paid('B', 0, 9)],
		...Array.from({ length: 20 }, (_, n) => journey(`T-${n}`, [[5 + n, 0]])),
	];
	const asOfMs = atDay(240);
	const { rows, last } = closing(coursesOf(made, {}, asOfMs), asOfMs);
	assert.deepEqual(new Set(rows.map(({ subscriptions }) => subscriptions.ended)), new Set([0]));
	assert.equal(last?.recurringPence.closing, 1000);
});

test('a plan of two or three years is spread over as many months', () => {
	for (const years of [2, 3]) {
		const made = ['A', 'B', 'C'].map((subid) => paid(subid, 0, 2, 12_000 * years, 365.25 * years, 'long'));
		const asOfMs = atDay(365.25 * years + 100);
		const { last } = closing(coursesOf(made, {}, asOfMs), asOfMs);
		assert.equal(last?.recurringPence.closing, 3000, String(years));
	}
});

test('a first month at a discount is recurring revenue at that price, and the next ones at theirs', () => {
	// Without others who would show that it is the price of a trial.
	const made = [journey('A', [[5, 100], ...[1, 2, 3].map((n) => [5 + n * monthDays, 1500] as const)])];
	const asOfMs = atDay(100);
	const rows = closing(coursesOf(made, { newsletter: 30 }, asOfMs), asOfMs).rows;
	assert.deepEqual(
		rows.slice(0, 2).map(({ recurringPence }) => recurringPence.closing),
		[100, 1500],
	);
	assert.equal(rows[1]?.recurringPence.expansion, 1400);
});

test('the mean of cohorts counts people, also of a cohort of which nobody is left, and no age that is not over', () => {
	const asOfMs = atDay(100);
	const made = [
		...Array.from({ length: 10 }, (_, n) => paid(`A${n}`, 1, n < 2 ? 4 : 1)),
		...Array.from({ length: 100 }, (_, n) => paid(`B${n}`, 32, 1)),
	];
	const journeys = coursesOf(made, { newsletter: 30 }, asOfMs).filter(isPaid);
	const all = retentionByAge(retainedCohorts(journeys, { by: [], asOfMs, calendar }, 24));
	// Until the end of March, 2 of 10 of January's, and none of February's; of April, nothing.
	assert.deepEqual(
		all.map(({ subscriptions, active }) => [subscriptions, active]),
		[
			[110, 110],
			[110, 2],
			[10, 2],
		],
	);
});

test('what was paid back is in no lifetime value', () => {
	const asOfMs = atDay(200);
	const made = [
		journey('A', [
			[0, 2000],
			[40, 1000],
			[50, -1500],
		]),
	];
	const journeys = coursesOf(made, { newsletter: 40 }, asOfMs).filter(isPaid);
	const [row] = lifetimeValues(journeys, { by: [], asOfMs, calendar, months: 3, period: allTime });
	assert.equal(row?.penceToDate, 1500);
});

test('a filter chooses subscriptions by what they were at first, so nobody stays who has not begun', () => {
	const made: Journey[] = Array.from({ length: 30 }, (_, n) => {
		const path = [touch(n % 2 ? 'email' : 'social', -1), touch(n % 3 ? 'social' : 'email', 20)];
		return { ...paid(`S-${n}`, n, 1 + (n % 5)), path };
	});
	const asOfMs = atDay(300);
	const journeys = coursesOf(made, { newsletter: 30 }, asOfMs).filter(isPaid);
	for (const row of retainedCohorts(journeys, { by: ['channel'], asOfMs, calendar }, 24))
		for (const active of row.active) assert.ok((active ?? 0) <= row.subscriptions);
});

for (const engine of enginesAboveContract)
	test(`nobody converts more than once, on ${engine.name}`, async (t) => {
		const store = await openFor(t, await engine.installedAddress(t));
		const buys: Entry[] = [1, 2, 3].flatMap((n) => [
			visit(1, n, `T-${n}`),
			sale(`T-${n}`, `S-${n}`, n + 0.1, 500),
		]);
		const id = await fill(store, 'c-a-acme-uk', [...buys, visit(2, 1, null)]);
		const { rows } = await report(store, id, 'funnel', { asOf: atDay(30) });
		for (const { visitors, began, paid } of rows as readonly Record<string, number>[]) {
			assert.ok((began as number) <= (visitors as number));
			assert.ok((paid as number) <= (began as number));
		}
	});
