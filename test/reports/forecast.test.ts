import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { dayMs } from '../../src/durations.ts';
import { cameSince, forecast, type PaidSubscription } from '../../src/reports/forecast.ts';
import { seededRandom } from '../../src/scoring/rows/random.ts';
import { cdnowSample } from './cdnow.ts';
import { forecastCdnow, judged } from './forecast-cdnow.ts';
import { day0Ms } from './made-up.ts';

/** Monthly subscriptions, five a day for 500 days; of those who are due, one of ten does not renew, and one of thirty is refunded. */
function business(seed: number): PaidSubscription[] {
	const random = seededRandom(seed);
	return Array.from({ length: 2500 }, () => {
		const steps: { kind: 'acquisition' | 'renewal' | 'refund'; atMs: number; revenuePence: number }[] = [];
		let atMs = day0Ms + random() * 500 * dayMs;
		steps.push({ kind: 'acquisition', atMs, revenuePence: 1000 });
		if (random() < 1 / 30) steps.push({ kind: 'refund', atMs: atMs + dayMs, revenuePence: -1000 });
		else
			for (atMs += 30 * dayMs; random() < 0.9; atMs += 30 * dayMs)
				steps.push({ kind: 'renewal', atMs, revenuePence: 1000 });
		return { steps };
	});
}

test('what comes of a steady business is near its forecast, and within the bounds', () => {
	for (const seed of [1, 2, 3]) {
		const all = business(seed);
		const asOfMs = day0Ms + 400 * dayMs;
		const made = forecast(all, asOfMs, 90);
		const came = cameSince(all, asOfMs, asOfMs + 90 * dayMs);
		for (const part of ['acquisitions', 'renewals of present', 'net'] as const) {
			const { pence, lowPence, highPence } = made[part];
			assert.ok(lowPence <= pence && pence <= highPence, part);
			assert.ok(Math.abs(pence / came[part] - 1) < 0.15, `${part}: ${pence}, ${came[part]}`);
		}
		assert.ok(made.net.lowPence <= came.net && came.net <= made.net.highPence);
		assert.deepEqual(forecast(all, asOfMs, 90), made);
		const before = all.map(({ steps }) => ({ steps: steps.filter(({ atMs }) => atMs < asOfMs) }));
		assert.deepEqual(forecast(before, asOfMs, 90), made, 'nothing later is used');
	}
});

test('nothing is forecast from nothing', () => {
	const { net } = forecast([], day0Ms, 90);
	assert.deepEqual(net, { pence: 0, lowPence: 0, highPence: 0 });
});

test('on a tenth of CDNOW forecasts are nearer than the last 90 days, and than a year ago', {
	skip: !existsSync(cdnowSample) && 'the data is absent',
}, () => {
	const cuts = forecastCdnow(cdnowSample);
	const { forecast: own, byLast, bySeason, covered } = judged(cuts);
	assert.ok(own < byLast && own < bySeason, `${own} of ${byLast}, ${bySeason}`);
	assert.ok(covered >= 0.6, String(covered));
});
