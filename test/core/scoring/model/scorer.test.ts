import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Model } from '../../../../src/core/scoring/model/model.ts';
import { Scorer } from '../../../../src/core/scoring/model/scorer.ts';
import { absentRow, type FeatureRow } from '../../../../src/core/scoring/rows/features.ts';
import { byVisitsAndEmail, features, trainedOn, visitors } from '../../../capabilities/training/made-up.ts';

const models: Record<string, Model> = {
	logistic: trainedOn('logistic').model,
	boosting: trainedOn('boosting').model,
};

for (const [kind, model] of Object.entries(models)) {
	const scorer = new Scorer(model);

	test(`${kind}: the model has this kind and survives JSON`, () => {
		assert.equal(model.kind, kind);
		const restored = new Scorer(JSON.parse(JSON.stringify(model)));
		for (const row of visitors(100, 2, byVisitsAndEmail))
			assert.equal(restored.score(row), scorer.score(row));
	});

	test(`${kind}: a feature contributes if and only if the score falls without its fact`, () => {
		for (const row of visitors(300, 3, byVisitsAndEmail))
			for (const [index, logOdds] of scorer.contributions(row).entries()) {
				const fall = scorer.score(row) - scorer.score(without(row, index));
				assert.ok(Math.abs(logOdds) < 1e-9 || Math.sign(fall) === Math.sign(logOdds));
			}
	});

	test(`${kind}: unseen and missing values get a score`, () => {
		for (const row of [
			{ numeric: [Number.NaN, Number.NaN], categorical: ['__proto__'] },
			{ numeric: [1e30, -1e30], categorical: ['constructor'] },
		]) {
			const score = scorer.score(row);
			assert.ok(score > 0 && score < 1);
		}
	});
}

function without(row: FeatureRow, feature: number): FeatureRow {
	const absent = absentRow(features);
	return {
		numeric: Array.from(row.numeric, (value, index) =>
			index === feature ? (absent.numeric[index] as number) : value,
		),
		categorical: row.categorical.map((value, index) =>
			index + row.numeric.length === feature ? (absent.categorical[index] as string) : value,
		),
	};
}

test("the logistic model's contributions add up to that of the whole row", () => {
	const scorer = new Scorer(models.logistic as Model);
	const logOdds = (row: FeatureRow) => scorer.logOdds(row);
	for (const row of visitors(50, 4, byVisitsAndEmail)) {
		const sum = scorer.contributions(row).reduce((total, contribution) => total + contribution, 0);
		assert.ok(Math.abs(sum - (logOdds(row) - logOdds(absentRow(features)))) < 1e-9);
	}
});

test('a model of another format is rejected', () => {
	assert.throws(() => new Scorer({ ...(models.logistic as Model), format: 1 as 4 }), /format 1/);
});
