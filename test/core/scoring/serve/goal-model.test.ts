import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { scoredFor } from '../../../../src/core/domain/active-subscriptions.ts';
import { type Goal, goalDefaults } from '../../../../src/core/domain/goal.ts';
import { type Profile, profileOf } from '../../../../src/core/domain/profile.ts';
import { Cadences } from '../../../../src/core/domain/subscription-cadence.ts';
import { dayMs } from '../../../../src/core/durations.ts';
import { type Model, modelFormat } from '../../../../src/core/scoring/model/model.ts';
import { Scorer } from '../../../../src/core/scoring/model/scorer.ts';
import type { FeatureRow } from '../../../../src/core/scoring/rows/features.ts';
import { profileRows } from '../../../../src/core/scoring/rows/profile-features.ts';
import { recencyOf } from '../../../../src/core/scoring/rows/recency.ts';
import { openModel, UnusableModelError } from '../../../../src/core/scoring/serve/goal-model.ts';
import { comparedRow, factsOf, lowering } from '../../../../src/core/scoring/serve/reasons.ts';
import { scoreGoal } from '../../../../src/core/scoring/serve/score-reference.ts';
import { seededRandom } from '../../../../src/kit/random.ts';
import {
	madeUpFeatures,
	madeUpVisitor,
	trainedOnVisitors,
} from '../../../capabilities/training/made-up-profiles.ts';
import { examples } from '../../../quick.ts';
import { anyLog, hit, startMs, subscription } from '../../domain/log.ts';

const wording = { currency: 'GBP', cancellationEvt: null };

/** The same model with other weights or leaves, and another level for each recency. */
function withRandomWeights(model: Model, random: () => number): Model {
	const some = () => 4 * (random() - 0.5);
	const level = { horizonMs: random() * 30 * dayMs, levels: [0, 0, 0].map(some) };
	if (model.kind === 'prior') return model;
	if (model.kind === 'boosting')
		return {
			...model,
			...level,
			trees: model.trees.map((tree) => ({ ...tree, value: tree.value.map(some) })),
		};
	const { linear, missing } = model.weights;
	const weights = { intercept: some(), linear: linear.map(some), missing: missing.map(some) };
	return { ...model, ...level, weights };
}

/** A row with some columns as in another. */
function withoutFact(row: FeatureRow, columns: readonly number[], compared: FeatureRow): FeatureRow {
	const without = { numeric: Array.from(row.numeric), categorical: [...row.categorical] };
	const numbers = without.numeric.length;
	for (const column of columns)
		if (column < numbers) without.numeric[column] = compared.numeric[column] as number;
		else without.categorical[column - numbers] = compared.categorical[column - numbers] as string;
	return without;
}

