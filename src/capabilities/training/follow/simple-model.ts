import type { Profile } from '../../../core/domain/profile.ts';
import { modelFormat } from '../../../core/scoring/model/model.ts';
import { Scorer } from '../../../core/scoring/model/scorer.ts';
import { profileRows } from '../../../core/scoring/rows/profile-features.ts';
import { learnEncoding, prepareNumbers } from '../fit/encoding.ts';
import { fitLogistic } from '../fit/logistic.ts';
import type { Dataset } from '../rows/dataset.ts';

const names = new Set(['daysSinceLast', 'daysSinceSubscription', 'hits', 'subscriptions', 'daysSinceFirst']);
/** Keeps the weight of a number that few rows have small. */
const strength = 1;

/**
 * A simple reference model: logistic regression on recency, count and age alone, on the same rows. Undefined if all
 * outcomes are the same, or none of these features is known.
 */
export function simpleModel(dataset: Dataset): ((profile: Profile, nowMs: number) => number) | undefined {
	const isUsed = (_: unknown, column: number) => names.has(dataset.features.numeric[column]?.name ?? '');
	const features = { numeric: dataset.features.numeric.filter(isUsed), categorical: [] };
	if (features.numeric.length === 0 || new Set(dataset.labels).size < 2) return undefined;
	const simple = {
		...dataset,
		features,
		numeric: dataset.numeric.filter(isUsed),
		categorical: [],
		texts: [],
	};
	const numbers = prepareNumbers(simple);
	const { encoding, encode } = learnEncoding(simple, numbers);
	const { weights } = fitLogistic(encode(simple, numbers), strength);
	const scorer = new Scorer({
		format: modelFormat,
		kind: 'logistic',
		features,
		baseRate: 0,
		encoding,
		weights,
		horizonMs: 0,
		levels: [0],
	});
	const rowOf = profileRows(features);
	return (profile, nowMs) => scorer.score(rowOf(profile, nowMs));
}
