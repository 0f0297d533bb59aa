import type { Dataset } from '../../src/scoring/dataset.ts';
import type { Example } from '../../src/scoring/features.ts';

/** What a model may learn from, and what it is tested on. */
export interface Split {
	readonly train: Dataset;
	readonly test: readonly Example[];
}
