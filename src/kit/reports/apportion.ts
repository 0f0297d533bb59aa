/**
 * Splits an integer in proportion to shares, by largest remainder: the parts are integers and add up exactly. Of equal
 * remainders, the first is rounded up.
 * @param shares add up to 1
 */
export function apportion(total: number, shares: ArrayLike<number>): number[] {
	const exact = Array.from(shares, (share) => share * total);
	const parts = exact.map(Math.floor);
	const left = total - parts.reduce((sum, part) => sum + part, 0);
	const byRemainder = exact
		.map((value, index) => ({ index, remainder: value - Math.floor(value) }))
		.sort((a, b) => b.remainder - a.remainder || a.index - b.index);
	for (const { index } of byRemainder.slice(0, left)) (parts[index] as number)++;
	return parts.map((part) => part || 0);
}
