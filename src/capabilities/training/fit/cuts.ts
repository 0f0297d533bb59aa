/**
 * Cuts counted values, in ascending order, into at most `bins` bins with about the same number of rows. What a frequent
 * value takes beyond its share is missing in the bins after it, so that many zeros leave cuts for the rest. Cuts lie
 * between the values.
 */
export function cutsBetween(values: ArrayLike<number>, counts: ArrayLike<number>, bins: number): number[] {
	const cuts: number[] = [];
	let left = 0;
	for (let index = 0; index < counts.length; index++) left += counts[index] as number;
	let inBin = 0;
	for (let index = 0; index + 1 < values.length && cuts.length < bins - 1; index++) {
		inBin += counts[index] as number;
		if (inBin < left / (bins - cuts.length)) continue;
		cuts.push(((values[index] as number) + (values[index + 1] as number)) / 2);
		left -= inBin;
		inBin = 0;
	}
	return cuts;
}

/** Cuts sorted numbers into bins, see `cutsBetween`. */
export function quantileCuts(sorted: ArrayLike<number>, bins: number): number[] {
	const values: number[] = [];
	const counts: number[] = [];
	for (let index = 0; index < sorted.length; index++) {
		const value = sorted[index] as number;
		if (value === values[values.length - 1]) (counts[counts.length - 1] as number)++;
		else {
			values.push(value);
			counts.push(1);
		}
	}
	return cutsBetween(values, counts, bins);
}

/** How many bins `binOf` tells apart. */
export function binCount(cuts: ArrayLike<number>): number {
	return cuts.length + 2;
}
