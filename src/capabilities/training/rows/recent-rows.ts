import { dayMs } from '../../../core/durations.ts';
import { recencies } from '../../../core/scoring/rows/recency.ts';
import type { Dataset } from './dataset.ts';

/** A rate of fewer visitors of either outcome is not reliable, so older rows are used as well. */
const enoughVisitors = 200;
/** Whole weeks, so that weekdays and weekends count alike. */
const minPeriodMs = 7 * dayMs;
/** This share of the known rows is recent if that is less, unless it has too few visitors of either outcome. */
const recentShare = 0.2;
export const minVisitors = 20;

/** Rows in time order. */
export type TimedRows = Pick<Dataset, 'atMs' | 'labels' | 'groups' | 'recency'>;

/** The recent rows that set the level of each recency; positions among the rows. */
export type RecentRows = readonly Uint32Array[];

/**
 * For each recency, its recent rows: those of the last week, and more until there are 200 visitors of either outcome, or
 * the latest fifth.
 */
export function recentRows(rows: TimedRows): RecentRows {
	return recencies.map((recency) => {
		const alike = [...rows.recency.keys()].filter((row) => rows.recency[row] === recency);
		return Uint32Array.from(alike.slice(startOfRecent(rows, alike)));
	});
}

function startOfRecent({ atMs, labels, groups }: TimedRows, among: readonly number[]): number {
	const timeOf = (place: number) => atMs[among[place] as number] as number;
	const latestFifth = among.length - Math.max(1, Math.ceil(among.length * recentShare));
	const lastMs = timeOf(among.length - 1);
	const seen = [new Set<number>(), new Set<number>()] as const;
	for (let place = among.length - 1; place > 0; place--) {
		const row = among[place] as number;
		seen[labels[row] as 0 | 1].add(groups[row] as number);
		// Keeps rows of one moment together.
		if (timeOf(place) === timeOf(place - 1)) continue;
		const rarer = Math.min(seen[0].size, seen[1].size);
		const isEnough = rarer >= enoughVisitors && lastMs - timeOf(place) >= minPeriodMs;
		if (isEnough || (place <= latestFifth && rarer >= minVisitors)) return place;
	}
	return 0;
}
