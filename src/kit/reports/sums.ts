import { compareTexts } from '../../core/domain/compare-texts.ts';

export function sumOf<Row>(rows: Iterable<Row>, of: (row: Row) => number): number {
	let sum = 0;
	for (const row of rows) sum += of(row);
	return sum;
}

/** Names with their counts, the most frequent first. */
export function byCount(counts: Iterable<readonly [name: string, count: number]>) {
	return [...counts].sort(([a, m], [b, n]) => n - m || compareTexts(a, b));
}
