import type { ActiveSubscription } from '../../domain/active-subscriptions.ts';
import { visitorNumbers } from '../../domain/facts.ts';
import type { Profile } from '../../domain/profile.ts';
import type { FeatureRow, FeatureSet } from './features.ts';
import { knownTexts, numberReader } from './known-features.ts';

/**
 * Makes rows from profiles, as of a moment that is not before their last entry.
 * @throws Error where a feature is unknown, because another version made the model
 */
export function profileRows(
	features: FeatureSet,
): (profile: Profile, nowMs: number, renewing?: ActiveSubscription) => FeatureRow {
	const numbers = features.numeric.map(({ name }) => found(numberReader(name), name));
	const texts = features.categorical.map(({ name }) => found(knownTexts[name]?.read, name));
	return (profile, nowMs, renewing) => {
		const facts = { visitor: visitorNumbers(profile, nowMs), profile, nowMs, renewing };
		return { numeric: numbers.map((read) => read(facts)), categorical: texts.map((read) => read(facts)) };
	};
}

function found<Reader>(reader: Reader | undefined, feature: string): Reader {
	if (!reader) throw new Error(`unknown feature ${feature}`);
	return reader;
}
