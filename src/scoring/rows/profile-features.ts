import type { ActiveSubscription } from '../../domain/active-subscriptions.ts';
import { type VisitorNumbers, visitorNumbers } from '../../domain/facts.ts';
import { decayLongTerm, type Profile } from '../../domain/profile.ts';
import { dayMs, minuteMs } from '../../durations.ts';
import type { FeatureRow, FeatureSet, NumericFeature } from './features.ts';

/** `event` is of hits, `evt` of subscription events. */
type VocabularyKind = 'page' | 'channel' | 'event' | 'evt';

/** Names that are frequent among an account's visitors, each of which becomes a feature. */
export type Vocabulary = Readonly<Record<VocabularyKind, readonly string[]>>;

interface KnownFacts {
	readonly visitor: VisitorNumbers;
	readonly profile: Profile;
	readonly nowMs: number;
	/** Only for goals of renewals. */
	readonly renewing: ActiveSubscription | undefined;
}

type NumberReader = (facts: KnownFacts) => number;
type TextReader = (facts: KnownFacts) => string;

/**
 * The numbers of every model. Those that start with `daysSince` or end with `between` are missing if nothing happened.
 */
const numberReaders: Readonly<Record<string, NumberReader>> = {
	hits: ({ visitor }) => visitor.hits,
	pages: ({ visitor }) => visitor.pages,
	visits: ({ visitor }) => visitor.visits,
	activeDays: ({ visitor }) => visitor.activeDays,
	dwellMinutes: ({ visitor }) => visitor.dwellMinutes,
	hitsPerVisit: ({ visitor }) => (visitor.visits === 0 ? 0 : visitor.hits / visitor.visits),
	differentPages30d: ({ profile, nowMs }) => pagesSince(profile, nowMs - 30 * dayMs),
	daysSinceFirst: ({ visitor }) => visitor.daysSinceFirst,
	daysSinceLast: ({ visitor }) => visitor.daysSinceLast,
	recentHits1d: ({ visitor }) => visitor.recentHits1d,
	recentHits7d: ({ visitor }) => visitor.recentHits7d,
	recentHits30d: ({ visitor }) => visitor.recentHits30d,
	recentVisits7d: ({ visitor }) => visitor.recentVisits7d,
	recentVisits30d: ({ visitor }) => visitor.recentVisits30d,
	recentEvents7d: ({ visitor }) => visitor.recentEvents7d,
	recentEvents30d: ({ visitor }) => visitor.recentEvents30d,
	visitHits: ({ profile: { visit } }) => visit?.hits ?? 0,
	visitDwellMinutes: ({ profile: { visit } }) =>
		visit ? (visit.lastHitAtMs - visit.startedAtMs) / minuteMs : 0,
	subscriptions: ({ visitor }) => visitor.subscriptions,
	renewals: ({ visitor }) => visitor.renewals,
	revenuePence: ({ visitor }) => visitor.revenuePence,
	recentSubscriptions7d: ({ visitor }) => visitor.recentSubscriptions7d,
	recentSubscriptions30d: ({ visitor }) => visitor.recentSubscriptions30d,
	recentSubscriptions90d: (facts) => longTermSubscriptions(facts)[0],
	recentSubscriptions365d: (facts) => longTermSubscriptions(facts)[1],
	daysSinceSubscription: ({ visitor }) =>
		Number.isFinite(visitor.daysSinceSubscription) ? visitor.daysSinceSubscription : Number.NaN,
	daysPerSubscription: ({ visitor: { subscriptions, daysSinceFirst, daysSinceSubscription } }) =>
		subscriptions === 0 ? Number.NaN : (daysSinceFirst - daysSinceSubscription) / subscriptions,
	pencePerSubscription: ({ visitor: { subscriptions, revenuePence } }) =>
		subscriptions === 0 ? Number.NaN : revenuePence / subscriptions,
	/** Time since the last subscription event, relative to the mean time between two. */
	subscriptionOverdue: ({ profile: { firstAtMs, subscriptions }, nowMs }) => {
		if (!subscriptions || subscriptions.count < 2) return Number.NaN;
		const betweenMs = (subscriptions.lastAtMs - firstAtMs) / (subscriptions.count - 1);
		return Math.min(100, (nowMs - subscriptions.lastAtMs) / Math.max(betweenMs, minuteMs));
	},
	/** Time since the last visit began, relative to the mean time between two. */
	visitOverdue: ({ profile: { firstAtMs, visit, visits }, nowMs }) => {
		if (!visit || visits < 2) return Number.NaN;
		const betweenMs = (visit.startedAtMs - firstAtMs) / (visits - 1);
		return Math.min(100, (nowMs - visit.startedAtMs) / Math.max(betweenMs, minuteMs));
	},
	/** Visits of the last week, relative to the pace of the last month: over 1, visits become more frequent. */
	visitTrend: ({ visitor: { recentVisits7d, recentVisits30d } }) =>
		recentVisits30d > 0.01 ? (recentVisits7d * 30) / (recentVisits30d * 7) : 0,
	/**
	 * The inactive share of the time since the visitor's first activity, and a day, so that the score of somebody who has
	 * just come does not jump within seconds.
	 */
	inactiveShare: ({ profile, nowMs }) =>
		Math.max(0, nowMs - profile.lastAtMs) / (Math.max(0, nowMs - profile.firstAtMs) + dayMs),
};

