import { byScore, logistic } from './measure.ts';

/** How a model's log-odds become calibrated log-odds. Always strictly increasing: the ranking stays. Plain data. */
export type Calibration =
	| { readonly kind: 'none' }
	| { readonly kind: 'platt'; readonly intercept: number; readonly slope: number }
	| { readonly kind: 'isotonic'; readonly from: readonly number[]; readonly to: readonly number[] };

/** Rows of one value of the base rate that an isotonic step is mixed with, so that no step is 0 or 1. */
const shrinkageRows = 2;

/** The calibrated log-odds. */
export function calibrate(calibration: Calibration, logOdds: number): number {
	if (calibration.kind === 'none') return logOdds;
	if (calibration.kind === 'platt') return calibration.intercept + calibration.slope * logOdds;
	const { from, to } = calibration;
	let low = 0;
	let high = from.length;
	while (low < high) {
		const middle = (low + high) >>> 1;
		if ((from[middle] as number) <= logOdds) low = middle + 1;
		else high = middle;
	}
	// Beyond the last step on either side the log-odds go on with slope 1.
	if (low === 0) return (to[0] as number) + logOdds - (from[0] as number);
	const [x0, y0] = [from[low - 1] as number, to[low - 1] as number];
	if (low === from.length) return y0 + logOdds - x0;
	return y0 + ((logOdds - x0) * ((to[low] as number) - y0)) / ((from[low] as number) - x0);
}

/** Platt's scaling: the straight line in log-odds with the least log loss. */
export function fitPlatt(
	labels: Uint8Array,
	logOdds: Float64Array,
): { readonly kind: 'platt'; readonly intercept: number; readonly slope: number } {
	let [intercept, slope] = [0, 1];
	// A trace of a penalty towards "as it is" keeps the line finite where the outcomes can be separated.
	const penalty = 1e-3;
	for (let step = 0; step < 50; step++) {
		let [g0, g1] = [penalty * intercept, penalty * (slope - 1)];
		let [h00, h01, h11] = [penalty, 0, penalty];
		for (let row = 0; row < logOdds.length; row++) {
			const x = logOdds[row] as number;
			const rate = logistic(intercept + slope * x);
			const residual = rate - (labels[row] as number);
			const curvature = rate * (1 - rate);
			g0 += residual;
			g1 += residual * x;
			h00 += curvature;
			h01 += curvature * x;
			h11 += curvature * x * x;
		}
		const determinant = h00 * h11 - h01 * h01;
		let [step0, step1] = [(h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant];
		// Newton's steps are cut to a length at which the curvature still says something.
		const cut = Math.min(1, 2 / Math.max(Math.abs(step0), Math.abs(step1)));
		[step0, step1] = [step0 * cut, step1 * cut];
		intercept -= step0;
		slope -= step1;
		if (Math.max(Math.abs(step0), Math.abs(step1)) < 1e-10) break;
	}
	return { kind: 'platt', intercept, slope };
}

/** Isotonic regression (pool adjacent violators), with straight lines between the middles of its steps. */
export function fitIsotonic(labels: Uint8Array, logOdds: Float64Array): Calibration {
	const blocks: { rows: number; conversions: number; logOdds: number }[] = [];
	for (const row of byScore(logOdds)) {
		let block = { rows: 1, conversions: labels[row] as number, logOdds: logOdds[row] as number };
		for (;;) {
			const before = blocks[blocks.length - 1];
			if (!before || before.conversions * block.rows < block.conversions * before.rows) break;
			blocks.pop();
			block = {
				rows: before.rows + block.rows,
				conversions: before.conversions + block.conversions,
				logOdds: before.logOdds + block.logOdds,
			};
		}
		blocks.push(block);
	}
	const baseRate = (labels.reduce((sum, label) => sum + label, 0) + 0.5) / (labels.length + 1);
	const from: number[] = [];
	const to: number[] = [];
	for (const { rows, conversions, logOdds: sum } of blocks) {
		const rate = (conversions + shrinkageRows * baseRate) / (rows + shrinkageRows);
		const [x, y] = [sum / rows, Math.log(rate / (1 - rate))];
		// Shrinking a small step more than its neighbour can undo the order; such a step is left out.
		if (to.length > 0 && (y <= (to[to.length - 1] as number) || x <= (from[from.length - 1] as number)))
			continue;
		from.push(x);
		to.push(y);
	}
	return { kind: 'isotonic', from, to };
}
