import type { Calibration } from './calibrate.ts';
import type { Encoding } from './encoding.ts';
import type { FeatureSet } from './features.ts';
import type { LogisticWeights } from './logistic.ts';
import type { Tree } from './tree.ts';

/** To be raised when this version can no longer read models of earlier ones unchanged. */
export const modelFormat = 1;

/** A trained model: plain data that JSON preserves. `Scorer` applies it. */
export type Model = PriorModel | LogisticModel | BoostingModel;

interface ModelBase {
	readonly format: typeof modelFormat;
	readonly features: FeatureSet;
	/** The shrunken rate of the training rows, which is served when nothing better is known. */
	readonly baseRate: number;
}

/** Gives every visitor the base rate. */
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
