import { seededRandom } from '../../../kit/random.ts';
import { byScore, type Interval } from './measure.ts';

/** Visitors of an experiment, with what a model says of each. All columns have one value for each visitor. */
export interface JudgedVisitors {
	/** What treating the visitor is said to change; only the order counts. */
	readonly lifts: Float64Array;
	/** 1 if the visitor was treated, 0 if held out. */
	readonly treated: Uint8Array;
	/** 1 if the visitor reached the goal. */
	readonly labels: Uint8Array;
}

/** Resampled visitors: enough for the ends of an interval. */
const resamples = 500;

/**
 * The Qini coefficient, as scikit-uplift's `qini_auc_score` defines it: the area between the Qini curve (Radcliffe 2007,
 * "Using control groups to target on predicted lift") and the straight line to its end, as a share of the same area of a
 * perfect order. 0 is an order by chance, 1 the perfect one. A point of the curve is, of so many visitors with the highest
 * lifts, the conversions of the treated less those that as many held-out ones would have had. The interval is of the
 * percentile bootstrap over visitors. NaN where a group is empty, or nobody reached the goal.
 * @param coverage of the interval, such as .95
 */
export function qini(visitors: JudgedVisitors, coverage = 0.95, seed = 1): Interval {
	const order = byScore(visitors.lifts).reverse();
	const random = seededRandom(seed);
	const values = Float64Array.from({ length: resamples }, () => {
		const times = new Uint16Array(order.length);
		for (let drawn = 0; drawn < order.length; drawn++)
			(times[Math.floor(random() * order.length)] as number)++;
		return coefficient(visitors, order, times);
	})
		.filter((value) => !Number.isNaN(value))
		.sort();
	const at = (share: number) => values[Math.round(share * (values.length - 1))] ?? Number.NaN;
	return {
		value: coefficient(visitors, order),
		low: at((1 - coverage) / 2),
		high: at((1 + coverage) / 2),
	};
}

/** @param times how often each visitor counts; once by default */
function coefficient(
	{ lifts, treated, labels }: JudgedVisitors,
	order: Uint32Array,
	times?: Uint16Array,
): number {
	let [treatedCount, treatedReached, heldOut, heldOutReached] = [0, 0, 0, 0];
	let [area, lastVisitors, lastGain] = [0, 0, 0];
	for (let place = 0; place < order.length; place++) {
		const visitor = order[place] as number;
		const count = times ? (times[visitor] as number) : 1;
		if (treated[visitor]) {
			treatedCount += count;
			treatedReached += (labels[visitor] as number) * count;
		} else {
			heldOut += count;
			heldOutReached += (labels[visitor] as number) * count;
		}
		// Visitors of equal lift are one step.
		if (place + 1 < order.length && lifts[order[place + 1] as number] === lifts[visitor]) continue;
		const expected = heldOut === 0 ? 0 : (heldOutReached * treatedCount) / heldOut;
		const [visitors, gain] = [treatedCount + heldOut, treatedReached - expected];
		area += ((visitors - lastVisitors) * (gain + lastGain)) / 2;
		[lastVisitors, lastGain] = [visitors, gain];
	}
	const byChance = (lastVisitors * lastGain) / 2;
	// Treated visitors who reached the goal come first, held-out ones who did last.
	const perfect =
		treatedReached * (lastVisitors - heldOutReached - treatedReached / 2) +
		(heldOutReached * (treatedReached + lastGain)) / 2;
	return (area - byChance) / (perfect - byChance);
}