/** The numbers of models of renewals, about the subscription that is due next. Missing if its cadence is not known. */
const renewalNumberReaders: Readonly<Record<string, NumberReader>> = {
	cadenceDays: ({ renewing }) => renewing?.cover?.cadenceDays ?? Number.NaN,
	daysUntilDue: ({ renewing, nowMs }) => ((renewing?.cover?.dueAtMs ?? Number.NaN) - nowMs) / dayMs,
	/** Of the time in which a renewal may come, the share that has passed. */
	periodPassed: ({ renewing, nowMs }) =>
		renewing?.cover
			? (nowMs - renewing.paidAtMs) / Math.max(minuteMs, renewing.cover.lapsesAtMs - renewing.paidAtMs)
			: Number.NaN,
};

const noSubscriptions = [0, 0] as const;
const unknownSubscriptions = [Number.NaN, Number.NaN] as const;

function longTermSubscriptions({ profile: { subscriptions }, nowMs }: KnownFacts): readonly [number, number] {
	if (!subscriptions) return noSubscriptions;
	if (!subscriptions.longTerm) return unknownSubscriptions;
	return decayLongTerm(subscriptions.longTerm, nowMs - subscriptions.lastAtMs);
}

/** Values of absent facts other than 0. Every scored visitor has been seen, so the fact is recency. */
const absentNumbers: Readonly<Record<string, number | null>> = {
	daysSinceLast: 365,
	inactiveShare: 1,
	daysSinceSubscription: null,
	daysPerSubscription: null,
	pencePerSubscription: null,
	subscriptionOverdue: null,
	visitOverdue: null,
	cadenceDays: null,
	daysUntilDue: null,
	periodPassed: null,
};

const textReaders: Readonly<Record<string, TextReader>> = {
	device: ({ visitor }) => visitor.device,
	firstChannel: ({ visitor }) => visitor.firstChannel,
	lastChannel: ({ visitor }) => visitor.lastChannel,
	landingPage: ({ visitor }) => visitor.landingPage,
	lastPage: ({ profile }) => profile.pageTimes.at(-1)?.[0] ?? '',
	lastEvt: ({ profile }) => profile.subscriptions?.lastEvt ?? '',
};

