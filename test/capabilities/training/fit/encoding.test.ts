import assert from 'node:assert/strict';
import { test } from 'node:test';
import { learnEncoding, prepareNumbers } from '../../../../src/capabilities/training/fit/encoding.ts';
import { fitLogistic, logOddsOf } from '../../../../src/capabilities/training/fit/logistic.ts';
import { datasetOf, inTimeOrder } from '../../../../src/capabilities/training/rows/dataset.ts';
import { modelFormat } from '../../../../src/core/scoring/model/model.ts';
import { Scorer } from '../../../../src/core/scoring/model/scorer.ts';
import { featureSet } from '../../../../src/core/scoring/rows/features.ts';
import { seededRandom } from '../../../../src/kit/random.ts';

const features = featureSet(['amount'], ['page']);

/** Two frequent pages, and rare ones with four rows each. */
function examples(count: number, seed: number) {
	const random = seededRandom(seed);
	return Array.from({ length: count }, (_, row) => ({
		numeric: [random() < 0.2 ? Number.NaN : random() * 100],
		categorical: [random() < 0.5 ? '/' : random() < 0.5 ? '/pricing' : `/rare/${row % (count / 16)}`],
		label: random() < 0.3 ? (1 as const) : (0 as const),
		atMs: row,
	}));
}

function encoded(count: number) {
	const dataset = inTimeOrder(datasetOf(features, examples(count, 1)), 1);
	const numbers = prepareNumbers(dataset);
	const { encoding, encode } = learnEncoding(dataset, numbers);
	return { dataset, encoding, rows: encode(dataset, numbers) };
}

test('numbers are standardised; missing ones get the mean, are known as missing, and have a bin of their own', () => {
	const { rows } = encoded(800);
	const [values, bins] = [rows.linear[0] as Float32Array, rows.bins[0] as Uint8Array];
	const known = values.filter((_, row) => bins[row] !== 0);
	const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
	const variance = known.reduce((sum, value) => sum + (value - mean) ** 2, 0) / known.length;
	assert.ok(Math.abs(mean) < 1e-5 && Math.abs(variance - 1) < 1e-4);
	assert.ok(values.every((value, row) => bins[row] !== 0 || value === 0));
	assert.ok(bins.includes(0));
	assert.deepEqual(
		[...(rows.missing[0] ?? [])],
		[...bins.keys()].filter((row) => bins[row] === 0),
	);
});

test('a text is encoded by its rate, and a rare one as none, for its rate would be the outcomes of its rows', () => {
	const { dataset, encoding, rows } = encoded(800);
	const page = Array.from(dataset.categorical[0] ?? [], (code) => dataset.texts[0]?.[code] as string);
	const rates = new Map(encoding.categorical[0]?.rates);
	assert.deepEqual([...rates.keys()].sort(), ['/', '/pricing']);
	for (const [row, text] of page.entries())
		assert.ok(Math.abs((rows.linear[1]?.[row] as number) - (rates.get(text) ?? 0)) < 1e-6);
});

test('rows of one visitor are known as one visitor, and weigh together as one', () => {
	const rowsOf = (page: string, group: string, labels: readonly (0 | 1)[]) =>
		labels.map((label) => ({ numeric: [1], categorical: [page], label, atMs: 0, group }));
	const dataset = datasetOf(features, [
		...rowsOf(
			'/own',
			'often',
			Array.from({ length: 100 }, () => 1),
		),
		...Array.from({ length: 30 }, (_, visitor) =>
			rowsOf('/shared', String(visitor), [visitor < 10 ? 1 : 0]),
		).flat(),
		...rowsOf('/shared', 'often', [1, 1, 1, 0]),
	]);
	const [column] = learnEncoding(dataset, prepareNumbers(dataset)).encoding.categorical;
	// Of 31 visitors, 10 converted, and one in three of four rows there, in 103 of 104 rows anywhere.
	const [base, reached] = [(10 + 103 / 104) / 31, 10 + 3 / 4];
	const rate = (reached + 20 * base) / (31 + 20);
	const logOdds = (share: number) => Math.log(share / (1 - share));
	assert.equal(column?.rates.length, 1);
	assert.equal(column?.rates[0]?.[0], '/shared');
	assert.ok(Math.abs((column?.rates[0]?.[1] as number) - (logOdds(rate) - logOdds(base))) < 1e-9);
});

test('a scorer computes the same from a row as training from columns', () => {
	const { encoding, rows } = encoded(800);
	const { weights } = fitLogistic(rows, 1);
	const scorer = new Scorer({
		format: modelFormat,
		kind: 'logistic',
		features,
		baseRate: 0.3,
		encoding,
		weights,
		horizonMs: 0,
		levels: [0],
	});
	const logOdds = logOddsOf(rows, weights);
	for (const [row, example] of examples(800, 1).entries())
		assert.ok(Math.abs(scorer.logOdds(example) - (logOdds[row] as number)) < 1e-5);
});
