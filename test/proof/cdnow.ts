import { readFileSync } from 'node:fs';
import { datasetOf } from '../../src/capabilities/training/rows/dataset.ts';
import { dayMs } from '../../src/core/durations.ts';
import { type Example, type FeatureRow, featureSet } from '../../src/core/scoring/rows/features.ts';
import type { Split } from './split.ts';

export interface Purchase {
	readonly atMs: number;
	readonly discs: number;
	readonly dollars: number;
}

export type Histories = ReadonlyMap<string, readonly Purchase[]>;

const features = featureSet(
	[
		'purchases',
		'days since last purchase',
		'days since first purchase',
		'purchases in 30 days',
		'purchases in 90 days',
		'days between purchases',
		'discs',
		'dollars',
		'dollars of last purchase',
		'last purchase over first in age',
	],
	[],
);

/** Reads a CDNOW file. The customer's id is the first column; date, CDs and dollars are the last three. */
export function readHistories(file: string): Histories {
	const histories = new Map<string, Purchase[]>();
	for (const line of readFileSync(file, 'utf8').trim().split(/\r?\n/)) {
		if (!/^\s*\d/.test(line)) continue;
		const fields = line.trim().split(/\s+/);
		const [date = '', discs, dollars] = fields.slice(-3);
		const history = histories.get(fields[0] ?? '') ?? [];
		history.push({ atMs: dateMs(date), discs: Number(discs), dollars: Number(dollars) });
		histories.set(fields[0] ?? '', history);
	}
	return histories;
}

export function dateMs(date: string): number {
	return Date.UTC(Number(date.slice(0, 4)), Number(date.slice(4, 6)) - 1, Number(date.slice(6, 8)));
}

/** The features of a customer at the end of a day; undefined before the first purchase. */
function rowAsOf(history: readonly Purchase[], asOfMs: number): FeatureRow | undefined {
	const known = history.filter(({ atMs }) => atMs <= asOfMs);
	const [first, last] = [known[0], known[known.length - 1]];
	if (!first || !last) return undefined;
	const since = (atMs: number) => (asOfMs - atMs) / dayMs;
	const within = (days: number) => known.filter(({ atMs }) => since(atMs) < days).length;
	const sum = (of: (purchase: Purchase) => number) =>
		known.reduce((total, purchase) => total + of(purchase), 0);
	return {
		numeric: [
			known.length,
			since(last.atMs),
			since(first.atMs),
			within(30),
			within(90),
			known.length > 1 ? (last.atMs - first.atMs) / dayMs / (known.length - 1) : Number.NaN,
			sum(({ discs }) => discs),
			sum(({ dollars }) => dollars),
			last.dollars,
			since(first.atMs) > 0 ? since(last.atMs) / since(first.atMs) : 0,
		],
		categorical: [],
	};
}

function* examples(histories: Histories, asOf: string, days: number): Generator<Example> {
	const asOfMs = dateMs(asOf);
	for (const [group, history] of histories) {
		const row = rowAsOf(history, asOfMs);
		const buys = history.some(({ atMs }) => atMs > asOfMs && atMs <= asOfMs + days * dayMs);
		if (row) yield { ...row, label: buys ? 1 : 0, atMs: asOfMs, group };
	}
}

/** Whether a customer of the sample buys in the 39 weeks after 1997-09-30, learned from all other customers. */
export function sampleSplit(masterFile: string, sampleFile: string): Split {
	const sample = readHistories(sampleFile);
	const others = new Map([...readHistories(masterFile)].filter(([customer]) => !sample.has(customer)));
	return {
		train: datasetOf(features, examples(others, '19970930', 39 * 7)),
		test: [...examples(sample, '19970930', 39 * 7)],
	};
}

/**
 * Whether a customer buys in the 13 weeks after 1997-09-30, learned from the 13 weeks after 1997-06-30.
 * @param every trains on every n-th customer only
 */
export function aheadSplit(masterFile: string, every: number): Split {
	const histories = readHistories(masterFile);
	const learned = new Map([...histories].filter((_, index) => index % every === 0));
	return {
		train: datasetOf(features, examples(learned, '19970630', 13 * 7)),
		test: [...examples(histories, '19970930', 13 * 7)],
	};
}
