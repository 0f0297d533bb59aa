/** A row of the table. */
export interface Row {
	readonly measure: string;
	readonly caskade: string;
	readonly baseline: string;
	/** Describes the baseline. */
	readonly comparedWith: string;
	/** Ratio of the medians; in brackets, the range of the single runs. */
	readonly ratio: string;
	readonly aim: string;
	readonly result: string;
}

const headings: Row = {
	measure: 'measured',
	caskade: 'Caskade',
	baseline: 'baseline',
	comparedWith: 'compared with',
	ratio: 'ratio (single runs)',
	aim: 'aim',
	result: '',
};

export function formatTable(rows: readonly Row[]): string {
	const columns = Object.keys(headings) as (keyof Row)[];
	const lines = [headings, ...rows];
	const widths = columns.map((column) => Math.max(...lines.map((line) => line[column].length)));
	const texts = lines.map((line) =>
		columns
			.map((column, index) => {
				const isNumber = column === 'caskade' || column === 'baseline';
				const width = widths[index] as number;
				return isNumber ? line[column].padStart(width) : line[column].padEnd(width);
			})
			.join('  ')
			.trimEnd(),
	);
	const rule = '-'.repeat(Math.max(...texts.map((text) => text.length)));
	return [texts[0], rule, ...texts.slice(1)].join('\n');
}

export function median(values: readonly number[]): number {
	const sorted = values.toSorted((a, b) => a - b);
	const middle = sorted.length >> 1;
	const upper = sorted[middle] ?? Number.NaN;
	return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** Formats a number rounded, with thousands separators. */
export function whole(value: number): string {
	return Math.round(value).toLocaleString('en');
}

/** A row that compares the rates of paired runs. More is better. Without an aim there is no verdict. */
export function compareRates(comparison: {
	measure: string;
	caskade: readonly number[];
	baseline: readonly number[];
	comparedWith: string;
	aim?: number | undefined;
}): Row {
	const { measure, caskade, baseline, comparedWith, aim } = comparison;
	const ratio = median(caskade) / median(baseline);
	const single = caskade.map((value, index) => value / (baseline[index] as number));
	const range = `${Math.min(...single).toFixed(2)} to ${Math.max(...single).toFixed(2)}`;
	return {
		measure,
		caskade: whole(median(caskade)),
		baseline: whole(median(baseline)),
		comparedWith,
		ratio: `${ratio.toFixed(2)} (${range})`,
		aim: aim === undefined ? '' : `${aim} or more`,
		result: aim === undefined ? '' : verdict(ratio >= aim),
	};
}

export function verdict(met: boolean): string {
	return met ? 'met' : 'MISSED';
}
