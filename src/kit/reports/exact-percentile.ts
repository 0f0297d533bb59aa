import { rounded } from './journey.ts';

/** Up to which of the values so large a share of them lies, by the nearest-rank method. Undefined of none. */
export function valueAt(values: readonly number[], share: number): number | undefined {
	const sorted = Float64Array.from(values).sort();
	return sorted[Math.ceil(share * sorted.length) - 1];
}

/** The 50th, 75th and 90th percentiles of a list; nulls if it is empty. */
export function percentilesOf(values: readonly number[]) {
	const at = (share: number) => {
		const value = valueAt(values, share);
		return value === undefined ? null : rounded(value, 2);
	};
	return { p50: at(0.5), p75: at(0.75), p90: at(0.9) };
}
