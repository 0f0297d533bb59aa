const numbers = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 1 });

/**
 * The text of a number for people. Its sign is a minus, at which no line breaks, not a hyphen; what is rounded to zero has none. Files and
 * programs get numbers, not these texts.
 */
export function withMinus(text: string): string {
	return text.replace('-', /[1-9]/.test(text) ? '−' : '');
}

/** Formats a number for people: 1,234.5. */
export function formatNumber(value: number): string {
	return withMinus(numbers.format(value));
}

/** Formats a share for people: 12.3 %, and small ones more exactly: 1.23 %. */
export function formatShare(share: number): string {
	return formatPercent(share, Math.abs(share) < 0.1 ? 2 : 1);
}

/** Formats a share with this many decimals, such as those that others beside it have. */
export function formatPercent(share: number, decimals: number): string {
	return `${withMinus((100 * share).toFixed(decimals))} %`;
}

/** A number of things: 1 row, 1,234 rows. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
	return `${formatNumber(count)} ${count === 1 ? noun : plural}`;
}

/** Joins words into one: a, b and c. */
export function listed(words: readonly (string | number)[]): string {
	return new Intl.ListFormat('en-GB').format(words.map(String));
}
