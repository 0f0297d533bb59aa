import assert from 'node:assert/strict';
import { test } from 'node:test';
import { levelShifts, rateOf } from '../../../../src/capabilities/training/judge/level.ts';
import { recentRows } from '../../../../src/capabilities/training/rows/recent-rows.ts';
import { dayMs } from '../../../../src/core/durations.ts';
import { logistic, logOddsOfProbability } from '../../../../src/core/scoring/model/log-odds.ts';
import { smoothedRate } from '../../../../src/core/scoring/serve/served-rate.ts';

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

test('a level is that of the latest fifth, or of more rows until the rate is reliable', () => {
	const steady = rows(30, () => 3);
	const [present = new Uint32Array(), absent = new Uint32Array()] = recentRows(steady);
	assert.equal(daysOf(steady, present), 6);
	assert.equal(daysOf(steady, absent), 20, 'until there are 20 visitors of either outcome');
	const crowded = rows(60, () => 3);
	assert.equal(daysOf(crowded, recentRows(crowded)[0] ?? new Uint32Array()), 12);
});

test('each recency is at its own rate, as far as its rows prove it', () => {
	const timed = rows(60, () => 3);
	const recent = recentRows(timed);
	const logOdds = new Float64Array(timed.labels.length).fill(logOddsOfProbability(0.5));
	const rateAt = (shift = 0) => logistic(logOddsOfProbability(0.5) + shift);
	const [present, absent, longAbsent] = levelShifts(recent, logOdds, timed).map(rateAt);
	assert.ok(Math.abs((present ?? 0) - 0.3) < 0.01 && Math.abs((absent ?? 0) - 0.05) < 0.02);
	assert.ok((longAbsent ?? 0) > 0.1 && (longAbsent ?? 0) < 0.3, 'without rows, the level of all');
	assert.equal(rateOf(new Uint8Array(9)), 0.05);
});

test('a rate without conversions is small, but not impossible', () => {
	assert.ok(smoothedRate(0, 400, 0.003) > 0.0005 && smoothedRate(0, 400, 0.003) < 0.003);
	assert.equal(smoothedRate(0, 0, 0.003), 0.003);
	assert.ok(Math.abs(smoothedRate(300, 1000, 0.1) - 0.298) < 0.001);
});
