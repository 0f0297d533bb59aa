import { dayMs } from '../durations.ts';
import { compareTexts } from './compare-texts.ts';
import { type LoggedKind, loggedKindOf } from './event-kind.ts';
import { compareEvents } from './event-order.ts';

/** A hit, reduced to what profiles need. */
export interface HitEntry {
	readonly type: 'hit';
	/** Milliseconds since 1970. */
	readonly atMs: number;
	readonly sid: string;
	/** The page's path without leading and trailing slashes, `/` for the root; null without a page. */
	readonly page: string | null;
	readonly channel: string;
	readonly device: string;
	/** Names of the page events in this hit. */
	readonly events: readonly string[];
	/** Orders hits of the same millisecond, independently of arrival. */
	readonly tieBreak: string;
}

/** A subscription event that is joined to the visitor. */
export interface SubscriptionEntry {
	readonly type: 'subscription';
	readonly atMs: number;
	readonly tid: string;
	readonly subid: string;
	readonly evt: string;
	readonly revenuePence: number;
}

export type LogEntry = HitEntry | SubscriptionEntry;

/** Decayed counts as of the profile's `lastAtMs`, one for each of `halfLivesDays`. */
export type DecayedCounts = readonly [number, number, number];

/** Decayed counts, one for each of `longHalfLivesDays`. */
export type LongDecayedCounts = readonly [number, number];

/** Count and last time of an event. Lists are ordered by that time. */
export type EventCount = readonly [name: string, count: number, lastAtMs: number];

/** The latest events of a subscription, with the `evt` of its acquisition, else of the earliest one. */
type LatestEvents = readonly [
	subid: string,
	evt: string,
	/** Free ones with their own `evt` where it is another: they may be cancellations. Unknown from earlier versions; a rebuild adds it. */
	events: readonly (readonly [atMs: number, revenuePence: number, evt?: string])[],
];

/** Everything known about a visitor, or a visit, as of the last log entry. Stored as JSON. */
export interface Profile {
	readonly firstAtMs: number;
	readonly lastAtMs: number;
	readonly hits: number;
	/** Hits that were of a page. */
	readonly pages: number;
	readonly visits: number;
	/** Days (UTC) with a hit. */
	readonly activeDays: number;
	/** Total time between consecutive hits of the same visit. */
	readonly dwellMs: number;
	/** The latest visit; null before the first hit. */
	readonly visit: {
		readonly sid: string;
		readonly startedAtMs: number;
		readonly lastHitAtMs: number;
		readonly hits: number;
		readonly landingPage: string | null;
	} | null;
	readonly firstChannel: string | null;
	/** Visits by channel. */
	readonly channels: readonly (readonly [channel: string, visits: number])[];
	readonly lastChannel: string | null;
	readonly landingPage: string | null;
	readonly device: string | null;
	/** Last time of each page; the 50 most recent, in that order. */
	readonly pageTimes: readonly (readonly [page: string, lastAtMs: number])[];
	/** Page events by name; the 50 most recent. */
	readonly events: readonly EventCount[];
	readonly subscriptions: {
		readonly count: number;
		readonly renewals: number;
		readonly revenuePence: number;
		readonly lastAtMs: number;
		readonly lastEvt: string;
		/** By `evt`; the 50 most recent. */
		readonly evts: readonly EventCount[];
		/**
		 * By `evt` of each kind. Without what an earlier version added, or with trials among acquisitions, and conversions and free
		 * ones among renewals; a rebuild mends it.
		 */
		readonly kinds?: Readonly<Partial<Record<LoggedKind, readonly EventCount[]>>>;
		/** The last 100 that have begun. */
		readonly subids: readonly string[];
		/** The places among them of those of which nothing but a trial has come; left out where there are none. */
		readonly trials?: readonly number[];
		/** The 10 latest subscriptions, in that order. Unknown if the profile began with an earlier version; a rebuild adds it. */
		readonly latest?: readonly LatestEvents[];
		/** Decayed counts of subscriptions as of `lastAtMs`. */
		readonly recent: DecayedCounts;
		/** Decayed counts of subscriptions, one for each of `longHalfLivesDays`. Unknown if the profile began with an earlier version; a rebuild adds it. */
		readonly longTerm?: LongDecayedCounts;
	} | null;
	readonly recentHits: DecayedCounts;
	readonly recentVisits: DecayedCounts;
	readonly recentEvents: DecayedCounts;
}

const halfLivesDays = [1, 7, 30] as const;
const longHalfLivesDays = [90, 365] as const;
/** Maximum entries of a list. It bounds the profile, which every hit reads and writes. The oldest entries are evicted. */
const maxNames = 50;
const maxSubids = 100;
const maxLatest = 10;
/** Enough to see how often a subscription is paid. */
const maxEventsOfSubid = 8;
/** Maximum total length of the names in a list: 50 pages of 80 characters, or 100 UUIDs. */
const maxCharacters = 4000;

