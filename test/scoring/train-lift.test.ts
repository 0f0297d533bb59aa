import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mean } from '../../src/scoring/fit/measure.ts';
import { liftOf, Scorer } from '../../src/scoring/fit/scorer.ts';
import { liftsOf, trainLift } from '../../src/scoring/judge/train-lift.ts';
import { featureRows } from '../../src/scoring/rows/dataset.ts';
import { examples } from '../quick.ts';
import { byVisitsAndEmail, visitors } from './made-up.ts';
import { experiment, persuadedByEmail } from './made-up-experiment.ts';

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
	assert.deepEqual(
		tried.map((one) => one.method),
		[method],
	);
});

test('a stored model of the other method is applied: its log-odds are the lift', () => {
	const { model } = trainLift(experiment(3000, 5, persuadedByEmail), { seed: 3 });
	const [part] = model.parts;
	assert.ok(part);
	const lift = liftOf({ ...model, method: 'transformed outcome', parts: [part] });
	const scorer = new Scorer(part);
	for (const row of visitors(20, 7, byVisitsAndEmail))
		assert.equal(lift(row), Math.min(1, Math.max(-1, scorer.logOdds(row))));
});
