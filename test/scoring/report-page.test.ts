import assert from 'node:assert/strict';
import { test } from 'node:test';
import { train } from '../../src/scoring/judge/train.ts';
import { trainingReportPage } from '../../src/scoring/pages/report-page.ts';
import { datasetOf, trainedOn, visitors } from './made-up.ts';

const { report } = trainedOn('logistic');

test('the page draws ROC, calibration and scores, and is self-contained', () => {
	const page = trainingReportPage(
		'Scores',
		['All were read.'],
		[{ heading: 'subscription', lead: [], report }],
	);
	assert.equal(page.match(/<svg/g)?.length, 3);
	assert.ok(!/<script|src=|href=|url\(|NaN|undefined/.test(page));
	for (const figure of ['ROC', 'Calibration', 'Scores', 'Brier score', 'Calibration error'])
		assert.ok(page.includes(figure));
});

test('names from pages cannot become markup', () => {
	const [feature] = report.topFeatures;
	assert.ok(feature);
	const named = { ...report, topFeatures: [{ ...feature, name: '<script>alert(1)</script>' }] };
	const page = trainingReportPage('<b>', ['<b>'], [{ heading: '<b>', lead: ['<b>'], report: named }]);
	assert.ok(!page.includes('<script') && !page.includes('<b>'));
});

test('a goal with too few conversions has a page too, with what is served', () => {
	const rare = train(datasetOf(visitors(100, 1, () => -5)), { seed: 1 });
	const page = trainingReportPage('Scores', [], [{ heading: 'rare', lead: [], report: rare.report }]);
	assert.ok(page.includes('the base rate') && !page.includes('<svg'));
});
