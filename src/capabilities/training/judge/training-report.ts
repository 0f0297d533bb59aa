import type { Model } from '../../../core/scoring/model/model.ts';
import type { Recency } from '../../../core/scoring/rows/recency.ts';
import type { CalibrationBin, Estimate, Interval, RocPoint } from '../fit/measure.ts';

/** With fewer visitors of either outcome, everybody gets the base rate, because nothing finer could be verified. */
export const minConversions = 30;

/** What was chosen on later rows, why, and the chosen models' predictions for these rows. */
export interface Choice {
	readonly kind: 'logistic' | 'boosting';
	readonly trees: number;
	readonly logisticLogLoss: number;
	readonly boostingLogLoss: number;
	/** How much boosting reduces the mean log loss of a later row. */
	readonly boostingGain: Interval;
	/** In how many of the blocks it does. Missing in reports of earlier versions. */
	readonly boostingBlocks?: { readonly better: number; readonly of: number };
	/** The correlation of predictions and outcomes in standard errors; a visitor counts once. */
	readonly standardErrors: number;
	/** Whose outcomes it makes less likely than the base rate does, beyond chance, so that it is not served. */
	readonly losesOn?: 'present' | 'absent';
	/** Whether the model is served, not the base rate. */
	readonly serves: boolean;
}

/** How many rows and visitors something is about. */
export interface Counts {
	readonly rows: number;
	readonly visitors: number;
	/** Distinct visitors who reached the goal. */
	readonly conversions: number;
	/** Rows with a conversion. */
	readonly convertedRows: number;
}

/** How well scores fit the outcomes of rows. */
export interface RowMeasures {
	/** The mean score. */
	readonly predicted: number;
	/** The share of rows that reached the goal. */
	readonly observed: number;
	readonly logLoss: number;
	/** The log loss if every row were given the earlier rows' base rate. */
	readonly baseRateLogLoss: number;
}

/** How well a model did on rows later than all that it learned from. */
export interface LaterMeasures extends Counts, RowMeasures {
	readonly auc: Estimate;
	readonly brier: number;
	readonly expectedCalibrationError: number;
	readonly calibrationTable: readonly CalibrationBin[];
	/** Of visitors: the rows of one weigh together as one. */
	readonly roc: readonly RocPoint[];
	/** The share of visitors who converted, in the same weights. Missing in reports of earlier versions. */
	readonly visitorRate?: number;
	/** The number of rows in each twentieth of the scores from 0 to 1. */
	readonly scoreHistogram: readonly number[];
	/** The measures of each judging block, earliest first. Each was judged by a model that had seen nothing later. */
	readonly blocks: readonly BlockMeasures[];
	/** The measures of visitors who are present. Missing where visits are scored. */
	readonly present?: Omit<VisitMeasures, 'visit'> | undefined;
	/** The measures of visitors who have left, in the latest block, as batches meet them; who has left becomes more with time. */
	readonly absent?: Omit<VisitMeasures, 'visit'> | undefined;
	/** The measures by number of visits so far. */
	readonly byVisits: readonly VisitMeasures[];
}

/** The mean score and the rate of a block of time. */
export interface BlockMeasures extends RowMeasures {
	/** ISO 8601, UTC. */
	readonly from: string;
	readonly to: string;
	readonly rows: number;
}

export interface VisitMeasures extends Counts, RowMeasures {
	readonly visit: 'first' | 'second' | 'later';
	/** Null if all outcomes were the same. */
	readonly auc: number | null;
}

export interface TopFeature {
	readonly name: string;
	/** The mean absolute change of a score's log-odds, over rows of all times. */
	readonly meanLogOdds: number;
	/** What larger values of a number do to the score, or this text. */
	readonly direction: 'raises' | 'lowers' | 'varies';
	/** The text that moves scores most. */
	readonly text?: string;
}

/**
 * A feature that tells the outcome almost by itself, as what is only known afterwards does: a page that thanks for the
 * purchase, where purchases are uploaded at night.
 */
export interface LikelyLeak {
	readonly feature: string;
	/** The value, of a feature that is a text. */
	readonly text?: string;
	readonly why: /** By this feature alone, outcomes are known nearly as well as afterwards. */
		| 'explains nearly all'
		/** Everybody who gets it converts within the horizon. */
		| 'only converters';
	/** Those who have it. */
	readonly visitors: number;
}

/** The latest rows of a recency, whose rate is the level of the model. */
export interface LevelReport {
	readonly recency: Recency;
	readonly rate: number;
	readonly rows: number;
	/** The time of the first of these rows. ISO 8601, UTC. */
	readonly since: string;
}

/** Why a model is not served, or that it is. */
export type Verdict =
	| 'served'
	/** No moment lies a horizon before the time of training and after a hit. */
	| 'no rows'
	/** There are too few visitors with, or without, a conversion. */
	| 'few conversions'
	/** Later rows cannot judge it. */
	| 'uneven'
	/** It tells nothing about later rows that chance would not. */
	| 'no signal';

/** The report of a training. Plain data. */
export interface TrainingReport extends Counts {
	readonly baseRate: number;
	readonly seed: number;
	/** What is served. */
	readonly kind: Model['kind'];
	readonly verdict: Verdict;
	/** What was chosen on later rows; missing if they could not judge. */
	readonly choice?: Choice;
	/** The steps of the fit, and whether it reached the optimum; of a logistic model. */
	readonly fit?: { readonly steps: number; readonly converged: boolean };
	/** Some outcomes that models learned from were not known yet when the rows that judge them began. */
	readonly overlaps: boolean;
	/** Of a model that is served, by recency. */
	readonly levels: readonly LevelReport[];
	/** The measures of the model that was tried, even if the base rate is served instead. */
	readonly later: LaterMeasures | undefined;
	readonly topFeatures: readonly TopFeature[];
	readonly leaks: readonly LikelyLeak[];
}
