import assert from 'node:assert/strict';
import { test } from 'node:test';
import { learnEncoding, prepareNumbers } from '../../../../src/capabilities/training/fit/encoding.ts';
import { logOddsOf } from '../../../../src/capabilities/training/fit/logistic.ts';
import { mean } from '../../../../src/capabilities/training/fit/measure.ts';
import { fitRidge } from '../../../../src/capabilities/training/fit/ridge.ts';
import { liftsOf, trainLift } from '../../../../src/capabilities/training/judge/train-lift.ts';
import { featureRows } from '../../../../src/capabilities/training/rows/dataset.ts';
import { examples } from '../../../quick.ts';
import { byVisitsAndEmail, datasetOf, visitors } from '../made-up.ts';
import { experiment, persuadedByEmail } from '../made-up-experiment.ts';

test('a known effect is found: it is served, of the right size, for the right visitors', () => {
	for (const treatedShare of [0.5, 0.8]) {
		const rows = experiment(12_000, 1, persuadedByEmail, treatedShare);
		const { model, report } = trainLift(rows, { seed: 1 });
		assert.ok(report.serves, JSON.stringify(report));
		const lifts = liftsOf(model, rows.dataset);
		const email = [...featureRows(rows.dataset)].map(({ categorical }) => categorical[0] === 'email');
		const meanOf = (isEmail: boolean) => mean(lifts.filter((_, row) => email[row] === isEmail));
		assert.ok(Math.abs(meanOf(true) - 0.15) < 0.05, `by email ${meanOf(true)}`);
		assert.ok(Math.abs(meanOf(false)) < 0.03, `others ${meanOf(false)}`);
	}
});

test('without an effect, or with the same for everybody, hardly ever is anything served', () => {
	const runs = examples(20);
	for (const effect of [0, 0.05]) {
		const served = Array.from(
			{ length: runs },
			(_, run) =>
				trainLift(
					experiment(2000, 100 + run, () => effect),
					{ seed: run },
				).report.serves,
		).filter(Boolean).length;
		assert.ok(served <= Math.max(1, runs / 10), `${served} of ${runs} with ${effect}`);
	}
});

test('the report has the groups, and the same rows and seed give the same model', () => {
	const rows = experiment(3000, 5, persuadedByEmail);
	const { model, report } = trainLift(rows, { seed: 3 });
	assert.deepEqual(trainLift(rows, { seed: 3 }), { model, report });
	const { treated, holdout, meanLift, tried, method } = report;
	assert.equal(treated.visitors + holdout.visitors, 3000);
	assert.equal(treated.conversions + holdout.conversions, rows.dataset.labels.filter(Boolean).length);
	assert.ok(
		Math.abs(meanLift - (treated.conversions / treated.visitors - holdout.conversions / holdout.visitors)) <
			1e-12,
	);
	const best = Math.max(...tried.map(({ qini }) => qini.value));
	assert.equal(tried.find((one) => one.method === method)?.qini.value, best);
});

test('ridge regression: at the optimum, the gradient is zero', () => {
	const dataset = datasetOf(
		visitors(400, 2, byVisitsAndEmail).map((one, row) => ({
			...one,
			numeric: Array.from(one.numeric, (value) => (row % 5 === 0 ? Number.NaN : value)),
		})),
	);
	const numbers = prepareNumbers(dataset);
	const encoded = learnEncoding(dataset, numbers).encode(dataset, numbers);
	const targets = Float64Array.from({ length: 400 }, (_, row) => Math.sin(row) + (row % 3));
	for (const penalty of [1, 300]) {
		const weights = fitRidge(encoded, targets, penalty);
		const residuals = logOddsOf(encoded, weights).map((value, row) => value - (targets[row] as number));
		assert.ok(Math.abs(mean(residuals)) < 1e-6);
		for (const [column, values] of encoded.linear.entries()) {
			const gradient =
				residuals.reduce((sum, residual, row) => sum + residual * (values[row] as number), 0) +
				penalty * (weights.linear[column] as number);
			const ofMissing =
				(encoded.missing[column] as Uint32Array).reduce((sum, row) => sum + (residuals[row] as number), 0) +
				penalty * (weights.missing[column] as number);
			assert.ok(Math.abs(gradient) < 1e-4 && Math.abs(ofMissing) < 1e-4, `${gradient} ${ofMissing}`);
		}
	}
});
