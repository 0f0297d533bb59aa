import type { Profile } from '../../domain/profile.ts';
import { encodeRows } from '../fit/encoded-rows.ts';
import { fitEncoding } from '../fit/encoding.ts';
import { fitLogistic } from '../fit/logistic.ts';
import { modelFormat } from '../fit/model.ts';
import { Scorer } from '../fit/scorer.ts';
import { Dataset, datasetRows } from '../rows/dataset.ts';
import { profileRows } from '../rows/profile-features.ts';

const names = new Set(['daysSinceLast', 'daysSinceSubscription', 'hits', 'subscriptions', 'daysSinceFirst']);
/** Keeps the weight of a bin with few rows small. */
const strength = 1;

/**
 * A simple reference model: logistic regression on recency, count and age alone, on the same rows. Undefined if all
 * outcomes are the same, or none of these features is known.
 */
export function simpleModel(dataset: Dataset): ((profile: Profile, nowMs: number) => number) | undefined {
	const columns = [...dataset.features.numeric.keys()].filter((column) =>
		names.has(dataset.features.numeric[column]?.name ?? ''),
	);
	if (columns.length === 0 || dataset.conversions === 0 || dataset.conversions === dataset.rows)
		return undefined;
	const order = dataset.inTimeOrder(1);
	const features = {
		numeric: columns.map(
			(column) => dataset.features.numeric[column] as { name: string; absent: number | null },
		),
		categorical: [],
	};
	const [labels, atMs] = [dataset.labels(order), dataset.atMs(order)];
	const simple = new Dataset(features);
	for (const [index, { numeric }] of [...datasetRows(dataset, order)].entries())
		simple.add({
			numeric: columns.map((column) => numeric[column] as number),
			categorical: [],
			label: labels[index] as 0 | 1,
			atMs: atMs[index] as number,
		});
	const rows = simple.inTimeOrder(1);
	const encoding = fitEncoding(simple, rows);
	const { weights } = fitLogistic(encodeRows(simple, rows, encoding, true), strength);
	const scorer = new Scorer({
		...{ format: modelFormat, kind: 'logistic', features, baseRate: 0, encoding, weights },
		...{ horizonMs: 0, levels: [0], rates: [] },
	});
	const rowOf = profileRows(features);
	return (profile, nowMs) => scorer.score(rowOf(profile, nowMs));
}
