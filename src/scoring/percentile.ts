const gridPoints = 201;

/** Evenly spaced quantiles of some scores, which stand for all of them; empty where there are none. */
export function quantileGrid(scores: readonly number[]): number[] {
	if (scores.length === 0) return [];
	const sorted = Float64Array.from(scores).sort();
	const last = sorted.length - 1;
	return Array.from(
		{ length: Math.min(gridPoints, sorted.length) },
		(_, index, points = Math.min(gridPoints, sorted.length)) =>
			points === 1 ? (sorted[0] as number) : (sorted[Math.round((index * last) / (points - 1))] as number),
	);
}

/**
 * How many of 100 have a lower score; those that have the same count half. 50 where there is nothing to compare with.
 * @param grid as `quantileGrid` makes it
 */
export function percentileOf(grid: readonly number[], score: number): number {
	if (grid.length === 0) return 50;
	const below = firstIndex(grid, (value) => value >= score);
	const notAbove = firstIndex(grid, (value) => value > score);
	return Math.round((50 * (below + notAbove)) / grid.length);
}

/** By bisection: the values are sorted, so the condition holds from some place on. */
function firstIndex(grid: readonly number[], holds: (value: number) => boolean): number {
	let from = 0;
	let to = grid.length;
	while (from < to) {
		const middle = (from + to) >> 1;
		if (holds(grid[middle] as number)) to = middle;
		else from = middle + 1;
	}
	return from;
}