/** The order in which a log is reduced: by time, and for equal times independently of arrival. */
export function compareEntries(a: LogEntry, b: LogEntry): number {
	return (
		a.atMs - b.atMs ||
		compareTexts(a.type, b.type) ||
		(a.type === 'subscription' && b.type === 'subscription' ? compareEvents(a, b) : 0) ||
		compareTexts(tieBreak(a), tieBreak(b)) ||
		compareTexts(visitOf(a), visitOf(b))
	);
}

function tieBreak(entry: LogEntry): string {
	return entry.type === 'hit' ? entry.tieBreak : entry.tid;
}

function visitOf(entry: LogEntry): string {
	return entry.type === 'hit' ? entry.sid : '';
}

/** Reduces a log, in any order, to a profile. */
export function profileOf(entries: readonly LogEntry[]): Profile | null {
	return [...entries].sort(compareEntries).reduce<Profile | null>(apply, null);
}

/** Whether the entry is later than everything in the profile, so that `apply` may add it. */
export function isLatest(profile: Profile | null, entry: LogEntry): boolean {
	return profile === null || entry.atMs > profile.lastAtMs;
}

/** Adds one entry, which must not be earlier than the profile's last one. */
export function apply(profile: Profile | null, entry: LogEntry): Profile {
	const at = advance(profile ?? emptyProfile(entry.atMs), entry.atMs);
	return entry.type === 'hit' ? applyHit(at, entry) : applySubscription(at, entry);
}

/** The profile of a new visitor, before the first entry. */
export function emptyProfile(atMs: number): Profile {
	return {
		firstAtMs: atMs,
		lastAtMs: atMs,
		hits: 0,
		pages: 0,
		visits: 0,
		activeDays: 0,
		dwellMs: 0,
		visit: null,
		firstChannel: null,
		channels: [],
		lastChannel: null,
		landingPage: null,
		device: null,
		pageTimes: [],
		events: [],
		subscriptions: null,
		recentHits: [0, 0, 0],
		recentVisits: [0, 0, 0],
		recentEvents: [0, 0, 0],
	};
}

/** Moves the profile to a later moment: decays its counts and adds nothing. */
function advance(profile: Profile, atMs: number): Profile {
	const passedMs = atMs - profile.lastAtMs;
	if (passedMs <= 0) return profile;
	return {
		...profile,
		lastAtMs: atMs,
		recentHits: decay(profile.recentHits, passedMs),
		recentVisits: decay(profile.recentVisits, passedMs),
		recentEvents: decay(profile.recentEvents, passedMs),
	};
}

/**
 * Decays counts by `passedMs`. Rounded, to keep profiles short. Returns zeros for profiles of earlier versions, which
 * have no counts.
 */
export function decay(counts: DecayedCounts | undefined, passedMs: number): DecayedCounts {
	if (!counts) return [0, 0, 0];
	const [day, week, month] = halfLivesDays;
	const passedDays = Math.max(0, passedMs) / dayMs;
	return [
		round(counts[0] * 2 ** (-passedDays / day)),
		round(counts[1] * 2 ** (-passedDays / week)),
		round(counts[2] * 2 ** (-passedDays / month)),
	];
}

/** Decays long-term counts by `passedMs`. */
export function decayLongTerm([quarter, year]: LongDecayedCounts, passedMs: number): LongDecayedCounts {
	const passedDays = Math.max(0, passedMs) / dayMs;
	const [quarterDays, yearDays] = longHalfLivesDays;
	return [round(quarter * 2 ** (-passedDays / quarterDays)), round(year * 2 ** (-passedDays / yearDays))];
}

function round(value: number): number {
	return Math.round(value * 1e5) / 1e5;
}

function add(counts: DecayedCounts, number: number): DecayedCounts {
	if (number === 0) return counts;
	return [round(counts[0] + number), round(counts[1] + number), round(counts[2] + number)];
}

function applyHit(profile: Profile, hit: HitEntry): Profile {
	const { visit } = profile;
	const isSameVisit = visit?.sid === hit.sid;
	const isNewDay = !visit || Math.floor(visit.lastHitAtMs / dayMs) !== Math.floor(hit.atMs / dayMs);
	return {
		...profile,
		hits: profile.hits + 1,
		pages: profile.pages + (hit.page === null ? 0 : 1),
		visits: profile.visits + (isSameVisit ? 0 : 1),
		activeDays: profile.activeDays + (isNewDay ? 1 : 0),
		dwellMs: profile.dwellMs + (isSameVisit ? hit.atMs - visit.lastHitAtMs : 0),
		visit: isSameVisit
			? { ...visit, lastHitAtMs: hit.atMs, hits: visit.hits + 1 }
			: {
					sid: hit.sid,
					startedAtMs: hit.atMs,
					lastHitAtMs: hit.atMs,
					hits: 1,
					landingPage: hit.page,
				},
		firstChannel: profile.firstChannel ?? hit.channel,
		channels: isSameVisit ? profile.channels : countChannel(profile.channels, hit.channel),
		lastChannel: isSameVisit ? profile.lastChannel : hit.channel,
		landingPage: profile.hits === 0 ? hit.page : profile.landingPage,
		device: hit.device,
		pageTimes: hit.page === null ? profile.pageTimes : withLatest(profile.pageTimes, [hit.page, hit.atMs]),
		events: hit.events.reduce((events, name) => countEvent(events, name, hit.atMs), profile.events),
		recentHits: add(profile.recentHits, 1),
		recentVisits: add(profile.recentVisits, isSameVisit ? 0 : 1),
		recentEvents: add(profile.recentEvents, hit.events.length),
	};
}

