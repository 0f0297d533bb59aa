import type { ActiveSubscription } from '../../domain/active-subscriptions.ts';
import { compareTexts } from '../../domain/compare-texts.ts';
import { visitorNumbers } from '../../domain/facts.ts';
import type { Profile } from '../../domain/profile.ts';
import type { FeatureRow, FeatureSet, NumericFeature } from './features.ts';
import { knownNumbers, knownTexts, numberReader, renewalNumbers } from './known-features.ts';

/** `event` is of hits, `evt` of subscription events. */
type VocabularyKind = 'page' | 'channel' | 'event' | 'evt';

/** Names that are frequent among an account's visitors, each of which becomes a feature. */
export type Vocabulary = Readonly<Record<VocabularyKind, readonly string[]>>;

/**
 * What a model may know of a profile. Feature names are stored with models, so their meaning must never change.
 * @param isOfRenewals whether it may also know about the subscription that is due next
 */
export function profileFeatures({ page, channel, event, evt }: Vocabulary, isOfRenewals = false): FeatureSet {
	const numbers = Object.entries({ ...knownNumbers, ...(isOfRenewals && renewalNumbers) });
	const named = (kind: string, names: readonly string[], absent: 0 | null): NumericFeature[] =>
		names.map((name) => ({ name: `${kind}:${name}`, absent }));
	return {
		numeric: [
			...numbers.map(([name, { absent = 0 }]) => ({ name, absent })),
			...named('page', page, null),
			...named('channel', channel, 0),
			...named('channelShare', channel, 0),
			...named('event', event, 0),
			...named('evt', evt, 0),
		],
		categorical: Object.keys(knownTexts).map((name) => ({ name, absent: '' })),
	};
}

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

const maxNames: Readonly<Record<VocabularyKind, number>> = { page: 8, channel: 5, event: 6, evt: 4 };
/** Names of a smaller share of the visitors prove too little. */
const minShare = 0.01;

/** The most frequent names among visitors, whose profiles are given as of one moment or several. */
export function vocabularyOf(
	profiles: readonly { readonly vid: string; readonly profile: Profile }[],
): Vocabulary {
	const visitors = new Set(profiles.map(({ vid }) => vid)).size;
	const frequent = (
		kind: VocabularyKind,
		namesOf: (profile: Profile) => readonly (readonly [string, ...unknown[]])[],
	) => {
		const having = new Map<string, Set<string>>();
		for (const { vid, profile } of profiles)
			for (const [name] of namesOf(profile)) having.getOrInsertComputed(name, () => new Set()).add(vid);
		return [...having]
			.filter(([, { size }]) => size >= minShare * visitors)
			.sort(([a, ofA], [b, ofB]) => ofB.size - ofA.size || compareTexts(a, b))
			.slice(0, maxNames[kind])
			.map(([name]) => name);
	};
	return {
		page: frequent('page', ({ pageTimes }) => pageTimes),
		channel: frequent('channel', ({ channels }) => channels),
		event: frequent('event', ({ events }) => events),
		evt: frequent('evt', ({ subscriptions }) => subscriptions?.evts ?? []),
	};
}
