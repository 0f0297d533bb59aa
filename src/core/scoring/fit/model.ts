import type { FeatureSet } from '../rows/features.ts';
import type { Encoding } from './encoding.ts';
import type { LogisticWeights } from './logistic.ts';
import type { Tree } from './tree.ts';

/** To be raised when this version can no longer read models of earlier ones unchanged. */
export const modelFormat = 4;

/** A trained model: plain data that JSON preserves. `Scorer` applies it. */
export type Model = PriorModel | LogisticModel | BoostingModel;

export const liftMethods = ['two models', 'transformed outcome'] as const;
export type LiftMethod = (typeof liftMethods)[number];

/** Says by how much being treated raises a visitor's probability. */
export interface LiftModel extends ModelBase {
	readonly kind: 'lift';
	readonly method: LiftMethod;
	/** Two models: of the treated, and of those held out. Transformed outcome: one whose log-odds are the lift itself. */
	readonly parts: readonly LogisticModel[];
}

interface ModelBase {
	readonly format: typeof modelFormat;
	readonly features: FeatureSet;
	/** The shrunken rate of the training rows, which is served when nothing better is known; of a lift, that of all. */
	readonly baseRate: number;
}

/** Gives every visitor the base rate. */
export interface PriorModel extends ModelBase {
	readonly kind: 'prior';
}

interface FittedModel extends ModelBase {
	readonly encoding: Encoding;
	/** The goal's horizon, by which recencies are told apart. */
	readonly horizonMs: number;
	/** By recency, what is added to the log-odds. */
	readonly levels: readonly number[];
}

export interface LogisticModel extends FittedModel {
	readonly kind: 'logistic';
	readonly weights: LogisticWeights;
}

export interface BoostingModel extends FittedModel {
	readonly kind: 'boosting';
	readonly startLogOdds: number;
	readonly trees: readonly Tree[];
}
