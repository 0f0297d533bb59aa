import { logLoss, mean } from '../../src/capabilities/training/fit/measure.ts';
import {
	type BacktestReport,
	backtest,
	cutsForBacktest,
	defaultMaxScores,
	drawnVisitors,
	scoresAsOf,
} from '../../src/capabilities/training/follow/backtest.ts';
import { type Goal, goalDefaults } from '../../src/core/domain/goal.ts';
import { dayMs } from '../../src/core/durations.ts';
import type { AccountHistory } from '../../src/kit/reading/histories.ts';
import type { Aim } from './aim.ts';
import { type Histories, readHistories } from './cdnow.ts';
import { baselineLogLoss } from './cdnow-baseline.ts';
import { type CdnowAccount, horizonDays } from './cdnow-commands.ts';
import { kindsOfHistory } from './kinds-of-history.ts';
import { longTailShop } from './long-tail-shop.ts';
import { type PlainVisitor, readerOf } from './plain-visitors.ts';

const cuts = 6;

/** CDNOW's customers as visitors: a hit at the first purchase, and every purchase as a sale at noon. */
export function cdnowVisitors(histories: Histories): PlainVisitor[] {
	return [...histories.values()].map((purchases) => ({
		hits: [{ atMs: (purchases[0]?.atMs ?? 0) + dayMs / 2, visit: 0 }],
		sales: purchases.map(({ atMs, dollars }) => ({
			atMs: atMs + dayMs / 2,
			evt: 'purchase',
			pence: Math.round(dollars * 100),
		})),
	}));
}

export const purchase: Goal = {
	name: 'purchase',
	evts: ['purchase'],
	...goalDefaults,
	counts: 'any',
	horizonDays,
};

async function backtestOf(
	reader: AccountHistory,
	goal: Goal,
	{ seed, at, cuts }: { seed: number; at: 'cut' | 'hit'; cuts: number },
): Promise<BacktestReport> {
	const extent = await reader.historyExtent(Number.POSITIVE_INFINITY);
	return backtest(reader, {
		...cutsForBacktest(extent, goal, cuts, at),
		goal,
		seed,
		at,
		onProgress: () => {},
	});
}

/** Mean log loss of the cuts, minus that of the plain logistic regression. */
function overBaseline({ cuts: reports }: BacktestReport, histories: Histories): number {
	return mean(
		reports.map(({ cut, served }) => {
			// Purchases are at noon of their day.
			const cutMs = Date.parse(cut) - dayMs / 2;
			return served.logLoss - baselineLogLoss(histories, cutMs, horizonDays * dayMs);
		}),
	);
}

function cdnowAims(name: string, reports: readonly BacktestReport[], histories: Histories): Aim[] {
	return [
		{
			name: `${name}: log loss over regression on 8 features`,
			values: reports.map((report) => overBaseline(report, histories)),
			max: 0.003,
		},
		{
			name: `${name}: calibration error, pooled`,
			values: reports.map(({ all }) => all.served.expectedCalibrationError),
			max: 0.02,
		},
	];
}

/** Back-tests of all customers, with the command. */
export async function cdnowByCommand(account: CdnowAccount, masterFile: string): Promise<Aim[]> {
	const report = await account.backtest(cuts, 1);
	return cdnowAims(`CDNOW all, ${cuts} cuts by the command`, [report], readHistories(masterFile));
}

/** Back-tests of a tenth of the customers, one per seed. */
export async function cdnowSampleBacktests(sampleFile: string, seeds: readonly number[]): Promise<Aim[]> {
	const histories = readHistories(sampleFile);
	const reader = readerOf(cdnowVisitors(histories));
	const reports: BacktestReport[] = [];
	for (const seed of seeds) reports.push(await backtestOf(reader, purchase, { seed, at: 'cut', cuts }));
	return cdnowAims(`CDNOW sample, ${cuts} cuts`, reports, histories);
}

/** Back-tests of three kinds of generated histories, one history per seed. */
export async function* backtestsOfKinds(seeds: readonly number[]): AsyncGenerator<Aim> {
	for (const { name, at, horizonDays, evts, visitors } of kindsOfHistory) {
		const goal: Goal = { name: 'goal', evts, ...goalDefaults, counts: 'any', horizonDays };
		const values: number[] = [];
		for (const seed of seeds) {
			const { all } = await backtestOf(readerOf(visitors(seed)), goal, { seed, at, cuts: 4 });
			values.push(all.served.logLoss - all.baseRate.logLoss);
		}
		yield { name: `made-up ${name}, at ${at}s: log loss over the base rate`, values, max: 0.002 };
	}
}

/** What the report on a shop of many landing pages promises for batches and for pages, against what came. */
export async function* longTailPromises(seeds: readonly number[]): AsyncGenerator<Aim> {
	const horizonDays = 30;
	const goal: Goal = { name: 'order', evts: ['order'], ...goalDefaults, counts: 'any', horizonDays };
	for (const [at, who] of [
		['cut', 'absent'],
		['hit', 'present'],
	] as const) {
		const [beyondPromise, overBase]: [number[], number[]] = [[], []];
		for (const seed of seeds) {
			const reader = readerOf(longTailShop(seed));
			const { toMs } = await reader.historyExtent(Number.POSITIVE_INFINITY);
			const [cutMs, untilMs] = [toMs - 2 * horizonDays * dayMs, toMs - horizonDays * dayMs];
			const { vids: drawn } = await drawnVisitors(reader, defaultMaxScores, toMs);
			const { outcomes, report } = await scoresAsOf(
				reader,
				{ goal, cutsMs: [cutMs], untilMs, seed, at, onProgress: () => {} },
				{ cutMs, untilMs, knownToMs: toMs, drawn },
				new Map(),
			);
			const lossOf = (scores: readonly number[]) =>
				logLoss(Uint8Array.from(outcomes.labels), Float64Array.from(scores));
			const came = lossOf(outcomes.served);
			beyondPromise.push(came - (report.later?.[who]?.logLoss ?? Number.NEGATIVE_INFINITY));
			overBase.push(came - lossOf(outcomes.base));
		}
		const name = `long-tail shop, at ${at}s: log loss over what was promised`;
		// About fifty visitors convert at the latest cut, so that a single promise is off by .01 by chance.
		yield { name, values: beyondPromise, max: 0.01, informative: true };
		yield { name: '  the mean of these', values: [mean(beyondPromise)], max: 0.01 };
		yield { name: '  log loss over the base rate', values: overBase, max: 0 };
	}
}
