import type { CalibrationBin, Interval, RocPoint } from './measure.ts';
import type { Model } from './model.ts';

/** How well a model did on rows later than all that it had learned from. */
export interface LaterMeasures {
	readonly rows: number;
	readonly conversions: number;
	readonly auc: Interval;
	readonly logLoss: number;
	/** The log loss of giving every row the earlier rows' base rate. */
	readonly baseRateLogLoss: number;
	readonly brier: number;
	readonly expectedCalibrationError: number;
	readonly calibrationTable: readonly CalibrationBin[];
	/** 1 where scores spread as much as they should; below 1 where they are too sure. */
	readonly calibrationSlope: number;
	readonly roc: readonly RocPoint[];
	/** Rows in each twentieth of the scores from 0 to 1. */
	readonly scoreHistogram: readonly number[];
}

export interface TopFeature {
	readonly name: string;
	/** By how many log-odds it moves a score, on average over the latest rows. */
	readonly meanLogOdds: number;
	/** Whether more of it raises or lowers the score; texts are named that raise it most. */
	readonly direction: string;
}

/** What a training tells. Plain data. */
export interface TrainingReport {
	readonly rows: number;
	readonly conversions: number;
	readonly baseRate: number;
	readonly seed: number;
	/** What is served. */
	readonly kind: Model['kind'];
	/** What was chosen, and why, in sentences. */
	readonly chosen: readonly string[];
	readonly warnings: readonly string[];
	/** Of the model that was tried, even where the base rate is served instead. */
	readonly later: LaterMeasures | undefined;
	readonly topFeatures: readonly TopFeature[];
}
