import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backtest, cutsForBacktest } from '../../../../src/capabilities/training/follow/backtest.ts';
import { followLevel } from '../../../../src/capabilities/training/follow/level-following.ts';
import { backtestPage } from '../../../../src/capabilities/training/pages/backtest-page.ts';
import { backtestVerdict } from '../../../../src/capabilities/training/pages/backtest-text.ts';
import { measureBaseRates } from '../../../../src/capabilities/training/serve/base-rate.ts';
import { type Goal, goalDefaults } from '../../../../src/core/domain/goal.ts';
import { dayMs } from '../../../../src/core/durations.ts';
import type { GoalModel } from '../../../../src/core/scoring/serve/goal-model.ts';
import { madeUpHistories, madeUpStartMs } from '../../../proof/made-up-histories.ts';
import { readerOf } from '../../../proof/plain-visitors.ts';
import { takesLong } from '../../../quick.ts';

const sale: Goal = { name: 'sale', evts: ['sale'], ...goalDefaults, counts: 'any' };
const ordinary = { visitors: 700, days: 120, seed: 1, signal: 1, visits: 3, withinDays: 7 };
const reader = readerOf(madeUpHistories({ ...ordinary, level: (day) => (day > 80 ? -0.5 : -2) }));
const endMs = madeUpStartMs + 120 * dayMs;

test('the base rate is higher for present visitors than for absent ones', async () => {
	const rates = (await measureBaseRates(reader, [sale], endMs)).get('sale')?.byRecency ?? [];
	const [there = 0, active = 0, away = 1] = rates;
	assert.ok(there > 0.25 && there < 0.55, `${rates}`);
	assert.ok(active < there && away < active && away < 0.1, `${rates}`);
	const later = (await measureBaseRates(reader, [sale], endMs + 300 * dayMs)).get('sale')?.byRecency;
	assert.ok(Math.abs((later?.[0] ?? 0) - there) < 0.15, 'of a log that has ended, as of its end');
});

test('a back-test trains as of each cut on what was known then, and compares with the outcomes', {
	skip: takesLong,
}, async () => {
	const extent = await reader.historyExtent(endMs);
	const plan = cutsForBacktest(extent, sale, 2, 'hit');
	const progress: number[] = [];
	const report = await backtest(reader, {
		goal: sale,
		...plan,
		seed: 1,
		at: 'hit',
		onProgress: (done) => progress.push(done),
	});
	assert.deepEqual(
		progress,
		progress.toSorted((a, b) => a - b),
	);
	assert.ok(progress.filter((done) => done < 1).length > 20, 'also while the first cut is trained');
	assert.equal(progress.at(-1), 2);
	const { cuts, all } = report;
	assert.equal(cuts.length, 2);
	assert.equal(
		all.scores,
		cuts.reduce((sum, cut) => sum + cut.scores, 0),
	);
	assert.ok(cuts.every((cut) => cut.served.logLoss < 1 && cut.baseRate.logLoss < 1));
	const page = backtestPage('Back-test', report);
	assert.ok(page.includes('<svg') && !/src=|href=|@import|<script/.test(page));
	assert.throws(
		() => cutsForBacktest({ hits: 1, uploads: 0, fromMs: 0, toMs: dayMs }, sale, 2, 'cut'),
		/too short/,
	);
	const { hits: before } = await reader.historyExtent(plan.cutsMs[0] ?? 0);
	const { hits: known } = await reader.historyExtent(extent.toMs - 7 * dayMs);
	assert.equal(all.scores, known - before, 'every hit whose outcome is known in full');
});

test('a back-test says whether the scores are better than the base rate and than a simple model, and whom it drew', async () => {
	const extent = await reader.historyExtent(endMs);
	const options = { goal: sale, ...cutsForBacktest(extent, sale, 2, 'cut'), seed: 1, at: 'cut' } as const;
	const report = await backtest(reader, { ...options, maxScores: 40, onProgress: () => {} });
	const { gains, visitors, all } = report;
	const gain = all.baseRate.logLoss - all.served.logLoss;
	assert.ok(Math.abs(gains.overBaseRate.value - gain) < 1e-9);
	assert.ok(visitors.drawn <= 40 && visitors.all > 40);
	const [, , drawn] = backtestVerdict(report);
	assert.equal(drawn, `${visitors.drawn} of ${visitors.all} visitors were drawn and scored.`);

	const says = (low: number, high: number, lostAt = 0) => {
		const interval = { value: (low + high) / 2, low, high };
		const result = low > 0 ? 'better' : high < 0 ? 'worse' : 'not shown';
		const all = { drawn: 10, all: 10 };
		const cuts = report.cuts.map((cut, place) => {
			const logLoss = cut.served.logLoss + (place < lostAt ? -0.01 : 0.01);
			return { ...cut, baseRate: { ...cut.baseRate, logLoss } };
		});
		return backtestVerdict({
			...report,
			cuts,
			gains: { overBaseRate: { ...interval, result }, overSimple: null },
			visitors: all,
		});
	};
	assert.deepEqual(says(0.01, 0.03), [
		'The scores are better than the base rate: log loss is lower by 0.0200 (0.0100 to 0.0300).',
		'A simple model could not be fitted.',
	]);
	assert.match(
		says(-0.01, 0.03)[0] ?? '',
		/^The scores are not shown to be better than the base rate: log loss is lower by 0.0100 \(−0.0100 to 0.0300\)\.$/,
	);
	assert.equal(
		says(-0.03, -0.01)[0],
		'The scores are worse than the base rate: log loss is higher by 0.0200 (0.0100 to 0.0300).',
	);
	assert.equal(
		says(-0.000_02, 0.000_01)[0],
		'The scores are not shown to be better than the base rate: log loss is the same (lower by 0.0000 to 0.0000).',
	);
	assert.equal(
		says(0.01, 0.03, 1)[0],
		'The scores are better than the base rate: log loss is lower by 0.0200 (0.0100 to 0.0300); at 1 of 2 cuts it is higher.',
	);
});

test('between trainings scores are compared with outcomes, week by week, and not those of a log that has ended', async () => {
	const model: GoalModel = { version: '1', probability: () => 0.1, reasons: () => [] };
	const follow = (days: number, levels?: Parameters<typeof followLevel>[1]['levels']) =>
		followLevel(reader, {
			goal: sale,
			scope: 'vid',
			model,
			levels,
			trainedToMs: madeUpStartMs + 85 * dayMs,
			nowMs: madeUpStartMs + days * dayMs,
		});
	const first = await follow(100);
	assert.ok(
		first?.weeks.length === 2 && first.weeks.every(({ predicted }) => Math.abs(predicted - 0.1) < 1e-9),
	);
	assert.ok(first.weeks.some(({ isOutside }) => isOutside));
	assert.equal(await follow(100.5, first), undefined, 'once a week is enough');
	const ended = await follow(300, first);
	assert.ok((ended?.measuredToMs ?? 0) <= endMs, 'the time after its end says nothing');
});
