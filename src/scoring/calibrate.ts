import type { Line } from './level.ts';
import { logistic } from './measure.ts';
import type { Recency } from './recency.ts';

/**
 * Maps a model's log-odds to calibrated log-odds. Never decreasing, so the ranking among visitors of the same recency
 * stays. Plain data. Training makes lines; the other kinds are in models stored by earlier versions.
 */
export type Calibration =
	| { readonly kind: 'none' }
	/** A line for each recency. */
	| { readonly kind: 'by recency'; readonly horizonMs: number; readonly lines: readonly Line[] }
	| { readonly kind: 'platt'; readonly intercept: number; readonly slope: number }
	| { readonly kind: 'isotonic'; readonly from: readonly number[]; readonly to: readonly number[] };

/** The calibrated log-odds. */
export function calibrate(calibration: Calibration, logOdds: number, recency: Recency = 0): number {
	if (calibration.kind === 'none') return logOdds;
	if (calibration.kind === 'by recency') {
		const { slope, intercept } = calibration.lines[recency] as Line;
		return intercept + slope * logOdds;
	}
	if (calibration.kind === 'platt') return calibration.intercept + calibration.slope * logOdds;
	const { from, to } = calibration;
	let low = 0;
	let high = from.length;
	while (low < high) {
		const middle = (low + high) >>> 1;
		if ((from[middle] as number) <= logOdds) low = middle + 1;
		else high = middle;
	}
	// Beyond the first and last step, log-odds continue with slope 1.
	if (low === 0) return (to[0] as number) + logOdds - (from[0] as number);
	const [x0, y0] = [from[low - 1] as number, to[low - 1] as number];
	if (low === from.length) return y0 + logOdds - x0;
	return y0 + ((logOdds - x0) * ((to[low] as number) - y0)) / ((from[low] as number) - x0);
}

/** Platt scaling: the line in log-odds with the smallest log loss. */
export function fitPlatt(
	labels: Uint8Array,
	logOdds: Float64Array,
): { readonly kind: 'platt'; readonly intercept: number; readonly slope: number } {
	let [intercept, slope] = [0, 1];
	// A small penalty towards the identity keeps the line finite if the outcomes can be separated.
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
		// Limits Newton's step to the range where the curvature is a good approximation.
		const cut = Math.min(1, 2 / Math.max(Math.abs(step0), Math.abs(step1)));
		[step0, step1] = [step0 * cut, step1 * cut];
		intercept -= step0;
		slope -= step1;
		if (Math.max(Math.abs(step0), Math.abs(step1)) < 1e-10) break;
	}
	return { kind: 'platt', intercept, slope };
}
