/** A figure that must not exceed a bound. One value for each seed, or for each history. */
export interface Aim {
	readonly name: string;
	/** Lower is better. */
	readonly values: readonly number[];
	readonly max: number;
	/** Printed for comparison only. */
	readonly informative?: boolean;
}

/** Prints an aim's median and worst value. @returns whether it is met */
export function printAim({ name, values, max, informative = false }: Aim): boolean {
	const sorted = [...values].sort((a, b) => a - b);
	const worst = sorted.at(-1) ?? Number.NaN;
	const isMet = worst <= max;
	const figures = [sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN, worst, max];
	const verdict = isMet ? '' : informative ? 'above, informative' : 'MISSED';
	process.stdout.write(
		`${name.padEnd(66)}${figures.map((figure) => figure.toFixed(4).padStart(9)).join('')}${String(values.length).padStart(4)}  ${verdict}\n`,
	);
	return isMet || informative;
}

export function printAimHeader(): void {
	process.stdout.write(
		`${''.padEnd(66)}${['median', 'worst', 'at most'].map((text) => text.padStart(9)).join('')}   n\n`,
	);
}
