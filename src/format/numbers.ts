const numbers = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 1 });

/** Formats a number for people: 1,234.5. */
export function formatNumber(value: number): string {
	return numbers.format(value);
}

/** Formats a share for people: 12.3 %, and small ones more exactly: 1.23 %. */
export function formatShare(share: number): string {
	return `${(100 * share).toFixed(share < 0.1 ? 2 : 1)} %`;
}

/** A number of things: 1 row, 1,234 rows. */
export function counted(count: number, noun: string): string {
	return `${formatNumber(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** Joins words into one: a, b and c. */
export function listed(words: readonly (string | number)[]): string {
	return new Intl.ListFormat('en-GB').format(words.map(String));
}
