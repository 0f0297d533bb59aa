import type { ScoringSubject } from '../../domain/active-subscriptions.ts';
import { emptyProfile, type Profile } from '../../domain/profile.ts';
import { reasonOf } from '../../errors.ts';
import { type LiftModel, type Model, modelFormat } from '../model/model.ts';
import { liftOf, Scorer } from '../model/scorer.ts';
import { profileRows } from '../rows/profile-features.ts';
import { type Recency, recencyOf } from '../rows/recency.ts';
import { strongestFacts, type Wording } from './reasons.ts';

/** A trained model, ready to score. */
export interface GoalModel {
	readonly version: string;
	/** Of a model of lift, what being treated adds to it: from -1 to 1. */
	probability(profile: Profile, nowMs: number, scored?: ScoringSubject): number;
	/** What raises or lowers the score, in plain language, strongest first; at most three. */
	reasons(
		profile: Profile,
		nowMs: number,
		which: 'raise' | 'lower',
		wording: Wording,
		scored?: ScoringSubject,
	): string[];
}

/** A stored model that this version cannot apply; the message says why. */
export class UnusableModelError extends Error {
	override readonly name = 'UnusableModelError';
}

const maxReasons = 3;

/**
 * Prepares a stored model for scoring.
 * @param body the model as JSON
 * @throws UnusableModelError where another version made it, or it is broken
 */
export function openModel(version: string, body: string): GoalModel {
	const { model, rowOf, scorer, lift } = opened(version, body);
	if (lift)
		return { version, probability: (profile, nowMs) => lift(rowOf(profile, nowMs)), reasons: () => [] };
	const horizonMs = model.kind === 'prior' ? 0 : model.horizonMs;
	const recency = (profile: Profile, nowMs: number): Recency => recencyOf(profile, nowMs, horizonMs);
	return {
		version,
		probability: (profile, nowMs, scored) =>
			scorer.score(rowOf(profile, nowMs, scored?.renewing), recency(profile, nowMs)),
		reasons: (profile, nowMs, which, wording, scored) => {
			if (model.kind === 'prior') return [];
			const known = { profile, nowMs, renewing: scored?.renewing, wording };
			return strongestFacts(scorer, rowOf(profile, nowMs, known.renewing), known, which, maxReasons);
		},
	};
}

function opened(version: string, body: string) {
	try {
		const model = JSON.parse(body) as Model | LiftModel;
		if (model.format !== modelFormat) throw new Error(`its format is ${model.format}, not ${modelFormat}`);
		if (model.kind === 'lift') {
			for (const part of model.parts) checkColumns({ ...part, features: model.features });
			const rowOf = profileRows(model.features);
			const lift = liftOf(model);
			const value = lift(rowOf(emptyProfile(0), 0));
			if (!(Math.abs(value) <= 1)) throw new Error(`it gives a lift of ${value}`);
			return { rowOf, lift };
		}
		if (model.kind !== 'prior' && model.kind !== 'logistic' && model.kind !== 'boosting')
			throw new Error(`its kind ${(model as { kind: unknown }).kind} is unknown`);
		if (model.kind !== 'prior') checkColumns(model);
		const rowOf = profileRows(model.features);
		const scorer = new Scorer(model);
		// A model that is broken inside fails here rather than for a visitor.
		const probability = scorer.score(rowOf(emptyProfile(0), 0));
		if (!(probability >= 0 && probability <= 1)) throw new Error(`it gives a probability of ${probability}`);
		return { model, scorer, rowOf };
	} catch (error) {
		const reason = reasonOf(error);
		throw new UnusableModelError(`model ${version} cannot be applied: ${reason}`, { cause: error });
	}
}

/** Checks that the features and the encoding have the same columns. */
function checkColumns({ features, encoding }: Exclude<Model, { kind: 'prior' }>): void {
	const names = (columns: readonly { readonly name: string }[]) =>
		JSON.stringify(columns.map(({ name }) => name));
	if (
		names(features.numeric) !== names(encoding.numeric) ||
		names(features.categorical) !== names(encoding.categorical)
	)
		throw new Error('its columns are not those of its features');
}
