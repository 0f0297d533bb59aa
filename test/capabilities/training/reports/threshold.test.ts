import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LaterMeasures } from '../../../../src/capabilities/training/judge/report.ts';
import type { BestCut } from '../../../../src/capabilities/training/reports/threshold.ts';
import { bestCut } from '../../../../src/capabilities/training/reports/threshold.ts';
import { rocCurve } from '../../../../src/core/scoring/fit/measure.ts';
import { seededRandom } from '../../../../src/core/scoring/rows/random.ts';
import { compileRule } from '../../../../src/core/segments/rule.ts';
import { enginesAboveContract, openAccountOn } from '../../../core/store/engines.ts';
import { report } from '../../reports/filled.ts';
import { keepJudgedModel } from '../../reports/judged-model.ts';

const worth = { costPence: 100, valuePence: 500 };

/** Held-out rows whose scores are true. */
function judged(rows: number, seed: number): LaterMeasures {
	const random = seededRandom(seed);
	const scores = Float64Array.from({ length: rows }, () => random() ** 2);
	const labels = Uint8Array.from(scores, (score) => (random() < score ? 1 : 0));
	const conversions = labels.reduce((sum, label) => sum + label, 0);
	const counts = { rows, visitors: rows, conversions, convertedRows: conversions };
	return { ...counts, roc: rocCurve(labels, scores) } as unknown as LaterMeasures;
}

test('with true scores the best cut is the cost by the value, within its interval', () => {
	let within = 0;
	for (let seed = 1; seed <= 40; seed++) {
		const best = bestCut('subscription', judged(2000, seed), worth) as BestCut;
		assert.ok(Math.abs(best.cut - 0.2) < 0.15, String(best.cut));
		assert.ok(best.profitLowPence <= best.profitPence && best.profitPence <= best.profitHighPence);
		if (best.cutLow <= 0.2 && 0.2 <= best.cutHigh) within++;
	}
	assert.ok(within >= 36, String(within));
});

test('the interval of the best cut is rounded as the cut is, so it holds it', () => {
	const roc = [
		{ truePositives: 0, falsePositives: 0 },
		{ score: 0.00766, truePositives: 1, falsePositives: 0.01 },
		{ score: 0, truePositives: 1, falsePositives: 1 },
	];
	const counts = { rows: 2000, visitors: 2000, conversions: 200, convertedRows: 200 };
	const best = bestCut('subscription', { ...counts, roc } as unknown as LaterMeasures, worth) as BestCut;
	assert.deepEqual([best.cutLow, best.cut, best.cutHigh], [0.0076, 0.0076, 0.0076]);
});

test('where no score pays, nobody is to be treated', () => {
	assert.equal(bestCut('subscription', judged(2000, 1), { costPence: 600, valuePence: 500 }), undefined);
});

for (const engine of enginesAboveContract)
	test(`the rule of the best cut is one for segments, and models must have been judged, on ${engine.name}`, async () => {
		const { store, accountId } = await openAccountOn(engine);
		const asked = { goal: 'subscription', cost: 100, value: 500 };
		const empty = await report(store, accountId, 'threshold', asked);
		assert.deepEqual([empty.rows, empty.best], [[], null]);
		assert.match(empty.warnings?.[0] ?? '', /no active model/);
		await keepJudgedModel(store, accountId);
		const { best, rows } = await report(store, accountId, 'threshold', asked);
		const { rule } = best as BestCut;
		assert.equal(rule, 'scores["subscription"] >= 0.5000');
		assert.ok(compileRule(rule, ['subscription']).readsScores);
		assert.equal(rows.length, 3);
		const model = { goal: 'return', scope: 'vid', body: '{}', report: '{}' } as const;
		await store.control.insertModel(accountId, model, 'activate it');
		await assert.rejects(
			report(store, accountId, 'threshold', { goal: 'return' }),
			/run 'caskade train' again/,
		);
	});
