import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeMovement } from '../../../src/capabilities/reports/movement.ts';
import { projectionOf, Renewals } from '../../../src/capabilities/reports/projection.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { Calendar } from '../../../src/kit/reports/calendar.ts';
import { coursesOf, isPaid, notesOf, warningsOf } from '../../../src/kit/reports/courses.ts';
import { renewalPeriods } from '../../../src/kit/reports/report-query.ts';
import { day0Ms, journey } from './made-up.ts';

const asOfMs = day0Ms + 1000 * dayMs;
const monthly = (subid: string) =>
	journey(
		subid,
		Array.from({ length: 33 }, (_, n) => [n * 30.4375, 499] as const).map(([day, pence]) => [
			Math.floor(day),
			pence,
		]),
	);
const all = [...['A', 'B', 'C'].map(monthly), journey('L', [[10, 14_900]], [], { evt: 'lifetime' })];

test('what is paid once has no recurring revenue, never ends, and is told apart', () => {
	const journeys = coursesOf(all, renewalPeriods('lifetime=never'), asOfMs);
	const spans = new Calendar('UTC').spans('month', day0Ms, asOfMs);
	const { row } = describeMovement(journeys, { by: [], spans, asOfMs }).at(-1) as {
		row: { subscriptions: object; recurringPence: object };
	};
	const { closing } = row.recurringPence as { closing: number };
	assert.deepEqual([closing, (row.subscriptions as { closing: number }).closing], [3 * 499, 4]);
	assert.deepEqual(warningsOf(journeys).join(), '');
	assert.match(notesOf(journeys).join(), /^1 subscription is paid once, so it never ends/);
});

test('nothing more is expected of what is paid once', () => {
	const madeUp = Array.from({ length: 30 }, (_, place) =>
		journey(`L${place}`, [[10 * place, 14_900]], [], { evt: 'lifetime' }),
	);
	const atMs = day0Ms + 300 * dayMs;
	const journeys = coursesOf(madeUp, renewalPeriods('lifetime=never'), atMs).filter(isPaid);
	const { pence, highPence } = projectionOf(journeys, new Renewals(journeys, atMs), atMs);
	assert.deepEqual([pence, highPence], [0, 0]);
});

test('a cadence that is taken from others is told, with the command that says better', () => {
	const warnings = warningsOf(coursesOf(all, {}, day0Ms + 700 * dayMs)).join(' ');
	assert.match(
		warnings,
		/event type lifetime has been renewed yet, so 1 subscription is .* every 731 days.*--renewal-days lifetime=never/,
	);
	assert.doesNotMatch(warningsOf(coursesOf(all, { lifetime: 365 }, asOfMs)).join(), /has been renewed yet/);
});

test('renewal days are a number or never', () => {
	assert.deepEqual(renewalPeriods('a,b=30,lifetime=never,c=7'), { 'a,b': 30, lifetime: 'never', c: 7 });
	assert.throws(() => renewalPeriods('a=0'), /or never, such as lifetime=never/);
});
