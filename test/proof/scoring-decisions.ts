import { backtest, cutsForBacktest } from '../../src/capabilities/training/follow/backtest.ts';
import { train } from '../../src/capabilities/training/judge/train.ts';
import { accountRows } from '../../src/capabilities/training/rows/account-rows.ts';
import type { Goal } from '../../src/core/domain/goal.ts';
import { goalDefaults } from '../../src/core/domain/goal.ts';
import type { Aim } from './aim.ts';
import { readHistories } from './cdnow.ts';
import { kindsOfHistory } from './kinds-of-history.ts';
import { madeUpHistories } from './made-up-histories.ts';
import { type PlainVisitor, readerOf } from './plain-visitors.ts';
import { cdnowVisitors, purchase } from './scoring-backtests.ts';

const decisions = 20;
const sale: Goal = { name: 'sale', evts: ['sale'], ...goalDefaults, counts: 'any' };

/** For 20 seeds each, how many differ from the majority on whether to serve a model of the whole history. */
async function differing(name: string, visitors: readonly PlainVisitor[], goal: Goal): Promise<Aim> {
	const reader = readerOf(visitors);
	const { toMs: asOfMs } = await reader.historyExtent(Number.POSITIVE_INFINITY);
	let served = 0;
	for (let seed = 1; seed <= decisions; seed++) {
		const { rows } = await accountRows(reader, { goals: [goal], asOfMs, seed, onProgress: () => {} });
		const ofVisitors = rows.find(({ scope }) => scope === 'vid');
		if (!ofVisitors) throw new Error('an account has rows of visitors');
		const { model } = train(ofVisitors.dataset, { seed, horizonMs: ofVisitors.horizonMs });
		if (model.kind !== 'prior') served++;
	}
	return {
		name: `${name}: decisions that differ (a model is served by ${served})`,
		values: [Math.min(served, decisions - served)],
		max: 1,
	};
}

export async function* decisionAims(sampleFile: string): AsyncGenerator<Aim> {
	yield await differing('CDNOW sample', cdnowVisitors(readHistories(sampleFile)), purchase);
	const kind = kindsOfHistory.find(({ name }) => name.startsWith('shoppers'));
	if (kind) {
		const { name, evts, horizonDays, visitors } = kind;
		yield await differing(`made-up ${name}`, visitors(1), { ...sale, evts, horizonDays });
	}
	const weak = { visitors: 700, days: 120, seed: 1, level: () => -2, signal: 0.15, visits: 3, withinDays: 6 };
	yield await differing('made-up, weak signal', madeUpHistories(weak), sale);
}

/** Accounts without any signal. A model must not be worse than the base rate. */
export async function signallessAims(): Promise<Aim[]> {
	const at = { cut: [] as number[], hit: [] as number[] };
	let served = 0;
	for (let seed = 1; seed <= decisions; seed++) {
		const plain = { visitors: 1000, days: 120, level: () => -2, signal: 0, visits: 3, withinDays: 6 };
		const reader = readerOf(madeUpHistories({ ...plain, seed }));
		const extent = await reader.historyExtent(Number.POSITIVE_INFINITY);
		for (const when of ['cut', 'hit'] as const) {
			const { all, cuts } = await backtest(reader, {
				...cutsForBacktest(extent, sale, 1, when),
				goal: sale,
				seed,
				at: when,
				onProgress: () => {},
			});
			if (cuts.some(({ kind }) => kind !== 'prior')) served++;
			at[when].push(all.served.logLoss - all.baseRate.logLoss);
		}
	}
	return [
		{ name: 'no signal, at cuts: log loss over the base rate', values: at.cut, max: 0.002 },
		{
			name: `no signal, after hits: the same (${served} of ${2 * decisions} serve a model)`,
			values: at.hit,
			max: 0.002,
		},
	];
}
