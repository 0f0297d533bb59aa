import { countBelow } from '../rows/count-below.ts';

const gridPoints = 201;

/** The quantiles of scores at 0, 0.5, 1 … 100 %: enough to rank a score among them. Empty if there are none. */
export function quantiles(scores: ArrayLike<number>): number[] {
	const sorted = Float64Array.from(scores).sort();
	if (sorted.length === 0) return [];
	return Array.from({ length: gridPoints }, (_, point) => {
		const at = (point / (gridPoints - 1)) * (sorted.length - 1);
		const below = sorted[Math.floor(at)] as number;
		return below + (at % 1) * ((sorted[Math.ceil(at)] as number) - below);
	});
}

/**
 * The share of scores below this one, 0 to 100, by their quantiles. A score that many share gets the middle of their
 * ranks. 50 if there are no quantiles.
 */
export function percentile(grid: readonly number[], score: number): number {
	const below = countBelow(grid, (quantile) => quantile < score);
	const upTo = countBelow(grid, (quantile) => quantile <= score);
	if (grid.length === 0) return 50;
	const lastPoint = grid.length - 1;
	if (upTo > below) return (50 * (below + upTo - 1)) / lastPoint;
	if (below === 0) return 0;
	if (below === grid.length) return 100;
	const [low, high] = [grid[below - 1] as number, grid[below] as number];
	return (100 * (below - 1 + (score - low) / (high - low))) / lastPoint;
}
