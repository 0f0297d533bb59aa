/**
 * A percentile by nearest rank: the smallest value that at least `share` of the values do not exceed.
 * @param share above 0, up to 1
 */
export function percentile(values: readonly number[], share: number): number {
	const sorted = values.toSorted((a, b) => a - b);
	return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
}
