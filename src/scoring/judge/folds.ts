import type { Dataset } from '../rows/dataset.ts';
import { type RecentRows, recentRows, type TimedRows } from './level.ts';

/** Rows to learn from, and later rows to judge by. Rows of a data set, in time order. */
export interface Fold {
	readonly earlier: Uint32Array;
	/** The judged rows, preceded by those that set their level. */
	readonly span: Uint32Array;
	/** The place in `span` where the judged rows begin. */
	readonly judgedFrom: number;
	/** Places in `span` of the latest rows whose outcome was known when the judged rows began. */
	readonly recent: RecentRows;
	/**
	 * Earlier rows with outcomes still unknown when the later rows begin were kept, because there were too few others.
	 */
	readonly overlaps: boolean;
}

/** The first part is only for learning. Each block after it judges models of everything before. */
const teachingShare = 0.4;
const blocks = 5;
/** With fewer rows of either outcome, a part cannot teach or judge. */
const minEarlier = 10;
const minLater = 5;

/**
 * Cuts rows in time order into a part for learning and five blocks, each of which judges models of everything before
 * it. A row's outcome is known `horizonMs` after its time. Blocks with too few rows on either side are left out.
 */
export function timeFolds(dataset: Dataset, rows: Uint32Array, horizonMs: number): Fold[] {
	const timed = dataset.timed(rows);
	const edge = (block: number) =>
		Math.floor(rows.length * (teachingShare + ((1 - teachingShare) * block) / blocks));
	const folds: Fold[] = [];
	for (let block = 0; block < blocks; block++) {
		const [from, to] = [edge(block), edge(block + 1)];
		if (!hasBoth(timed.labels.subarray(from, to), minLater)) continue;
		const known = knownAt(timed, from, horizonMs);
		const overlaps = !hasBoth(timed.labels.subarray(0, known), minEarlier);
		if (overlaps && !hasBoth(timed.labels.subarray(0, from), minEarlier)) continue;
		const end = overlaps ? from : known;
		const recent = recentRows(timed, end);
		const start = Math.min(...recent.map((places) => places[0] ?? from));
		folds.push({
			earlier: rows.subarray(0, end),
			span: rows.subarray(start, to),
			judgedFrom: from - start,
			recent: recent.map((places) => places.map((place) => place - start)),
			overlaps,
		});
	}
	return folds;
}

/** The number of rows before this one whose outcomes are known at its time. */
function knownAt({ atMs }: TimedRows, row: number, horizonMs: number): number {
	let known = row;
	while (known > 0 && (atMs[known - 1] as number) + horizonMs > (atMs[row] as number)) known--;
	return known;
}

function hasBoth(labels: Uint8Array, min: number): boolean {
	let conversions = 0;
	for (const label of labels) conversions += label;
	return conversions >= min && labels.length - conversions >= min;
}

/** Every n-th row, so that at most `max` are left. */
export function downsample(rows: Uint32Array, max: number): Uint32Array {
	const stride = Math.max(1, Math.ceil(rows.length / max));
	return stride === 1 ? rows : rows.filter((_, index) => index % stride === 0);
}
