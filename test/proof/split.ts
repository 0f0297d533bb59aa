import type { Dataset } from '../../src/capabilities/training/rows/dataset.ts';
import type { Example } from '../../src/core/scoring/rows/features.ts';

/** The training set and the test set of a model. */
export interface Split {
	readonly train: Dataset;
	readonly test: readonly Example[];
}
