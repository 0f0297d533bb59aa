import type { Calibration } from './calibrate.ts';
import type { Encoding } from './encoding.ts';
import type { FeatureSet } from './features.ts';
import type { LogisticWeights } from './logistic.ts';
import type { Tree } from './tree.ts';

/** Raised when stored models of an earlier program can no longer be read as they are. */
export const modelFormat = 1;

/** A trained model: plain data that JSON keeps whole. `Scorer` applies it. */
export type Model = PriorModel | LogisticModel | BoostingModel;

interface ModelBase {
	readonly format: typeof modelFormat;
	readonly features: FeatureSet;
	/** What is served where nothing better is known: the rate of the training rows, shrunken. */
	readonly baseRate: number;
}

/** Gives everybody the base rate. */
export interface PriorModel extends ModelBase {
	readonly kind: 'prior';
}

export interface LogisticModel extends ModelBase {
	readonly kind: 'logistic';
	readonly encoding: Encoding;
	readonly weights: LogisticWeights;
	readonly calibration: Calibration;
}

export interface BoostingModel extends ModelBase {
	readonly kind: 'boosting';
	readonly encoding: Encoding;
	readonly startLogOdds: number;
	readonly trees: readonly Tree[];
	readonly calibration: Calibration;
}
