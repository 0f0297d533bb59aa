import type { ActiveSubscription } from '../../domain/active-subscriptions.ts';
import type { VisitorNumbers } from '../../domain/facts.ts';
import { decayLongTerm, type Profile } from '../../domain/profile.ts';
import { dayMs, minuteMs } from '../../durations.ts';

/** What features are read from. */
export interface KnownFacts {
	readonly visitor: VisitorNumbers;
	readonly profile: Profile;
	readonly nowMs: number;
	/** Only for goals of renewals. */
	readonly renewing: ActiveSubscription | undefined;
}

type NumberReader = (facts: KnownFacts) => number;

/** What a number tells, besides its value. */
interface KnownNumber {
	/** For reasons, which have a phrase for each. Numbers of one fact count together, so that no two reasons say the same. */
	readonly fact: string;
	/** What it counts, for people. */
	readonly words: string;
	/** The value if its fact is absent; null if it is missing then. Default: 0. */
	readonly absent?: number | null;
	/** What any scored visitor has, since none has no hit. */
	readonly least?: number;
	/** A count that fades: it raises a score because of what was done, and lowers it because that was long ago. */
	readonly fades?: boolean;
}

/** The numbers of every model. */
export const knownNumbers: Readonly<Record<string, KnownNumber>> = {
	hits: { fact: 'hits', words: 'hits', least: 1 },
	pages: { fact: 'hits', words: 'page views', least: 1 },
	visits: { fact: 'visits', words: 'visits', least: 1 },
	activeDays: { fact: 'visits', words: 'days with a visit', least: 1 },
	dwellMinutes: { fact: 'dwell', words: 'minutes on the site' },
	hitsPerVisit: { fact: 'hits', words: 'hits per visit', least: 1 },
	differentPages30d: { fact: 'differentPages', words: 'different pages in 30 days' },
	daysSinceFirst: { fact: 'first', words: 'days since the first visit' },
	// Every scored visitor has been seen, so the fact is recency.
	daysSinceLast: { fact: 'last', words: 'days since the latest hit', absent: 365 },
	recentHits1d: { fact: 'hits', words: 'hits of about the last day', fades: true },
	recentHits7d: { fact: 'hits', words: 'hits of about the last week', fades: true },
	recentHits30d: { fact: 'hits', words: 'hits of about the last month', fades: true },
	recentVisits7d: { fact: 'visits', words: 'visits of about the last week', fades: true },
	recentVisits30d: { fact: 'visits', words: 'visits of about the last month', fades: true },
	recentEvents7d: { fact: 'events', words: 'page events of about the last week' },
	recentEvents30d: { fact: 'events', words: 'page events of about the last month' },
	visitHits: { fact: 'hits', words: 'hits of the latest visit', least: 1 },
	visitDwellMinutes: { fact: 'dwell', words: 'minutes of the latest visit' },
	subscriptions: { fact: 'subscriptions', words: 'subscription events' },
	renewals: { fact: 'subscriptions', words: 'renewals' },
	revenuePence: { fact: 'revenue', words: 'revenue' },
	recentSubscriptions90d: { fact: 'subscriptions', words: 'subscription events of about the last 90 days' },
	recentSubscriptions365d: { fact: 'subscriptions', words: 'subscription events of about the last year' },
	daysSinceSubscription: {
		fact: 'subscriptions',
		words: 'days since the latest subscription event',
		absent: null,
	},
	daysPerSubscription: {
		fact: 'subscriptions',
		words: 'days from one subscription event to the next',
		absent: null,
	},
	pencePerSubscription: { fact: 'revenue', words: 'revenue per subscription event', absent: null },
	subscriptionOverdue: {
		fact: 'subscriptions',
		words: 'time since the latest subscription event, against its usual time',
		absent: null,
	},
	visitOverdue: {
		fact: 'last',
		words: 'time since the latest visit, against its usual time',
		absent: null,
	},
	visitTrend: { fact: 'visits', words: 'pace of visits this week, against this month', fades: true },
};

/** The numbers of models of renewals, about the subscription that is due next. */
export const renewalNumbers: Readonly<Record<string, KnownNumber>> = {
	cadenceDays: { fact: 'due', words: 'days between renewals', absent: null },
	daysUntilDue: { fact: 'due', words: 'days until the renewal is due', absent: null },
	paymentsInRow: { fact: 'subscriptions', words: 'payments in a row', absent: null },
	periodPassed: { fact: 'due', words: 'share of the time to renew that has passed', absent: null },
};

