/** Log losses on public data, of which `npm run proof:scoring -- --without NAME` tells what a mechanism gains. */

import { logLosses } from '../../src/capabilities/training/fit/measure.ts';
import {
	cutsForBacktest,
	defaultMaxScores,
	drawnVisitors,
	scoresAsOf,
} from '../../src/capabilities/training/follow/backtest.ts';
import { train } from '../../src/capabilities/training/judge/train.ts';
import { type Goal, goalDefaults, horizonMsOf } from '../../src/core/domain/goal.ts';
import { Scorer } from '../../src/core/scoring/model/scorer.ts';
import { type Histories, readHistories } from './cdnow.ts';
import { kindsOfHistory } from './kinds-of-history.ts';
import { type PlainVisitor, readerOf } from './plain-visitors.ts';
import { kindsOfRenewals } from './renewal-histories.ts';
import { cdnowVisitors } from './scoring-backtests.ts';
import { renewalLosses } from './scoring-renewals.ts';
import { shoppersSplit } from './shoppers.ts';

const cuts = 6;
const seed = 1;

export interface Losses {
	readonly losses: Float64Array;
	/** The visitor of each. */
	readonly groups: Uint32Array;
}

export interface NamedHistory {
	readonly name: string;
	readonly lossesOf: () => Promise<Losses>;
}

/** Every purchase of a customer as a visit of its own. */
function customersWhoVisit(histories: Histories): PlainVisitor[] {
	return cdnowVisitors(histories).map(({ sales = [] }) => ({
		hits: sales.map(({ atMs }, visit) => ({ atMs, visit })),
		sales,
	}));
}

async function backtestLosses(
	visitors: readonly PlainVisitor[],
	horizonDays: number,
	at: 'cut' | 'hit',
	evts: readonly string[] = ['purchase'],
): Promise<Losses> {
	const goal: Goal = { name: 'purchase', evts, ...goalDefaults, counts: 'any', horizonDays };
	const reader = readerOf(visitors);
	const { cutsMs, untilMs } = cutsForBacktest(
		await reader.historyExtent(Number.POSITIVE_INFINITY),
		goal,
		cuts,
		at,
	);
	const [labels, scores, groups]: [number[], number[], number[]] = [[], [], []];
	const numbers = new Map<string, number>();
	const { vids: drawn } = await drawnVisitors(reader, defaultMaxScores, untilMs + horizonMsOf(goal));
	for (const [index, cutMs] of cutsMs.entries()) {
		const { outcomes } = await scoresAsOf(
			reader,
			{ goal, cutsMs, untilMs, seed, at, onProgress: () => {} },
			{ cutMs, untilMs: cutsMs[index + 1] ?? untilMs, knownToMs: Number.POSITIVE_INFINITY, drawn },
			numbers,
		);
		labels.push(...outcomes.labels);
		scores.push(...outcomes.served);
		groups.push(...outcomes.groups);
	}
	return {
		losses: logLosses(Uint8Array.from(labels), Float64Array.from(scores)),
		groups: Uint32Array.from(groups),
	};
}

/** Of the same visitors, in the same order. */
function together(one: Losses, other: Losses): Losses {
	return {
		losses: Float64Array.from([...one.losses, ...other.losses]),
		groups: Uint32Array.from([...one.groups, ...other.groups]),
	};
}

/** Three disjoint test sets of three tenths of the sessions each. */
async function shoppersLosses(file: string, left: readonly string[]): Promise<Losses> {
	const losses: number[] = [];
	for (const part of [0, 1, 2]) {
		const tests = (_: unknown, row: number) => Math.floor((row % 10) / 3) === part;
		const split = shoppersSplit(file, { without: left, tests, rowOrder: false });
		const scorer = new Scorer(train(split.train, { seed }).model);
		losses.push(
			...logLosses(
				Uint8Array.from(split.test, ({ label }) => label),
				Float64Array.from(split.test, (row) => scorer.score(row)),
			),
		);
	}
	return { losses: Float64Array.from(losses), groups: Uint32Array.from(losses.keys()) };
}

/** Each of the last four tenths of the sessions, in the order of the file, by what was known before. */
async function laterShoppersLosses(file: string): Promise<Losses> {
	const losses: number[] = [];
	for (const tenth of [6, 7, 8, 9]) {
		const from = Math.floor((shoppersRows * tenth) / 10);
		const to = Math.floor((shoppersRows * (tenth + 1)) / 10);
		const { train: before, test: after } = shoppersSplit(file, {
			without: ['PageValues'],
			tests: (_, row) => row >= from,
			rowOrder: true,
		});
		const scorer = new Scorer(train(before, { seed }).model);
		const next = after.slice(0, to - from);
		losses.push(
			...logLosses(
				Uint8Array.from(next, ({ label }) => label),
				Float64Array.from(next, (row) => scorer.score(row)),
			),
		);
	}
	return { losses: Float64Array.from(losses), groups: Uint32Array.from(losses.keys()) };
}

const shoppersRows = 12_330;

/** Public histories, and made-up ones of visits, of which there is no public data. What is computed for one serves the next. */
export function measuredHistories(files: {
	readonly sample: string;
	readonly shoppers: string;
}): NamedHistory[] {
	const histories = readHistories(files.sample);
	return [
		...[91, 28].flatMap((days) => {
			let [atCuts, afterPurchases]: Promise<Losses>[] = [];
			const cutLosses = () => (atCuts ??= backtestLosses(cdnowVisitors(histories), days, 'cut'));
			const hitLosses = () => (afterPurchases ??= backtestLosses(customersWhoVisit(histories), days, 'hit'));
			return [
				{ name: `CDNOW ${days} days, at cuts`, lossesOf: cutLosses },
				{ name: `CDNOW ${days} days, after purchases`, lossesOf: hitLosses },
				{
					name: `CDNOW ${days} days, both`,
					lossesOf: async () =>
						together(await backtestLosses(customersWhoVisit(histories), days, 'cut'), await hitLosses()),
				},
			];
		}),
		{ name: 'Shoppers, all features', lossesOf: () => shoppersLosses(files.shoppers, []) },
		{
			name: 'Shoppers, without PageValues',
			lossesOf: () => shoppersLosses(files.shoppers, ['PageValues']),
		},
		{ name: 'Shoppers, later tenths', lossesOf: () => laterShoppersLosses(files.shoppers) },
		...kindsOfRenewals
			.filter(({ isPublic }) => isPublic)
			.map((kind) => ({
				name: `renewals, ${kind.name.replace('published counts of ', '')}`,
				lossesOf: async () => {
					const { served, groups } = await renewalLosses(kind, seed);
					return { losses: served, groups };
				},
			})),
		...kindsOfHistory.map(({ name, at, horizonDays, evts, visitors }) => ({
			name: `made-up ${name}`,
			lossesOf: () => backtestLosses(visitors(seed), horizonDays, at, evts),
		})),
	];
}