function countChannel(channels: Profile['channels'], channel: string): Profile['channels'] {
	const visits = channels.find(([name]) => name === channel)?.[1] ?? 0;
	return withLatest(channels, [channel, visits + 1]);
}

function countEvent(events: readonly EventCount[], name: string, atMs: number): readonly EventCount[] {
	const count = events.find(([known]) => known === name)?.[1] ?? 0;
	return withLatest(events, [name, count + 1, atMs]);
}

/** Uses lists, because objects order keys that look like integers. */
function withLatest<Entry extends readonly [name: string, ...unknown[]]>(
	entries: readonly Entry[],
	latest: Entry,
	max = maxNames,
	textOf: (entry: Entry) => string = ([name]) => name,
): readonly Entry[] {
	const others = entries.filter(([name]) => name !== latest[0]);
	return lastOf([...others, latest], max, textOf);
}

/** As many of the last entries as fit, and always the last one. */
function lastOf<Entry>(
	entries: readonly Entry[],
	max: number,
	nameOf: (entry: Entry) => string,
): readonly Entry[] {
	let characters = 0;
	let from = entries.length;
	while (from > 0 && entries.length - from < max) {
		characters += nameOf(entries[from - 1] as Entry).length;
		if (characters > maxCharacters && from < entries.length) break;
		from--;
	}
	return entries.slice(from);
}

function applySubscription(profile: Profile, entry: SubscriptionEntry): Profile {
	const before = profile.subscriptions;
	const subids = before?.subids ?? [];
	const trials = before?.trials ?? [];
	const place = subids.indexOf(entry.subid);
	const hasBegun = place >= 0;
	const isTrial = trials.includes(place);
	const kind = loggedKindOf(entry.revenuePence, { hasBegun, isTrial });
	const begins = !hasBegun && kind !== 'refund';
	const begun = begins ? lastOf([...subids, entry.subid], maxSubids, (subid) => subid) : subids;
	const left = subids.length + Number(begins) - begun.length;
	const tried = [
		...trials.filter((each) => kind !== 'conversion' || each !== place),
		...(kind === 'trial' ? [subids.length] : []),
	]
		.map((each) => each - left)
		.filter((each) => each >= 0);
	const longTerm = before ? before.longTerm : ([0, 0] as const);
	const latest = before ? before.latest : [];
	const [quarter, year] = longTerm
		? decayLongTerm(longTerm, entry.atMs - (before?.lastAtMs ?? entry.atMs))
		: [0, 0];
	return {
		...profile,
		subscriptions: {
			count: (before?.count ?? 0) + 1,
			renewals: (before?.renewals ?? 0) + (hasBegun && kind !== 'refund' ? 1 : 0),
			revenuePence: (before?.revenuePence ?? 0) + entry.revenuePence,
			lastAtMs: entry.atMs,
			lastEvt: entry.evt,
			evts: countEvent(before?.evts ?? [], entry.evt, entry.atMs),
			kinds: {
				...before?.kinds,
				[kind]: countEvent(before?.kinds?.[kind] ?? [], entry.evt, entry.atMs),
			},
			subids: begun,
			...(tried.length > 0 && { trials: tried }),
			recent: add(before ? decay(before.recent, entry.atMs - before.lastAtMs) : [0, 0, 0], 1),
			...(longTerm && { longTerm: [round(quarter + 1), round(year + 1)] }),
			...(latest && { latest: addLatest(latest, entry, begins) }),
		},
	};
}

function addLatest(
	latest: readonly LatestEvents[],
	{ subid, evt, atMs, revenuePence }: SubscriptionEntry,
	begins: boolean,
): readonly LatestEvents[] {
	const [, knownEvt = evt, events = []] = latest.find(([known]) => known === subid) ?? [];
	const ofEvt = begins ? evt : knownEvt;
	const isOther = revenuePence === 0 && evt !== ofEvt;
	const event = isOther ? ([atMs, 0, evt] as const) : ([atMs, revenuePence] as const);
	const added = [...events, event].slice(-maxEventsOfSubid);
	const ofSubid: LatestEvents = [subid, ofEvt, added];
	return withLatest(latest, ofSubid, maxLatest, ([subid, evt]) => subid + evt);
}
