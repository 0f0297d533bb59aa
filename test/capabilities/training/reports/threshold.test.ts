import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rocCurve } from '../../../../src/capabilities/training/fit/measure.ts';
import { train } from '../../../../src/capabilities/training/judge/train.ts';
import type { LaterMeasures } from '../../../../src/capabilities/training/judge/training-report.ts';
import type { BestCut } from '../../../../src/capabilities/training/reports/threshold.ts';
import { bestCut } from '../../../../src/capabilities/training/reports/threshold.ts';
import { DatasetBuilder } from '../../../../src/capabilities/training/rows/dataset.ts';
import { featureSet } from '../../../../src/core/scoring/rows/features.ts';
import { compileRule } from '../../../../src/core/segments/rule.ts';
import { seededRandom } from '../../../../src/kit/random.ts';
import { enginesAboveContract, openAccountOn } from '../../../core/store/engines.ts';
import { takesLong } from '../../../quick.ts';
import { report } from '../../reports/filled.ts';
import { keepJudgedModel } from '../../reports/judged-model.ts';

const worth = { costPence: 100, valuePence: 500 };

/** Held-out rows whose scores are true. */
function judged(rows: number, seed: number): LaterMeasures {
	const random = seededRandom(seed);
	const scores = Float64Array.from({ length: rows }, () => random() ** 2);
	const labels = Uint8Array.from(scores, (score) => (random() < score ? 1 : 0));
	const conversions = labels.reduce((sum, label) => sum + label, 0);
	const roc = rocCurve(labels, scores, new Float64Array(rows).fill(1));
	return { visitors: rows, visitorRate: conversions / rows, roc } as unknown as LaterMeasures;
}

test('with true scores the best cut is the cost by the value, within its interval', {
	skip: takesLong,
}, () => {
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
	const counts = { visitors: 2000, visitorRate: 0.1 };
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

/** Visitors with a sign, who come often and convert often, and others. What they do comes in order of time. */
function madeUpRows() {
	const random = seededRandom(3);
	return Array.from({ length: 2000 }, (_, number) => {
		const hasSign = random() < 0.1;
		return Array.from({ length: hasSign ? 12 : 1 }, () => ({
			visitor: String(number),
			hasSign,
			label: random() < (hasSign ? 0.4 : 0.05) ? (1 as const) : (0 as const),
			atMs: Math.floor(1e9 * random()),
		}));
	})
		.flat()
		.sort((a, b) => a.atMs - b.atMs);
}

for (const engine of enginesAboveContract)
	test(`of 1,000 visitors so many are treated and convert as an own count says, on ${engine.name}`, async () => {
		const rows = madeUpRows();
		const dataset = new DatasetBuilder(featureSet(['sign'], []));
		for (const { visitor, hasSign, label, atMs } of rows)
			dataset.add({ numeric: [hasSign ? 1 : 0], categorical: [], label, atMs, group: visitor });
		const trained = train(dataset.build(), { seed: 1 });
		const { store, accountId } = await openAccountOn(engine);
		await store.control.insertModel(
			accountId,
			{ goal: 'subscription', scope: 'vid', body: '{}', report: JSON.stringify(trained.report) },
			'activate it',
		);
		const made = await report(store, accountId, 'threshold', { goal: 'subscription', cost: 100, value: 500 });
		// The last three of five blocks judge, which are of the last six tenths.
		const judged = rows.slice(Math.floor(rows.length * (0.4 + (0.6 * 2) / 5)));
		const byVisitor = [...Map.groupBy(judged, ({ visitor }) => visitor).values()];
		const share = (of: (row: (typeof judged)[number]) => boolean) =>
			(1000 / byVisitor.length) * byVisitor.reduce((sum, own) => sum + own.filter(of).length / own.length, 0);
		const own = {
			treated: share(({ hasSign }) => hasSign),
			conversions: share(({ hasSign, label }) => hasSign && label === 1),
		};
		const all = made.rows as unknown as { treated: number; conversions: number }[];
		const ofSign = all.find(({ treated }) => Math.abs(treated - own.treated) < 0.1);
		assert.ok(ofSign, `${own.treated} of ${all.map(({ treated }) => treated)}`);
		assert.ok(Math.abs(ofSign.conversions - own.conversions) < 0.01);
		assert.deepEqual(all.at(-1)?.treated, 1000);
		assert.ok(Math.abs((all.at(-1)?.conversions ?? 0) - share(({ label }) => label === 1)) < 0.01);
	});
