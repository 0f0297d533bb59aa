import type { LiftRows } from '../../../src/capabilities/training/judge/train-lift.ts';
import { logistic } from '../../../src/core/scoring/model/log-odds.ts';
import type { FeatureRow } from '../../../src/core/scoring/rows/features.ts';
import { seededRandom } from '../../../src/kit/random.ts';
import { byVisitsAndEmail, datasetOf, visitors } from './made-up.ts';

/** An experiment whose treated visitors convert with a probability that is larger by `effectOf`. */
export function experiment(
	count: number,
	seed: number,
	effectOf: (row: FeatureRow) => number,
	treatedShare = 0.8,
): LiftRows {
	const random = seededRandom(seed + 1000);
	const treated = Uint8Array.from({ length: count }, () => (random() < treatedShare ? 1 : 0));
	const rows = visitors(count, seed, byVisitsAndEmail).map((row, place) => {
		const probability = logistic(byVisitsAndEmail(row)) + (treated[place] ? effectOf(row) : 0);
		return { ...row, label: random() < probability ? (1 as const) : (0 as const) };
	});
	return { dataset: datasetOf(rows), treated };
}

/** Only who came by email is persuaded, by fifteen of a hundred. */
export function persuadedByEmail({ categorical }: FeatureRow): number {
	return categorical[0] === 'email' ? 0.15 : 0;
}
