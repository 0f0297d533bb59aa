import type { Interval } from './measure.ts';

const resamples = 1000;

/**
 * The mean of `values` with its percentile bootstrap interval. Whole groups are resampled, so that the values of one
 * visitor stay together.
 */
export function bootstrapMean(values: Float64Array, groups: Uint32Array, random: () => number): Interval {
	const groupOf = new Map<number, number>();
	const sums: number[] = [];
	const counts: number[] = [];
	for (const [row, value] of values.entries()) {
		let group = groupOf.get(groups[row] as number);
		if (group === undefined) {
			group = sums.push(0) - 1;
			counts.push(0);
			groupOf.set(groups[row] as number, group);
		}
		(sums[group] as number) += value;
		(counts[group] as number)++;
	}
	const means = Float64Array.from({ length: resamples }, () => {
		let [sum, count] = [0, 0];
		for (let draw = 0; draw < sums.length; draw++) {
			const group = Math.floor(random() * sums.length);
			sum += sums[group] as number;
			count += counts[group] as number;
		}
		return sum / count;
	}).sort();
	return {
		value: values.reduce((sum, value) => sum + value, 0) / values.length,
		low: means[Math.floor(0.025 * resamples)] as number,
		high: means[Math.floor(0.975 * resamples)] as number,
	};
}
