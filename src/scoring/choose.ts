import { bootstrapMean } from './bootstrap.ts';
import { type Calibration, calibrate, fitIsotonic, fitPlatt } from './calibrate.ts';
import { bestStrength, bestTreeCount, type Candidate, laterLosses, type PreparedFold } from './candidates.ts';
import { type Interval, logistic, logLosses } from './measure.ts';

/** What was chosen on later rows, why, and what the chosen models say of those rows. */
export interface Choice {
	readonly kind: 'logistic' | 'boosting';
	readonly strength: number;
	readonly trees: number;
	readonly logisticLogLoss: number;
	readonly boostingLogLoss: number;
	/** By how much boosting lowers the mean log loss of a later row. */
	readonly boostingGain: Interval;
	readonly calibration: Calibration;
	/** By how much the better of the two calibrations lowers it; undefined where none could be judged. */
	readonly calibrationGain: { readonly kind: 'platt' | 'isotonic'; readonly gain: Interval } | undefined;
	/** Before calibration, for each fold. */
	readonly logOdds: readonly Float64Array[];
}

/**
 * Chooses the kind of model, its setting and its calibration by how likely they make later rows. The simpler wins unless
 * the interval of the difference says otherwise: logistic before boosting, no calibration before one.
 */
export function choose(folds: readonly PreparedFold[], random: () => number): Choice {
	const logisticModel = bestStrength(folds);
	const boosting = bestTreeCount(folds);
	const groups = laterGroups(folds);
	const boostingGain = bootstrapMean(
		difference(laterLosses(folds, logisticModel.logOdds), laterLosses(folds, boosting.logOdds)),
		groups,
		random,
	);
	const kind = boostingGain.low > 0 ? 'boosting' : 'logistic';
	const { logOdds }: Candidate = kind === 'boosting' ? boosting : logisticModel;
	return {
		kind,
		strength: logisticModel.setting,
		trees: boosting.setting,
		logisticLogLoss: logisticModel.logLoss,
		boostingLogLoss: boosting.logLoss,
		boostingGain,
		...chooseCalibration(folds, logOdds, random),
		logOdds,
	};
}

/** Calibrations are fitted on all folds but the last, judged on the last, and then fitted on all. */
function chooseCalibration(
	folds: readonly PreparedFold[],
	logOdds: readonly Float64Array[],
	random: () => number,
): Pick<Choice, 'calibration' | 'calibrationGain'> {
	const none = { calibration: { kind: 'none' }, calibrationGain: undefined } as const;
	const last = folds[folds.length - 1] as PreparedFold;
	// A model that has been told outcomes of later time says too well what comes then; a served one is told none.
	if (folds.length < 2 || folds.some(({ overlaps }) => overlaps)) return none;
	const raw = logOdds[folds.length - 1] as Float64Array;
	const rawLosses = logLosses(last.later.labels, raw.map(logistic));
	const before = pooled(folds.slice(0, -1), logOdds);
	const all = pooled(folds, logOdds);
	const tried = [
		{ kind: 'platt' as const, fit: fitPlatt },
		{ kind: 'isotonic' as const, fit: fitIsotonic },
	].map(({ kind, fit }) => {
		const calibration = fit(before.labels, before.logOdds);
		const scores = raw.map((value) => logistic(calibrate(calibration, value)));
		const gains = difference(rawLosses, logLosses(last.later.labels, scores));
		return { kind, fit, gain: bootstrapMean(gains, last.laterGroups, random) };
	});
	const [best] = tried.sort((a, b) => b.gain.value - a.gain.value);
	if (!best) return none;
	const { kind, gain, fit } = best;
	const calibration = gain.low > 0 ? fit(all.labels, all.logOdds) : none.calibration;
	return {
		// A line that does not rise would turn the ranking round.
		calibration: calibration.kind === 'platt' && calibration.slope <= 0 ? none.calibration : calibration,
		calibrationGain: { kind, gain },
	};
}

function pooled(
	folds: readonly PreparedFold[],
	logOdds: readonly Float64Array[],
): { labels: Uint8Array; logOdds: Float64Array } {
	return {
		labels: Uint8Array.from(folds.flatMap(({ later }) => Array.from(later.labels))),
		logOdds: Float64Array.from(folds.flatMap((_, fold) => Array.from(logOdds[fold] as Float64Array))),
	};
}

/** The groups of all later rows, fold after fold. */
export function laterGroups(folds: readonly PreparedFold[]): Uint32Array {
	return Uint32Array.from(folds.flatMap((fold) => Array.from(fold.laterGroups)));
}

/** By how much each of `b` is below `a`. */
export function difference(a: Float64Array, b: Float64Array): Float64Array {
	return a.map((value, index) => value - (b[index] as number));
}
