import { compareTexts } from '../../../core/domain/compare-texts.ts';
import type { Profile } from '../../../core/domain/profile.ts';
import type { FeatureSet, NumericFeature } from '../../../core/scoring/rows/features.ts';
import { knownNumbers, knownTexts, renewalNumbers } from '../../../core/scoring/rows/known-features.ts';

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
