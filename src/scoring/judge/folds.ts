import { type Dataset, rangeOf } from '../rows/dataset.ts';
import { type RecentRows, recentRows } from './level.ts';

/** Rows to learn from, and later rows to judge by. */
export interface Fold {
	readonly earlier: Dataset;
	readonly judged: Dataset;
	/** The judged rows, preceded by those that set their level. */
	readonly span: Dataset;
	/** The place of the span's first row. */
	readonly start: number;
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
 * it. A row's outcome is known `delayMs` after its time. Blocks with too few rows on either side are left out.
 */
export function timeFolds(dataset: Dataset, delayMs: number): Fold[] {
	const { rows, labels } = dataset;
	const edge = (block: number) => Math.floor(rows * (teachingShare + ((1 - teachingShare) * block) / blocks));
	const folds: Fold[] = [];
	for (let block = 0; block < blocks; block++) {
		const [from, to] = [edge(block), edge(block + 1)];
		if (!hasBoth(labels.subarray(from, to), minLater)) continue;
		const known = knownAt(dataset, from, delayMs);
		const overlaps = !hasBoth(labels.subarray(0, known), minEarlier);
		if (overlaps && !hasBoth(labels.subarray(0, from), minEarlier)) continue;
		const end = overlaps ? from : known;
		const recent = recentRows(rangeOf(dataset, 0, end));
		const start = Math.min(...recent.map((places) => places[0] ?? from));
		folds.push({
			earlier: rangeOf(dataset, 0, end),
			judged: rangeOf(dataset, from, to),
			span: rangeOf(dataset, start, to),
			start,
			recent: recent.map((places) => places.map((place) => place - start)),
			overlaps,
		});
	}
	return folds;
}

/** The number of rows before this one whose outcomes are known at its time. */
function knownAt({ atMs }: Dataset, row: number, delayMs: number): number {
	let known = row;
	while (known > 0 && (atMs[known - 1] as number) + delayMs > (atMs[row] as number)) known--;
	return known;
}

function hasBoth(labels: Uint8Array, min: number): boolean {
	const conversions = labels.reduce((sum, label) => sum + label, 0);
	return conversions >= min && labels.length - conversions >= min;
}
