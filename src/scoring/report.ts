import type { CalibrationBin, Interval, RocPoint } from './measure.ts';
import type { Model } from './model.ts';

/** How well a model did on rows later than all that it learned from. */
export interface LaterMeasures {
	readonly rows: number;
	readonly conversions: number;
	readonly auc: Interval;
	readonly logLoss: number;
	/** The log loss if every row were given the earlier rows' base rate. */
	readonly baseRateLogLoss: number;
	readonly brier: number;
	readonly expectedCalibrationError: number;
	readonly calibrationTable: readonly CalibrationBin[];
	/** 1 if scores are spread correctly; below 1 if they are overconfident. */
	readonly calibrationSlope: number;
	readonly roc: readonly RocPoint[];
	/** The number of rows in each twentieth of the scores from 0 to 1. */
	readonly scoreHistogram: readonly number[];
	/** The measures of each judging block, earliest first. Each was judged by a model that had seen nothing later. */
	readonly blocks: readonly BlockMeasures[];
	/** The measures during a visit, by number of visits so far, if known. */
	readonly byVisits: readonly VisitMeasures[];
}

/** The mean score and the rate of a block of time. */
export interface BlockMeasures {
	/** ISO 8601, UTC. */
	readonly from: string;
	readonly to: string;
	readonly rows: number;
	readonly said: number;
	readonly came: number;
	readonly logLoss: number;
	readonly baseRateLogLoss: number;
}

export interface VisitMeasures {
	readonly visit: 'first' | 'second' | 'later';
	readonly rows: number;
	readonly conversions: number;
	/** Null if all outcomes were the same. */
	readonly auc: number | null;
	readonly logLoss: number;
	readonly baseRateLogLoss: number;
}

export interface TopFeature {
	readonly name: string;
	/** The mean absolute change of a score's log-odds, over the latest rows. */
	readonly meanLogOdds: number;
	/** Whether larger values raise or lower the score; for texts, those that raise it most. */
	readonly direction: string;
}

/** The report of a training. Plain data. */
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
	/** The measures of the model that was tried, even if the base rate is served instead. */
	readonly later: LaterMeasures | undefined;
	readonly topFeatures: readonly TopFeature[];
}