for (const kind of ['logistic', 'boosting'] as const) {
	const { model } = trainedOnVisitors(kind);
	const goalModel = openModel('2026-11-21.1', JSON.stringify(model));
	const scorer = new Scorer(model);
	const rowOf = profileRows(model.features);
	const horizonMs = model.kind === 'prior' ? 0 : model.horizonMs;

	test(`${kind}: the stored model has this kind and scores as trained`, () => {
		assert.equal(model.kind, kind);
		const random = seededRandom(11);
		for (let visitor = 0; visitor < 100; visitor++) {
			const { log, nowMs } = madeUpVisitor(random);
			const profile = profileOf(log) as Profile;
			assert.equal(
				goalModel.probability(profile, nowMs),
				scorer.score(rowOf(profile, nowMs), recencyOf(profile, nowMs, horizonMs)),
			);
		}
	});

	test(`${kind}: without the fact of a reason, the score of any model moves as the reason says, most for the first`, () => {
		fc.assert(
			fc.property(fc.integer({ min: 1 }), fc.integer({ min: 1 }), (visitorSeed, modelSeed) => {
				const random = seededRandom(modelSeed);
				const other = modelSeed % 4 === 0 ? model : withRandomWeights(model, random);
				assert(other.kind !== 'prior');
				const applied = openModel('1', JSON.stringify(other));
				const otherScorer = new Scorer(other);
				const { log, nowMs: endMs } = madeUpVisitor(seededRandom(visitorSeed));
				const nowMs = endMs + Math.floor((random() * 2) ** 8 * dayMs);
				const profile = profileOf(log) as Profile;
				const recency = recencyOf(profile, nowMs, other.horizonMs);
				const row = rowOf(profile, nowMs);
				const score = applied.probability(profile, nowMs);
				for (const which of ['raise', 'lower'] as const) {
					const reasons = applied.reasons(profile, nowMs, which, wording);
					assert.ok(reasons.length <= 3);
					assert.equal(new Set(reasons).size, reasons.length);
					const facts = factsOf(model.features, row, { profile, nowMs, wording }, which);
					const compared = comparedRow(model.features, row, which);
					let moved = Number.POSITIVE_INFINITY;
					for (const reason of reasons) {
						assert.equal(reason.startsWith(lowering), which === 'lower');
						const said = which === 'lower' ? reason.slice(lowering.length) : reason;
						if (recency === 0) assert.doesNotMatch(said, /^last seen/);
						const fact = facts.find(({ phrase }) => phrase === said);
						assert(fact, reason);
						const without = otherScorer.score(withoutFact(row, fact.columns, compared), recency);
						const move = which === 'raise' ? score - without : without - score;
						assert.ok(move > 0 && move <= moved, reason);
						moved = move;
					}
				}
			}),
			{ numRuns: examples(300) },
		);
	});

	test(`${kind}: any visitor gets a probability and reasons`, () => {
		fc.assert(
			fc.property(anyLog, fc.nat(400 * dayMs), (log, laterMs) => {
				const profile = profileOf(log);
				fc.pre(profile !== null);
				const probability = goalModel.probability(profile, profile.lastAtMs + laterMs);
				assert.ok(probability > 0 && probability < 1);
				for (const reason of goalModel.reasons(profile, profile.lastAtMs + laterMs, 'raise', wording))
					assert.match(reason, /^\S.*\S$/u);
			}),
		);
	});
}

test('viewing pricing raises the score, and the reason says so', () => {
	const goalModel = openModel('1', JSON.stringify(trainedOnVisitors('logistic').model));
	const visit = (page: string) =>
		profileOf([
			hit(startMs, { page: 'blog', channel: 'email' }),
			hit(startMs + 1000, { page, channel: 'email' }),
			hit(startMs + 2000, { page: 'blog', channel: 'email' }),
		]) as Profile;
	const nowMs = startMs + dayMs;
	assert.ok(goalModel.probability(visit('docs'), nowMs) < goalModel.probability(visit('pricing'), nowMs));
	assert.ok(
		goalModel.reasons(visit('pricing'), nowMs, 'raise', wording).includes('viewed pricing 23 hours ago'),
	);
});

test('who came once is told when, not that there was a hit and a visit; being present is no reason', () => {
	const { model } = trainedOnVisitors('logistic');
	assert(model.kind === 'logistic');
	const column = madeUpFeatures.numeric.findIndex(({ name }) => name === 'recentHits7d');
	const weights = {
		...model.weights,
		linear: model.weights.linear.map((_, index) => (index === column ? 1 : 0)),
		missing: model.weights.missing.map(() => 0),
	};
	const calibration = { kind: 'none' } as const;
	const goalModel = openModel('1', JSON.stringify({ ...model, weights, calibration }));
	const profile = profileOf([hit(startMs)]) as Profile;
	const reasons = (days: number, which: 'raise' | 'lower') =>
		goalModel.reasons(profile, startMs + days * dayMs, which, wording);
	assert.deepEqual(reasons(0, 'raise'), []);
	assert.deepEqual(reasons(2, 'raise'), ['last seen 2 days ago']);
	assert.deepEqual(reasons(0, 'lower'), []);
	assert.deepEqual(reasons(60, 'lower'), ['less likely: last seen 60 days ago']);
	const twice = profileOf([hit(startMs), hit(startMs + 1000)]) as Profile;
	assert.deepEqual(goalModel.reasons(twice, startMs + 1000, 'raise', wording), ['2 hits']);
});

