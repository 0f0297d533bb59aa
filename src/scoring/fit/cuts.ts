/**
 * Cuts sorted numbers into at most `bins` bins with about the same number of rows. A value that would fill a bin gets a
 * bin of its own, so that many zeros leave cuts for the rest. Cuts lie between the values seen.
 */
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

/** The same for counted values. */
export function cutsBetween(values: readonly number[], counts: readonly number[], bins: number): number[] {
	const heavy = heavyValues(counts, bins);
	let lightRows = 0;
	for (const [index, count] of counts.entries()) if (!heavy[index]) lightRows += count;
	const heavyCount = heavy.filter((isHeavy) => isHeavy).length;
	const rowsPerBin = lightRows / Math.max(1, bins - heavyCount);
	const cuts: number[] = [];
	let inBin = 0;
	for (let index = 0; index + 1 < values.length && cuts.length < bins - 1; index++) {
		inBin += counts[index] as number;
		if (!heavy[index] && !heavy[index + 1] && inBin < rowsPerBin) continue;
		cuts.push(((values[index] as number) + (values[index + 1] as number)) / 2);
		inBin = 0;
	}
	return cuts;
}

/** The values that fill a bin. Their bins make the others smaller, which may make more values heavy. */
function heavyValues(counts: readonly number[], bins: number): boolean[] {
	const heavy = counts.map(() => false);
	let rows = counts.reduce((sum, count) => sum + count, 0);
	let binsLeft = bins;
	for (let found = true; found && binsLeft > 1; ) {
		found = false;
		const limit = rows / binsLeft;
		for (const [index, count] of counts.entries())
			if (!heavy[index] && count >= limit && binsLeft > 1) {
				heavy[index] = true;
				rows -= count;
				binsLeft--;
				found = true;
			}
	}
	return heavy;
}

/** The bin of a number: 0 if it is missing, else 1 + the number of cuts below it. */
export function binOf(cuts: ArrayLike<number>, value: number): number {
	if (Number.isNaN(value)) return 0;
	let low = 0;
	let high = cuts.length;
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (value > (cuts[middle] as number)) low = middle + 1;
		else high = middle;
	}
	return low + 1;
}

/** How many bins `binOf` tells apart. */
export function binCount(cuts: ArrayLike<number>): number {
	return cuts.length + 2;
}
