import { train } from '../../../src/capabilities/training/judge/train.ts';
import {
	type Dataset,
	datasetOf as datasetOfFeatures,
} from '../../../src/capabilities/training/rows/dataset.ts';
import { minuteMs } from '../../../src/core/durations.ts';
import { logistic } from '../../../src/core/scoring/model/log-odds.ts';
import { type Example, type FeatureRow, featureSet } from '../../../src/core/scoring/rows/features.ts';
import { seededRandom } from '../../../src/kit/random.ts';
import { once } from './once.ts';

export const features = featureSet(['visits', 'noise'], ['channel']);

/** Rows of visitors who convert with these log-odds. Their features are visits, noise and five channels. */
export function visitors(count: number, seed: number, logOdds: (row: FeatureRow) => number): Example[] {
	const random = seededRandom(seed);
	return Array.from({ length: count }, (_, index) => {
		const row = {
			numeric: [Math.floor(-Math.log(1 - random()) * 4), random()],
			categorical: [['', 'email', 'paid', 'social', 'direct'][Math.floor(random() * 5)] as string],
		};
		return { ...row, label: random() < logistic(logOdds(row)) ? 1 : 0, atMs: index * minuteMs };
	});
}

/** More visits and email raise the probability. */
export function byVisitsAndEmail({ numeric, categorical }: FeatureRow): number {
	return -3 + Math.log1p(numeric[0] as number) + (categorical[0] === 'email' ? 1 : 0);
}

/** An interaction: many visits raise the probability for two channels and lower it for the others. */
export function byInteraction({ numeric, categorical }: FeatureRow): number {
	const many = (numeric[0] as number) > 3 ? 1 : -1;
	return -1.5 + (categorical[0] === 'email' || categorical[0] === 'paid' ? many : -many) * 1.5;
}

export function datasetOf(examples: readonly Example[]): Dataset {
	return datasetOfFeatures(features, examples);
}

/** A model trained on 4,000 visitors who convert `byVisitsAndEmail` or `byInteraction`. */
export function trainedOn(kind: 'logistic' | 'boosting'): ReturnType<typeof train> {
	const logOdds = kind === 'logistic' ? byVisitsAndEmail : byInteraction;
	return once(`trained-${kind}`, () => train(datasetOf(visitors(4000, 1, logOdds)), { seed: 1 }));
}
