import type { Dataset } from './dataset.ts';
import { type RecentRows, recentRows, type TimedRows } from './level.ts';

/** Judged rows that are scored with one level. */
export interface Piece {
	readonly from: number;
	readonly to: number;
	/** The rows that set the levels: the most recent whose outcome was known when the piece began. */
	readonly recent: RecentRows;
}

/** Rows to learn from, and later rows to be judged by. Rows of a data set, in time order. */
export interface Fold {
	readonly earlier: Uint32Array;
	/** The judged rows, and before them those that set their level. */
	readonly span: Uint32Array;
	/** Places in `span`; one after another they are the judged rows, which end it. */
	readonly pieces: readonly Piece[];
	/** Earlier rows whose outcome was not known yet when the later rows begin had to be kept: there were too few others. */
	readonly overlaps: boolean;
}

/** The first part only teaches; each block after it is judged by what all before it teach. */
const teachingShare = 0.4;
const blocks = 5;
/** So often within a block the level follows what has become known. */
const piecesPerBlock = 4;
/** Fewer of either outcome teach nothing, and judge nothing. */
const minEarlier = 10;
const minLater = 5;
const minRecent = 50;

/**
 * Cuts rows in time order into a part that teaches and five blocks, each of which judges what all before it teach. A row
 * counts as known `horizonMs` after its time. Blocks in which either side is too small are left out.
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
		const pieces = piecesOf(timed, from, to, horizonMs);
		const start = Math.min(...pieces.flatMap(({ recent }) => recent.map((places) => places[0] ?? from)));
		folds.push({
			earlier: rows.subarray(0, overlaps ? from : known),
			span: rows.subarray(start, to),
			pieces: pieces.map((piece) => ({
				from: piece.from - start,
				to: piece.to - start,
				recent: piece.recent.map((places) => places.map((place) => place - start)) as unknown as RecentRows,
			})),
			overlaps: overlaps || pieces.some(({ isKnown }) => !isKnown),
		});
	}
	return folds;
}

function piecesOf(
	timed: TimedRows,
	from: number,
	to: number,
	horizonMs: number,
): (Piece & { readonly isKnown: boolean })[] {
	const edge = (piece: number) => from + Math.floor(((to - from) * piece) / piecesPerBlock);
	return Array.from({ length: piecesPerBlock }, (_, piece) => {
		const known = knownAt(timed, edge(piece), horizonMs);
		const isKnown = known >= minRecent && hasBoth(timed.labels.subarray(0, known), 1);
		return {
			from: edge(piece),
			to: edge(piece + 1),
			recent: recentRows(timed, isKnown ? known : edge(piece)),
			isKnown,
		};
	}).filter((piece) => piece.to > piece.from);
}

/** How many of the rows before this one have outcomes that are known when it comes. */
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

/** Every n-th row, so that at most `most` are left. */
export function downsample(rows: Uint32Array, max: number): Uint32Array {
	const stride = Math.max(1, Math.ceil(rows.length / max));
	return stride === 1 ? rows : rows.filter((_, index) => index % stride === 0);
}
