import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServedSample } from '../../../../src/capabilities/training/serve/served-sample.ts';
import type { ServedScore } from '../../../../src/capabilities/training/store/served-scores.ts';
import { dayMs } from '../../../../src/core/durations.ts';
import type { GoalScore } from '../../../../src/core/scoring/serve/score-reference.ts';
import { seededRandom } from '../../../../src/kit/random.ts';

const noonMs = Date.UTC(2026, 10, 23, 12);
const told = (band: GoalScore['band'], score: number, goal = 'subscription'): GoalScore => ({
	goal,
	score,
	band,
	percentile: 50,
	model: 'prior',
});

function sampled() {
	const kept: ServedScore[] = [];
	const sample = new ServedSample({
		keep: (_, scores) => kept.push(...scores),
		random: seededRandom(1),
	});
	return { sample, kept };
}

test('all scores are kept of few reads, one row for each goal', () => {
	const { sample, kept } = sampled();
	sample.add(1, 'v1', [told('high', 0.1234567), told('low', 0.5, 'return')], noonMs + 0.5);
	assert.deepEqual(kept, []);
	sample.stop();
	assert.deepEqual(kept, [
		{ vid: 'v1', goal: 'subscription', atMs: noonMs, band: 'high', millionths: 123457 },
		{ vid: 'v1', goal: 'return', atMs: noonMs, band: 'low', millionths: 500000 },
	]);
});

test('of many reads each band has its share, over the whole day, and the next day begins anew', () => {
	const { sample, kept } = sampled();
	const reads = 200_000;
	for (let read = 0; read < reads; read++) {
		const band = read % 100 === 0 ? 'high' : 'low';
		sample.add(1, `v${read}`, [told(band, 0.1)], noonMs + Math.floor((read / reads) * dayMs * 0.4));
		if (read % 10_000 === 0) sample.flush();
	}
	sample.flush();
	const of = (band: string) => kept.filter((one) => one.band === band);
	assert.ok(of('high').length > 600 && of('high').length <= 1500, String(of('high').length));
	assert.ok(of('low').length > 666 && of('low').length < 5000, String(of('low').length));
	const late = of('low').filter(({ atMs }) => atMs > noonMs + 0.2 * dayMs);
	assert.ok(late.length > 200, String(late.length));
	const before = kept.length;
	sample.add(1, 'next', [told('low', 0.1)], noonMs + dayMs);
	sample.stop();
	assert.equal(kept.length, before + 1);
});
