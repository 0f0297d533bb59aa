import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayMs } from '../../src/durations.ts';
import { smoothedRate } from '../../src/scoring/base-rate.ts';
import { levelLines, rateOf, recentRows } from '../../src/scoring/level.ts';
import { logistic, logOddsOfProbability, mean } from '../../src/scoring/measure.ts';

/** A row of a visitor of its own for each day and recency: 50 present ones at 30 %, 20 absent ones at 5 %. */
function rows(days: number) {
	const all = Array.from({ length: days }, (_, day) => [
		...Array.from({ length: 50 }, (_row, row) => ({ day, recency: 0, label: row % 10 < 3 ? 1 : 0 })),
		...Array.from({ length: 20 }, (_row, row) => ({ day, recency: 1, label: row === 0 ? 1 : 0 })),
	]).flat();
	return {
		atMs: Float64Array.from(all, ({ day }) => day * dayMs),
		labels: Uint8Array.from(all, ({ label }) => label),
		groups: Uint32Array.from(all.keys()),
		recency: Uint8Array.from(all, ({ recency }) => recency),
	};
}

test('a level goes back until its rate is reliable; few conversions need more than the latest fifth', () => {
	const timed = rows(30);
	const recent = recentRows(timed, timed.labels.length);
	const daysOf = (places: Uint32Array) => new Set(Array.from(places, (place) => timed.atMs[place])).size;
	assert.equal(daysOf(recent[0]), 6, 'the latest fifth, as it has 90 conversions');
	assert.equal(daysOf(recent[1]), 20, 'until there are 20 conversions');
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
