import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayMs, hourMs } from '../../../src/core/durations.ts';
import { calendarOf } from '../../../src/kit/reports/calendar.ts';
import { lifeLine } from '../../../src/kit/reports/life-line.ts';

/** What the axis names, by its place from the left. */
function axisOf(fromMs: number, toMs: number): [day: string, x: number][] {
	const picture = String(
		lifeLine({
			title: 'Timeline',
			fromMs,
			toMs,
			calendar: calendarOf('Europe/London'),
			levels: [],
			lanes: [],
		}),
	);
	return [...picture.matchAll(/<text x="([\d.]+)"[^>]*>(\d{4}-\d\d-\d\d)</g)].map(([, x, day]) => [
		day as string,
		Number(x),
	]);
}

test('days on the axis of a life stand where they begin, in the account’s time zone', () => {
	const from = Date.parse('2026-10-22T07:00:00Z');
	const [first, ...others] = axisOf(from, from + 5 * dayMs);
	assert.deepEqual(first, ['2026-10-22', 150]);
	assert.deepEqual(
		others.map(([day]) => day),
		['2026-10-23', '2026-10-24', '2026-10-25', '2026-10-26', '2026-10-27'],
	);
	// The day on which clocks go back has 25 hours.
	const hours = others.slice(1).map(([, x], place) => (x - (others[place]?.[1] ?? 0)) / (880 / (5 * 24)));
	assert.deepEqual(hours.map(Math.round), [24, 24, 25, 24]);
});

test('of many days some are named, and of an hour one', () => {
	const from = Date.parse('2026-01-01T00:00:00Z');
	const names = axisOf(from, from + 300 * dayMs);
	assert.ok(names.length <= 8);
	assert.equal(names[1]?.[0], '2026-02-08');
	assert.deepEqual(axisOf(from + hourMs, from + 2 * hourMs), [['2026-01-01', 150]]);
});
