import { logistic } from '../../../core/scoring/model/log-odds.ts';
import { valuesAt } from '../rows/dataset.ts';
import { minVisitors, type RecentRows, type TimedRows } from '../rows/recent-rows.ts';

/**
 * For each recency, the shift of the log-odds that makes the mean score of its rows the share of them that reached the
 * goal. With fewer than 20 visitors of either outcome, it is that of all rows.
 */
export function levelShifts(
	recent: RecentRows,
	logOdds: Float64Array,
	{ labels, groups }: Pick<TimedRows, 'labels' | 'groups'>,
): number[] {
	const shiftOf = (places: Uint32Array) => levelShift(valuesAt(logOdds, places), valuesAt(labels, places));
	const ofAll = shiftOf(Uint32Array.from(recent.flatMap((places) => [...places])));
	return recent.map((places) => {
		const visitorsOf = (label: number) =>
			new Set(places.filter((place) => labels[place] === label).map((place) => groups[place] as number)).size;
		const isProven = Math.min(visitorsOf(0), visitorsOf(1)) >= minVisitors;
		return isProven ? shiftOf(places) : ofAll;
	});
}

/** The rate of labels. If all are alike, half a row of the other outcome is added, so that the log-odds stay finite. */
export function rateOf(labels: ArrayLike<number>): number {
	let conversions = 0;
	for (let row = 0; row < labels.length; row++) conversions += labels[row] as number;
	return conversions === 0 || conversions === labels.length
		? (conversions + 0.5) / (labels.length + 1)
		: conversions / labels.length;
}

/** Newton's last step, which leaves an error of about its square. */
const lastStep = 1e-5;

/** The shift of log-odds that makes their mean probability the rate of the labels. */
export function levelShift(logOdds: Float64Array, labels: Uint8Array): number {
	if (labels.length === 0) return 0;
	const rate = rateOf(labels);
	const rateLogOdds = Math.log(rate / (1 - rate));
	let [low, high] = [-40, 40];
	let shift = 0;
	for (let step = 0; step < 100; step++) {
		let [sum, curvature] = [0, 0];
		// Training spends much of its time in this loop.
		for (let row = 0; row < logOdds.length; row++) {
			const probability = logistic((logOdds[row] as number) + shift);
			sum += probability;
			curvature += probability * (1 - probability);
		}
		const mean = sum / logOdds.length;
		// Newton's step for the log-odds of the mean, which are almost a line.
		const change =
			((rateLogOdds - Math.log(mean / (1 - mean))) * mean * (1 - mean) * logOdds.length) / curvature;
		if (Math.abs(change) < lastStep) return shift + change;
		if (mean > rate) high = shift;
		else low = shift;
		const next = shift + change;
		shift = next > low && next < high ? next : (low + high) / 2;
	}
	return shift;
}
