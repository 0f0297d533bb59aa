import assert from 'node:assert/strict';
import { test } from 'node:test';
import { profileFeatures } from '../../../src/capabilities/training/rows/vocabulary.ts';
import { histogramOf } from '../../../src/capabilities/training/serve/score-bands.ts';
import { featureText } from '../../../src/core/scoring/rows/known-features.ts';

test('every feature of a model has a name in words, and no two the same', () => {
	const vocabulary = { page: ['pricing'], channel: ['email'], event: ['quote'], evt: ['gift'] };
	const { numeric, categorical } = profileFeatures(vocabulary, true);
	const names = [...numeric, ...categorical].map(({ name }) => name);
	assert.equal(new Set(names.map(featureText)).size, names.length);
	for (const name of names) assert.doesNotMatch(featureText(name), /[a-z][A-Z]|:/, name);
	assert.equal(featureText('page:a:b'), 'days since page a:b');
	assert.equal(featureText('constructor'), 'constructor');
});

test('scores are counted in bars that grow, so that low ones are told apart', () => {
	assert.deepEqual(histogramOf([]), []);
	const bars = histogramOf([0.0003, 0.0012, 0.0015, 0.01, 1]);
	assert.equal(bars[0]?.from, 0.0002);
	assert.deepEqual(
		bars.filter(({ visitors }) => visitors > 0).map(({ from, to, visitors }) => [from, to, visitors]),
		[
			[0.0002, 0.0005, 1],
			[0.001, 0.002, 2],
			[0.01, 0.02, 1],
			[0.5, 1, 1],
		],
	);
	assert.deepEqual(histogramOf([0, 0]), [{ from: 0, to: 0.00001, visitors: 2 }]);
	for (const [place, { to }] of bars.entries()) assert.equal(bars[place + 1]?.from ?? 1, to);
});
