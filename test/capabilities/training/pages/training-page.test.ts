import assert from 'node:assert/strict';
import { test } from 'node:test';
import { train } from '../../../../src/capabilities/training/judge/train.ts';
import { trainingPage } from '../../../../src/capabilities/training/pages/training-page.ts';
import { datasetOf, trainedOn, visitors } from '../made-up.ts';

const { report } = trainedOn('logistic');

/** The page of one goal. */
function pageOf(of: typeof report, goal = 'subscription', aid = 'c-a-acme-uk'): string {
	const asOf = '2026-11-21T00:00:00.000Z';
	const history = { hits: 10, visitors: 5, sampledShare: 1, silentDays: 0 };
	const about = { goal, scope: 'vid', asOf, horizonDays: 7, counts: 'any', history } as const;
	const ofGoal = { ...of, ...about, baseRates: [], doubts: [] };
	const trained = { version: '1', outcome: 'active', active: true, former: null, report: ofGoal } as const;
	return trainingPage({ aid, asOf, trained: [trained] });
}

test('the page draws ROC, calibration and scores, and is self-contained', () => {
	const page = pageOf(report);
	assert.equal(page.match(/<svg/g)?.length, 3);
	assert.ok(!/<script|src=|href=|url\(|NaN|undefined/.test(page));
	for (const figure of ['ROC', 'Calibration', 'Scores', 'Brier', 'calibration error'])
		assert.ok(page.includes(figure));
});

test('names from pages cannot become markup', () => {
	const [feature] = report.topFeatures;
	assert.ok(feature);
	const named = { ...report, topFeatures: [{ ...feature, name: '<script>alert(1)</script>' }] };
	const page = pageOf(named, '<b>', '<b>');
	assert.ok(!page.includes('<script') && !page.includes('<b>'));
});

test('a goal with too few conversions has a page too, with what is served', () => {
	const rare = train(datasetOf(visitors(100, 1, () => -5)), { seed: 1 });
	const page = pageOf(rare.report);
	assert.ok(page.includes('the base rate') && !page.includes('<svg'));
});
