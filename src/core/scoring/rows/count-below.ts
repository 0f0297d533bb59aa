/** How many of sorted values come before the first that is not below. A look at few of them, by halves. */
export function countBelow<Value>(
	sorted: { readonly length: number; readonly [place: number]: Value },
	isBelow: (value: Value) => boolean,
): number {
	let low = 0;
	let high = sorted.length;
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (isBelow(sorted[middle] as Value)) low = middle + 1;
		else high = middle;
	}
	return low;
}
