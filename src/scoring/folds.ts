import type { Dataset } from './dataset.ts';

/** Rows to learn from, and later rows to be judged by. Rows of a data set, in time order. */
export interface Fold {
	readonly earlier: Uint32Array;
	readonly later: Uint32Array;
	/** Earlier rows whose outcome was not known yet when the later rows begin had to be kept: there were too few others. */
	readonly overlaps: boolean;
}

const blocks = 5;
/** Fewer of either outcome teach nothing, and judge nothing. */
const fewestEarlier = 10;
const fewestLater = 5;

/**
 * Cuts rows in time order into five blocks of equal size, and has the third, fourth and fifth judge what all before them
 * teach. An earlier row counts as known `horizonMs` after its time. Folds in which either side is too small are left out.
 */
export function timeFolds(dataset: Dataset, rows: Uint32Array, horizonMs: number): Fold[] {
	const atMs = dataset.atMs(rows);
	const folds: Fold[] = [];
	for (let block = 2; block < blocks; block++) {
		const from = Math.floor((block * rows.length) / blocks);
		const to = Math.floor(((block + 1) * rows.length) / blocks);
		const later = rows.subarray(from, to);
		if (!hasBoth(dataset, later, fewestLater)) continue;
		const startMs = atMs[from] as number;
		let known = from;
		while (known > 0 && (atMs[known - 1] as number) + horizonMs > startMs) known--;
		if (hasBoth(dataset, rows.subarray(0, known), fewestEarlier))
			folds.push({ earlier: rows.subarray(0, known), later, overlaps: false });
		else if (hasBoth(dataset, rows.subarray(0, from), fewestEarlier))
			folds.push({ earlier: rows.subarray(0, from), later, overlaps: true });
	}
	return folds;
}

function hasBoth(dataset: Dataset, rows: Uint32Array, fewest: number): boolean {
	const conversions = dataset.labels(rows).reduce((sum, label) => sum + label, 0);
	return conversions >= fewest && rows.length - conversions >= fewest;
}

/** Every n-th row, so that at most `most` are left. */
export function thin(rows: Uint32Array, most: number): Uint32Array {
	const stride = Math.max(1, Math.ceil(rows.length / most));
	return stride === 1 ? rows : rows.filter((_, index) => index % stride === 0);
}
