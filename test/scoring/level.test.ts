import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayMs } from '../../src/durations.ts';
import { smoothedRate } from '../../src/scoring/base-rate.ts';
import { levelLines, rateOf, recentRows } from '../../src/scoring/level.ts';
import { logistic, logOddsOfProbability, mean } from '../../src/scoring/measure.ts';

/** A row of a visitor of its own for each day and recency: 50 present ones, 20 absent ones at 5 %. */
function rows(days: number, tenths: (day: number) => number) {
	const all = Array.from({ length: days }, (_, day) => [
		...Array.from({ length: 50 }, (_row, row) => ({
			day,
			recency: 0,
			label: row % 10 < tenths(day) ? 1 : 0,
		})),
		...Array.from({ length: 20 }, (_row, row) => ({ day, recency: 1, label: row === 0 ? 1 : 0 })),
	]).flat();
	return {
		atMs: Float64Array.from(all, ({ day }) => day * dayMs),
		labels: Uint8Array.from(all, ({ label }) => label),
		groups: Uint32Array.from(all.keys()),
		recency: Uint8Array.from(all, ({ recency }) => recency),
	};
}

function daysOf({ atMs }: { readonly atMs: Float64Array }, places: Uint32Array): number {
	return new Set(Array.from(places, (place) => atMs[place])).size;
}

test('a level goes back until its rate is reliable, but not beyond a change', () => {
	const changed = rows(30, (day) => (day < 24 ? 1 : 3));
	const [present, absent] = recentRows(changed, changed.labels.length);
	assert.equal(daysOf(changed, present), 6, 'the latest fifth: before that the rate was another');
	assert.equal(daysOf(changed, absent), 30, 'all days, as their rate is the same');
	const rising = rows(30, (day) => (day < 20 ? 1 : 3));
	assert.ok(daysOf(rising, recentRows(rising, rising.labels.length)[0]) <= 12);
	const timed = rows(30, () => 3);
	const recent = recentRows(timed, timed.labels.length);
	assert.equal(daysOf(timed, recent[0]), 24, 'more than the latest fifth has only 90 conversions');
	const logOdds = new Float64Array(timed.labels.length).fill(logOddsOfProbability(0.5));
	const lines = levelLines(recent, logOdds, timed.labels, [1, 1, 1]);
	const said = (recency: 0 | 1) =>
		mean(
			Array.from(recent[recency], (row) => logistic((logOdds[row] ?? 0) + (lines[recency]?.intercept ?? 0))),
		);
	assert.ok(Math.abs(said(0) - 0.3) < 1e-6 && Math.abs(said(1) - 0.05) < 1e-6, 'each at its own rate');
	assert.equal(rateOf(new Uint8Array(9)), 0.05);
});

test('a rate without conversions is small, but not impossible', () => {
	assert.ok(smoothedRate(0, 400, 0.003) > 0.0005 && smoothedRate(0, 400, 0.003) < 0.003);
	assert.equal(smoothedRate(0, 0, 0.003), 0.003);
	assert.ok(Math.abs(smoothedRate(300, 1000, 0.1) - 0.298) < 0.001);
});
