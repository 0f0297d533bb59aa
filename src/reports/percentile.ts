import { rounded } from './journey.ts';

/** The 50th, 75th and 90th percentiles of a list; nulls if it is empty. */
export interface Percentiles {
	readonly p50: number | null;
	readonly p75: number | null;
	readonly p90: number | null;
}

/** By the nearest-rank method: each percentile is one of the values. */
export function percentilesOf(values: readonly number[]): Percentiles {
	const sorted = Float64Array.from(values).sort();
	const at = (percent: number) =>
		sorted.length === 0 ? null : rounded(sorted[Math.ceil((percent * sorted.length) / 100) - 1] as number, 2);
	return { p50: at(50), p75: at(75), p90: at(90) };
}
