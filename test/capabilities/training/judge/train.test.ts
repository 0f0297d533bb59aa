import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auc, mean } from '../../../../src/capabilities/training/fit/measure.ts';
import { train } from '../../../../src/capabilities/training/judge/train.ts';
import { choiceSentences, directionText } from '../../../../src/capabilities/training/pages/report-text.ts';
import { datasetOf as datasetOfFeatures } from '../../../../src/capabilities/training/rows/dataset.ts';
import { dayMs } from '../../../../src/core/durations.ts';
import { logistic } from '../../../../src/core/scoring/model/log-odds.ts';
import { Scorer } from '../../../../src/core/scoring/model/scorer.ts';
import { featureSet } from '../../../../src/core/scoring/rows/features.ts';
import { seededRandom } from '../../../../src/kit/random.ts';
import { byVisitsAndEmail, datasetOf, trainedOn, visitors } from '../made-up.ts';

test('the same data and seed give the same model and report', () => {
	const run = () => JSON.stringify(train(datasetOf(visitors(1000, 1, byVisitsAndEmail)), { seed: 4 }));
	assert.equal(run(), run());
});

test('training tells a growing share that is done', () => {
	const shares: number[] = [];
	train(datasetOf(visitors(1000, 1, byVisitsAndEmail)), {
		seed: 1,
		onProgress: (share) => shares.push(share),
	});
	assert.ok(shares.length > 30 && shares.every((share) => share < 1), `${shares}`);
	assert.deepEqual(
		shares,
		[...new Set(shares)].sort((a, b) => a - b),
	);
});

test('the model ranks unseen visitors and is calibrated on them', () => {
	const { model } = trainedOn('logistic');
	const scorer = new Scorer(model);
	const others = visitors(6000, 2, byVisitsAndEmail);
	const labels = Uint8Array.from(others, ({ label }) => label);
	const scores = Float64Array.from(others, (row) => scorer.score(row));
	const best = Float64Array.from(others, byVisitsAndEmail);
	assert.ok(auc(labels, scores).value > auc(labels, best).value - 0.01);
	assert.ok(Math.abs(mean(scores) - mean(labels)) < 0.02);
});

test('boosting is chosen if it is better on later rows, and the report says so', () => {
	const { model, report } = trainedOn('boosting');
	assert.equal(model.kind, 'boosting');
	assert.ok((report.choice?.boostingGain.low ?? 0) > 0);
	assert.match(
		choiceSentences(report)[0] ?? '',
		/boosting gains 0\.\d+ \(0\.\d+ to 0\.\d+\).* so boosting was chosen/,
	);
});

test('fewer than 30 conversions give the base rate', () => {
	const examples = visitors(2000, 1, () => -3).map((example, index) => ({
		...example,
		label: index % 69 === 0 ? (1 as const) : (0 as const),
	}));
	const { model, report } = train(datasetOf(examples), { seed: 1 });
	assert.deepEqual([report.verdict, report.conversions], ['few conversions', 29]);
	assert.equal(model.kind, 'prior');
	assert.ok(Math.abs(new Scorer(model).score({ numeric: [3, 0], categorical: [''] }) - 29 / 2000) < 1e-4);
});

test('three visitors who convert in thirty rows each are three conversions, and no model', () => {
	const examples = visitors(2000, 1, byVisitsAndEmail).map((example, index) => ({
		...example,
		label: index % 20 === 0 && index < 1800 ? (1 as const) : (0 as const),
		group: index % 20 === 0 && index < 1800 ? `often ${index % 3}` : `${index}`,
	}));
	const { model, report } = train(datasetOf(examples), { seed: 1 });
	assert.deepEqual([report.verdict, report.conversions, report.convertedRows], ['few conversions', 3, 90]);
	assert.equal(model.kind, 'prior');
});

test('no rows give a small base rate rather than none', () => {
	const { model } = train(datasetOf([]), { seed: 1 });
	assert.equal(model.baseRate, 0.01);
});

test('unpredictable outcomes give the base rate and a warning', () => {
	let served = 0;
	for (let seed = 1; seed <= 6; seed++) {
		const { model, report } = train(datasetOf(visitors(1000, seed, () => -2)), { seed });
		if (model.kind !== 'prior') served++;
		else assert.equal(report.verdict, 'no signal');
	}
	assert.ok(served <= 1, `${served} of 6 found a pattern in noise`);
});

test('a rate that moves is no signal, whether no feature tells anything or one only tells the time', () => {
	const rates = [(at: number) => 0.05 + 0.15 * at, (at: number) => 0.12 + 0.08 * Math.sin(12 * at)];
	for (const names of [[], ['constant'], ['days']])
		for (const rateAt of rates)
			for (const seed of [1, 2]) {
				const random = seededRandom(77 * seed);
				const examples = Array.from({ length: 3000 }, (_, index) => {
					const at = index / 3000;
					const numeric = names.map((name) => (name === 'days' ? 100 * at + random() : 1));
					const label = random() < rateAt(at) ? (1 as const) : (0 as const);
					return { numeric, categorical: [], label, atMs: at * 60 * dayMs };
				});
				const dataset = datasetOfFeatures(featureSet(names, []), examples);
				const { model, report } = train(dataset, { seed, horizonMs: 3 * dayMs });
				assert.equal(model.kind, 'prior', `${names} ${report.choice?.standardErrors}`);
			}
});