/** Numbers that are none of `VisitorNumbers`. */
const numberReaders: Readonly<Record<string, NumberReader>> = {
	hitsPerVisit: ({ visitor }) => (visitor.visits === 0 ? 0 : visitor.hits / visitor.visits),
	differentPages30d: ({ profile, nowMs }) => pagesSince(profile, nowMs - 30 * dayMs),
	visitHits: ({ profile: { visit } }) => visit?.hits ?? 0,
	visitDwellMinutes: ({ profile: { visit } }) =>
		visit ? (visit.lastHitAtMs - visit.startedAtMs) / minuteMs : 0,
	recentSubscriptions90d: (facts) => longTermSubscriptions(facts)[0],
	recentSubscriptions365d: (facts) => longTermSubscriptions(facts)[1],
	daysSinceSubscription: ({ visitor: { daysSinceSubscription } }) =>
		Number.isFinite(daysSinceSubscription) ? daysSinceSubscription : Number.NaN,
	daysPerSubscription: ({ visitor: { subscriptions, daysSinceFirst, daysSinceSubscription } }) =>
		subscriptions === 0 ? Number.NaN : (daysSinceFirst - daysSinceSubscription) / subscriptions,
	pencePerSubscription: ({ visitor: { subscriptions, revenuePence } }) =>
		subscriptions === 0 ? Number.NaN : revenuePence / subscriptions,
	subscriptionOverdue: ({ profile: { firstAtMs, subscriptions }, nowMs }) =>
		overdue(firstAtMs, subscriptions?.lastAtMs, subscriptions?.count ?? 0, nowMs),
	visitOverdue: ({ profile: { firstAtMs, visit, visits }, nowMs }) =>
		overdue(firstAtMs, visit?.startedAtMs, visits, nowMs),
	/** Over 1, visits become more frequent. */
	visitTrend: ({ visitor: { recentVisits7d, recentVisits30d } }) =>
		recentVisits30d > 0.01 ? (recentVisits7d * 30) / (recentVisits30d * 7) : 0,
	cadenceDays: ({ renewing }) => renewing?.cover?.cadenceDays ?? Number.NaN,
	daysUntilDue: ({ renewing, nowMs }) => ((renewing?.cover?.dueAtMs ?? Number.NaN) - nowMs) / dayMs,
	paymentsInRow: ({ renewing }) => renewing?.paymentsInRow ?? Number.NaN,
	periodPassed: ({ renewing, nowMs }) =>
		renewing?.cover
			? (nowMs - renewing.paidAtMs) / Math.max(minuteMs, renewing.cover.lapsesAtMs - renewing.paidAtMs)
			: Number.NaN,
};

/** Numbers of an account's own names: `page:pricing` is the days since it was viewed, the others are counts. */
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

const namedWords: Readonly<Record<string, string>> = {
	page: 'days since page',
	channel: 'visits by',
	channelShare: 'share of visits by',
	event: 'page events',
	evt: 'subscription events',
};

interface KnownText {
	readonly words: string;
	/** The kind of fact that it belongs to; its value is the fact's name. */
	readonly kind: string;
	readonly read: (facts: KnownFacts) => string;
}

export const knownTexts: Readonly<Record<string, KnownText>> = {
	device: { words: 'device', kind: 'device', read: ({ visitor }) => visitor.device },
	firstChannel: { words: 'first channel', kind: 'channel', read: ({ visitor }) => visitor.firstChannel },
	lastChannel: { words: 'latest channel', kind: 'channel', read: ({ visitor }) => visitor.lastChannel },
	landingPage: { words: 'first page', kind: 'page', read: ({ visitor }) => visitor.landingPage },
	lastPage: {
		words: 'latest page',
		kind: 'page',
		read: ({ profile }) => profile.pageTimes.at(-1)?.[0] ?? '',
	},
	lastEvt: {
		words: 'latest event type',
		kind: 'evt',
		read: ({ profile }) => profile.subscriptions?.lastEvt ?? '',
	},
};

/** What reads a number; undefined where it is unknown. */
export function numberReader(feature: string): NumberReader | undefined {
	const known = own(knownNumbers, feature) ?? own(renewalNumbers, feature);
	if (known) return own(numberReaders, feature) ?? (({ visitor }) => visitor[feature as 'hits']);
	const [kind, name] = namedParts(feature);
	return own(namedReaders, kind)?.(name);
}

/** A feature's name in words, for people; the name itself where it is not known. */
export function featureText(feature: string): string {
	const known = own(knownNumbers, feature) ?? own(renewalNumbers, feature) ?? own(knownTexts, feature);
	if (known) return known.words;
	const [kind, name] = namedParts(feature);
	const words = own(namedWords, kind);
	return words ? `${words} ${name}` : feature;
}

function namedParts(feature: string): readonly [kind: string, name: string] {
	const [, kind = '', name = ''] = /^(\w+):(.*)$/su.exec(feature) ?? [];
	return [kind, name];
}

/** Names may be `constructor`. */
function own<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
	return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** Time since the last of some events, relative to the mean time between two; missing of fewer than two. */
function overdue(firstAtMs: number, lastAtMs: number | undefined, count: number, nowMs: number): number {
	if (lastAtMs === undefined || count < 2) return Number.NaN;
	const betweenMs = (lastAtMs - firstAtMs) / (count - 1);
	return Math.min(100, (nowMs - lastAtMs) / Math.max(betweenMs, minuteMs));
}

const noSubscriptions = [0, 0] as const;
const unknownSubscriptions = [Number.NaN, Number.NaN] as const;

function longTermSubscriptions({ profile: { subscriptions }, nowMs }: KnownFacts): readonly [number, number] {
	if (!subscriptions) return noSubscriptions;
	if (!subscriptions.longTerm) return unknownSubscriptions;
	return decayLongTerm(subscriptions.longTerm, nowMs - subscriptions.lastAtMs);
}

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
