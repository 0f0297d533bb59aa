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
	/** How the blocks of time differ that judged, each by a model that had seen nothing later; the earliest first. */
	readonly blocks: readonly BlockMeasures[];
	/** By how many visits there had been, where that is known. */
	readonly byVisits: readonly VisitMeasures[];
}

/** What was said of a block of time, and what came. */
export interface BlockMeasures {
	/** ISO 8601, UTC. */
	readonly from: string;
	readonly to: string;
	readonly rows: number;
	/** The mean score. */
	readonly said: number;
	/** The rate. */
	readonly came: number;
	readonly logLoss: number;
	readonly baseRateLogLoss: number;
}

export interface VisitMeasures {
	readonly visit: 'first' | 'second' | 'later';
	readonly rows: number;
	readonly conversions: number;
	/** Null where all outcomes were the same. */
	readonly auc: number | null;
	readonly logLoss: number;
	readonly baseRateLogLoss: number;
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