test('a pattern that later rows contradict is not served', () => {
	const examples = visitors(4000, 1, byVisitsAndEmail);
	const broken = examples.map((example, index) =>
		index < 1600 ? example : { ...example, label: (index * 7919) % 10 === 0 ? (1 as const) : (0 as const) },
	);
	assert.equal(train(datasetOf(broken), { seed: 1 }).model.kind, 'prior');
});

test('the report contains what an analyst needs', () => {
	const { report } = trainedOn('logistic');
	const { later } = report;
	assert.ok(later);
	assert.equal(later.rows, 1440);
	assert.equal(later.blocks.length, 3);
	assert.ok(
		(later.auc.low ?? 0) > 0.6 &&
			(later.auc.low ?? 1) < later.auc.value &&
			later.auc.value < (later.auc.high ?? 0),
	);
	assert.ok(later.logLoss < later.baseRateLogLoss && later.brier < 0.25);
	assert.ok(Math.abs(later.predicted - later.observed) < 0.05);
	assert.equal(
		later.scoreHistogram.reduce((sum, rows) => sum + rows, 0),
		1440,
	);
	assert.equal(report.topFeatures[0]?.name, 'visits');
	assert.deepEqual(report.topFeatures.slice(0, 2).map(directionText), [
		'more raises the score',
		"'email' raises the score",
	]);
	assert.match(
		choiceSentences(report).join(' '),
		/logistic model was chosen\. The fit converged in \d+ steps/,
	);
});

test('outcomes that were known too early give a warning', () => {
	const dataset = datasetOf(visitors(2000, 1, byVisitsAndEmail));
	const { report } = train(dataset, { seed: 1, horizonMs: 1e15 });
	assert.match(choiceSentences(report).at(-1) ?? '', /too few outcomes were known/);
});

test("the served model's level is that of the most recent rows", () => {
	const base = (day: number) => (day < 60 ? 0.8 : day < 80 ? 0 : -0.8);
	const examples = visitors(6000, 3, () => 0).map((example, index) => {
		const logOdds = base(index / 60) + byVisitsAndEmail(example) + 1;
		return { ...example, label: (hash(index) < logistic(logOdds) ? 1 : 0) as 0 | 1 };
	});
	const { model, report } = train(datasetOf(examples), { seed: 1 });
	const scorer = new Scorer(model);
	const recent = examples.slice(-1200);
	const said = mean(Float64Array.from(recent, (row) => scorer.score(row)));
	assert.ok(Math.abs(said - mean(Uint8Array.from(recent, ({ label }) => label))) < 0.01);
	const blocks = report.later?.blocks ?? [];
	assert.ok(
		blocks.every(({ predicted, observed }) => Math.abs(predicted - observed) < 0.1),
		JSON.stringify(blocks),
	);
});

test('measures by number of visits are of visitors who are present', () => {
	const examples = visitors(1500, 1, byVisitsAndEmail).map((example, index) => ({
		...example,
		visits: 1 + (index % 4),
		recency: index % 2 === 0 ? (0 as const) : (2 as const),
	}));
	const later = train(datasetOf(examples), { seed: 1 }).report.later;
	assert.deepEqual(
		later?.byVisits.map(({ visit }) => visit),
		['first', 'later'],
		'nobody who is present is on a second visit',
	);
	const rows = later?.byVisits.reduce((sum, { rows: of }) => sum + of, 0) ?? 0;
	assert.ok(Math.abs(rows - (later?.rows ?? 0) / 2) < 5, `${rows} of ${later?.rows}`);
});

/** A pseudorandom number in [0, 1) for each row. */
function hash(index: number): number {
	return seededRandom(index)();
}

test('what the report promises of visitors who are present counts the hits that rows stand for', () => {
	const random = seededRandom(5);
	const rows = Array.from({ length: 5000 }, (_, atMs) => {
		const isOften = random() < 0.1;
		const label = random() < (isOften ? 0.6 : 0.1) ? (1 as const) : (0 as const);
		return { numeric: [isOften ? 1 : 0], categorical: [], label, atMs, hits: isOften ? 9 : 1, visits: 1 };
	});
	const { report } = train(datasetOfFeatures(featureSet(['often'], []), rows), { seed: 1 });
	// The last three of five blocks judge, which are of the last six tenths.
	const judged = rows.slice(Math.floor(rows.length * (0.4 + (0.6 * 2) / 5)));
	const sum = (of: (row: (typeof rows)[number]) => number) =>
		judged.reduce((total, row) => total + of(row), 0);
	const own = sum(({ hits, label }) => hits * label) / sum(({ hits }) => hits);
	assert.ok(Math.abs((report.later?.present?.observed ?? 0) - own) < 1e-9);
	assert.ok(Math.abs((report.later?.observed ?? 0) - mean(judged.map(({ label }) => label))) < 1e-9);
	assert.ok(own > 2 * (report.later?.observed ?? 1));
});