test('a reason for the score of a renewal says when it is due', () => {
	const features = { numeric: [{ name: 'daysUntilDue', absent: null }], categorical: [] };
	const encoding = {
		numeric: [{ name: 'daysUntilDue', mean: 0, scale: 1, lowest: -30, highest: 365, cuts: [] }],
		categorical: [],
	};
	const model: Model = {
		format: modelFormat,
		kind: 'logistic',
		features,
		baseRate: 0.5,
		horizonMs: 30 * dayMs,
		levels: [0, 0, 0],
		encoding,
		weights: { intercept: 0, linear: [1], missing: [0] },
	};
	const profile = profileOf([hit(startMs), subscription(startMs, { evt: 'news', subid: 'A' })]) as Profile;
	const monthly = new Cadences({ prices: [], evts: [], all: [30] }, {});
	const renewal: Goal = { name: 'renewal', evts: ['*'], ...goalDefaults, counts: 'renewal' };
	const reasonsAt = (day: number) => {
		const nowMs = startMs + day * dayMs;
		const scored = scoredFor(renewal, profile, nowMs, monthly);
		const reference = {
			goal: renewal,
			baseRate: { byRecency: [0.5, 0.5, 0.5] },
			ranks: { present: [], absent: [0.5] },
		};
		assert.ok(scored?.renewing);
		return scoreGoal(reference, openModel('1', JSON.stringify(model)), profile, nowMs, scored, wording)
			.reasons;
	};
	assert.deepEqual(reasonsAt(10), ['due to renew in 20 days']);
	assert.deepEqual(reasonsAt(29), ['due to renew in 1 day']);
	assert.deepEqual(reasonsAt(33), ['less likely: due to renew 3 days ago']);
});

test('the score is as of the moment: recency decays between hits', () => {
	const goalModel = openModel('1', JSON.stringify(trainedOnVisitors('logistic').model));
	const profile = profileOf([hit(startMs)]) as Profile;
	assert.ok(
		goalModel.probability(profile, startMs + 4 * dayMs) < goalModel.probability(profile, startMs + 60_000),
	);
});

test('a profile of an earlier version without decayed counts gets a score', () => {
	const goalModel = openModel('1', JSON.stringify(trainedOnVisitors('logistic').model));
	const profile = profileOf([hit(startMs), subscription(startMs + 1)]) as Profile;
	const { recent: _, ...subscriptions } = profile.subscriptions as NonNullable<Profile['subscriptions']>;
	const earlier = { ...profile, subscriptions } as Profile;
	assert.ok(goalModel.probability(earlier, startMs + dayMs) > 0);
	assert.ok(goalModel.reasons(earlier, startMs + dayMs, 'raise', wording).length > 0);
});

test('a stored base rate is the score of everybody, without reasons', () => {
	const prior: Model = { format: modelFormat, kind: 'prior', features: madeUpFeatures, baseRate: 0.125 };
	const goalModel = openModel('2026-11-21.2', JSON.stringify(prior));
	const profile = profileOf([hit(startMs)]) as Profile;
	assert.equal(goalModel.probability(profile, startMs), 0.125);
	assert.deepEqual(goalModel.reasons(profile, startMs, 'raise', wording), []);
	assert.equal(goalModel.version, '2026-11-21.2');
});

test('a model of another version, or a broken one, is rejected with a reason', () => {
	const { model } = trainedOnVisitors('logistic');
	assert(model.kind === 'logistic');
	const shoeSize = { numeric: [{ name: 'shoeSize', absent: 0 }], categorical: [] };
	const [first, ...others] = model.encoding.numeric;
	for (const [body, reason] of [
		['', /JSON/],
		['null', /null/],
		['{}', /format is undefined, not 4/],
		[JSON.stringify({ ...model, format: 1 }), /format is 1, not 4/],
		[JSON.stringify({ ...model, kind: 'forest' }), /kind forest is unknown/],
		[JSON.stringify({ ...model, kind: 'prior', features: shoeSize }), /unknown feature shoeSize/],
		[JSON.stringify({ ...model, features: shoeSize }), /columns are not those of its features/],
		[
			JSON.stringify({ ...model, encoding: { ...model.encoding, numeric: [...others, first] } }),
			/columns are not those/,
		],
		[JSON.stringify({ ...model, weights: { ...model.weights, intercept: null, linear: [] } }), /NaN/],
		[JSON.stringify({ ...model, kind: 'prior', baseRate: 2 }), /a probability of 2/],
		[JSON.stringify({ ...model, levels: undefined }), /./],
	] as const)
		assert.throws(
			() => openModel('7', body),
			(error) => {
				assert.ok(error instanceof UnusableModelError);
				assert.match(error.message, /^model 7 cannot be applied: /);
				assert.match(error.message, reason);
				return true;
			},
			body.slice(0, 80),
		);
});