/** Features of an account's own names: `page:pricing` is the days since it was viewed, the others are counts. */
const namedReaders: Readonly<Record<string, (name: string) => NumberReader>> = {
	page:
		(name) =>
		({ profile, nowMs }) => {
			const atMs = numberOf(profile.pageTimes, name);
			return atMs === undefined ? Number.NaN : Math.max(0, nowMs - atMs) / dayMs;
		},
	channel:
		(name) =>
		({ profile }) =>
			numberOf(profile.channels, name) ?? 0,
	channelShare:
		(name) =>
		({ profile: { channels, visits } }) =>
			visits === 0 ? 0 : (numberOf(channels, name) ?? 0) / visits,
	event:
		(name) =>
		({ profile }) =>
			numberOf(profile.events, name) ?? 0,
	evt:
		(name) =>
		({ profile: { subscriptions } }) =>
			(subscriptions && numberOf(subscriptions.evts, name)) ?? 0,
};

/** Uses loops, because a row is made for every read, and allocates nothing. */
function numberOf(
	entries: readonly (readonly [string, number, ...unknown[]])[],
	name: string,
): number | undefined {
	for (const entry of entries) if (entry[0] === name) return entry[1];
	return undefined;
}

function pagesSince({ pageTimes }: Profile, sinceMs: number): number {
	let pages = 0;
	for (const entry of pageTimes) if (entry[1] >= sinceMs) pages++;
	return pages;
}

/**
 * What a model may know of a profile. Feature names are stored with models, so their meaning must never change.
 * @param isOfRenewals whether it may also know about the subscription that is due next
 */
export function profileFeatures({ page, channel, event, evt }: Vocabulary, isOfRenewals = false): FeatureSet {
	const numbers = [...Object.keys(numberReaders), ...(isOfRenewals ? Object.keys(renewalNumberReaders) : [])];
	const named = (kind: string, names: readonly string[], absent: 0 | null): NumericFeature[] =>
		names.map((name) => ({ name: `${kind}:${name}`, absent }));
	return {
		numeric: [
			...numbers.map((name) => ({
				name,
				absent: absentNumbers[name] === undefined ? 0 : absentNumbers[name],
			})),
			...named('page', page, null),
			...named('channel', channel, 0),
			...named('channelShare', channel, 0),
			...named('event', event, 0),
			...named('evt', evt, 0),
		],
		categorical: Object.keys(textReaders).map((name) => ({ name, absent: '' })),
	};
}

/**
 * Makes rows from profiles, as of a moment that is not before their last entry.
 * @throws Error where a feature is unknown, because another version made the model
 */
export function profileRows(
	features: FeatureSet,
): (profile: Profile, nowMs: number, renewing?: ActiveSubscription) => FeatureRow {
	const numbers = features.numeric.map(({ name }) => numberReader(name));
	const texts = features.categorical.map(({ name }) => {
		const reader = textReaders[name];
		if (!reader) throw new Error(`unknown feature ${name}`);
		return reader;
	});
	return (profile, nowMs, renewing) => {
		const facts = { visitor: visitorNumbers(profile, nowMs), profile, nowMs, renewing };
		return { numeric: numbers.map((read) => read(facts)), categorical: texts.map((read) => read(facts)) };
	};
}

function numberReader(feature: string): NumberReader {
	const known = numberReaders[feature] ?? renewalNumberReaders[feature];
	if (known) return known;
	const [, kind = '', name = ''] = /^(\w+):(.*)$/su.exec(feature) ?? [];
	const named = namedReaders[kind];
	if (!named) throw new Error(`unknown feature ${feature}`);
	return named(name);
}

const maxNames: Readonly<Record<VocabularyKind, number>> = { page: 8, channel: 5, event: 6, evt: 4 };
/** Names with a smaller share of visitors prove too little. */
const minShare = 0.01;

/** The most frequent names among these visitors. */
export function vocabularyOf(profiles: readonly Profile[]): Vocabulary {
	const frequent = (
		kind: VocabularyKind,
		namesOf: (profile: Profile) => readonly (readonly [string, ...unknown[]])[],
	) => {
		const counts = new Map<string, number>();
		for (const profile of profiles)
			for (const [name] of namesOf(profile)) counts.set(name, (counts.get(name) ?? 0) + 1);
		return [...counts]
			.filter(([, count]) => count >= minShare * profiles.length)
			.sort(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1))
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
