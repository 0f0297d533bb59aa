import { type Dataset, rowsAt, valuesAt } from '../rows/dataset.ts';
import { type RecentRows, recentRows } from '../rows/recent-rows.ts';

/** Rows to learn from, and later rows to judge by. */
export interface Fold {
	readonly earlier: Dataset;
	/** The places of the earlier rows, and of the span, among all. */
	readonly earlierAt: Uint32Array;
	readonly spanAt: Uint32Array;
	readonly judged: Dataset;
	/** The judged rows, preceded by those that set their level. */
	readonly span: Dataset;
	/** Places in `span` of the latest rows whose outcome was known when the judged rows began. */
	readonly recent: RecentRows;
	/**
	 * Earlier rows with outcomes still unknown when the later rows begin were kept, because there were too few others. Half of
	 * the visitors teach and the others judge, so that no outcome is on both sides.
	 */
	readonly overlaps: boolean;
}

/** The first part is only for learning. Each block after it judges models of everything before. */
const teachingShare = 0.4;
const blocks = 5;
/** With fewer visitors of either outcome, a part cannot teach or judge. */
const minEarlier = 10;
const minLater = 5;

/**
 * Cuts rows in time order into a part for learning and five blocks, each of which judges models of everything before
 * it. A row's outcome is known `delayMs` after its time. Blocks with too few visitors on either side are left out.
 */
export function timeFolds(dataset: Dataset, delayMs: number): Fold[] {
	const { rows, groups } = dataset;
	const edge = (block: number) => Math.floor(rows * (teachingShare + ((1 - teachingShare) * block) / blocks));
	const folds: Fold[] = [];
	for (let block = 0; block < blocks; block++) {
		const [from, to] = [edge(block), edge(block + 1)];
		const known = placesOf(0, knownAt(dataset, from, delayMs));
		const overlaps = !hasBoth(dataset, known, minEarlier);
		const half = (places: Uint32Array, part: number) =>
			overlaps ? places.filter((row) => (groups[row] as number) % 2 === part) : places;
		const earlierAt = half(overlaps ? placesOf(0, from) : known, 0);
		const judgedAt = half(placesOf(from, to), 1);
		if (!hasBoth(dataset, earlierAt, minEarlier) || !hasBoth(dataset, judgedAt, minLater)) continue;
		const earlier = rowsAt(dataset, earlierAt);
		const recent = recentRows(earlier);
		const start = Math.min(...recent.map((places) => places[0] ?? earlier.rows));
		const spanAt = Uint32Array.from([...earlierAt.subarray(start), ...judgedAt]);
		folds.push({
			earlier,
			earlierAt,
			spanAt,
			judged: rowsAt(dataset, judgedAt),
			span: rowsAt(dataset, spanAt),
			recent: recent.map((places) => places.map((place) => place - start)),
			overlaps,
		});
	}
	return folds;
}

function placesOf(from: number, to: number): Uint32Array {
	return Uint32Array.from({ length: to - from }, (_, index) => from + index);
}

/** The number of rows before this one whose outcomes are known at its time. */
function knownAt({ atMs }: Dataset, row: number, delayMs: number): number {
	let known = row;
	while (known > 0 && (atMs[known - 1] as number) + delayMs > (atMs[row] as number)) known--;
	return known;
}

function hasBoth({ labels, groups }: Dataset, places: Uint32Array, min: number): boolean {
	return [0, 1].every((label) => {
		const having = places.filter((row) => labels[row] === label);
		return new Set(valuesAt(groups, having)).size >= min;
	});
}
