import { dayMs, minuteMs } from '../durations.ts';
import { activeSubscriptions } from './active-subscriptions.ts';
import { type DecayedCounts, decay, type EventCount, type Profile } from './profile.ts';
import { type Cadences, noCadences } from './subscription-cadence.ts';

/** Numbers and texts about a visitor as of a moment; for a visit's profile, about that visit only. */
export type VisitorNumbers = Readonly<ReturnType<typeof visitorNumbers>>;
/** The visitor's facts for segment rules, which can read each of them. */
export type VisitorFacts = Readonly<ReturnType<typeof visitorFacts>>;
/** Facts about the latest visit, for segment rules. */
export type VisitFacts = Readonly<ReturnType<typeof visitFacts>>;

/** The visitor's facts as of `nowMs`; zero or empty where nothing is known. */
export function visitorFacts(profile: Profile | null, nowMs: number, cadences: Cadences = noCadences) {
	return {
		...visitorNumbers(profile, nowMs),
		renewals: renewalsOf(profile, cadences),
		/** Subscriptions that have not ended: they are paid for, or due and may still be renewed. */
		activeSubscriptions: activeSubscriptions(profile, nowMs, cadences).length,
		/** Pages seen in the last 7 days; at most 50, as of channels. */
		pages7d: seenSince(profile, nowMs - 7 * dayMs),
		pages30d: seenSince(profile, nowMs - 30 * dayMs),
		channels: (profile?.channels ?? []).map(([channel]) => channel),
		/** Maps, because names come from pages and may be `constructor`. */
		events: counts(profile?.events),
		evts: counts(profile?.subscriptions?.evts),
	};
}

/** Cancellations are none. */
function renewalsOf(profile: Profile | null, { cancellationEvt }: Cadences): number {
	const { renewals = 0, kinds } = profile?.subscriptions ?? {};
	const [, cancellations = 0] = kinds?.free?.find(([evt]) => evt === cancellationEvt) ?? [];
	return renewals - cancellations;
}

/** Without lists, which take longer to build than everything else. */
export function visitorNumbers(profile: Profile | null, nowMs: number) {
	const sinceMs = (atMs: number | undefined) => (atMs === undefined ? 0 : Math.max(0, nowMs - atMs));
	const lastHitAtMs = profile?.visit?.lastHitAtMs ?? profile?.lastAtMs;
	const subscriptions = profile?.subscriptions;
	const recent = (counts: DecayedCounts | undefined, asOfMs: number | undefined) =>
		counts ? decay(counts, sinceMs(asOfMs)) : ([0, 0, 0] as const);
	const [recentHits1d, recentHits7d, recentHits30d] = recent(profile?.recentHits, profile?.lastAtMs);
	const [recentVisits1d, recentVisits7d, recentVisits30d] = recent(profile?.recentVisits, profile?.lastAtMs);
	const [recentEvents1d, recentEvents7d, recentEvents30d] = recent(profile?.recentEvents, profile?.lastAtMs);
	const [recentSubscriptions1d, recentSubscriptions7d, recentSubscriptions30d] = recent(
		subscriptions?.recent,
		subscriptions?.lastAtMs,
	);
	return {
		hits: profile?.hits ?? 0,
		/** Hits that were of a page. */
		pages: profile?.pages ?? 0,
		visits: profile?.visits ?? 0,
		/** Days (UTC) with a hit. */
		activeDays: profile?.activeDays ?? 0,
		dwellMinutes: (profile?.dwellMs ?? 0) / minuteMs,
		daysSinceFirst: sinceMs(profile?.firstAtMs) / dayMs,
		daysSinceLast: sinceMs(lastHitAtMs) / dayMs,
		minutesSinceLast: sinceMs(lastHitAtMs) / minuteMs,
		/** Exponentially decayed counts: an event one half-life (1, 7 or 30 days) ago counts half, two half-lives ago a quarter. */
		recentHits1d,
		recentHits7d,
		recentHits30d,
		recentVisits1d,
		recentVisits7d,
		recentVisits30d,
		recentEvents1d,
		recentEvents7d,
		recentEvents30d,
		subscriptions: subscriptions?.count ?? 0,
		renewals: subscriptions?.renewals ?? 0,
		revenuePence: subscriptions?.revenuePence ?? 0,
		recentSubscriptions1d,
		recentSubscriptions7d,
		recentSubscriptions30d,
		/** Infinity without a subscription, so that `< 30` is false and `> 30` is true. */
		daysSinceSubscription: subscriptions ? sinceMs(subscriptions.lastAtMs) / dayMs : Number.POSITIVE_INFINITY,
		device: profile?.device ?? '',
		firstChannel: profile?.firstChannel ?? '',
		lastChannel: profile?.lastChannel ?? '',
		landingPage: profile?.landingPage ?? '',
	};
}

export function visitFacts(profile: Profile | null) {
	const visit = profile?.visit;
	if (!profile || !visit)
		return {
			hits: 0,
			dwellMinutes: 0,
			channel: '',
			landingPage: '',
			pagesSeen: [],
			eventsFired: [] as string[],
		};
	return {
		hits: visit.hits,
		/** From the first hit of the visit to its last. */
		dwellMinutes: (visit.lastHitAtMs - visit.startedAtMs) / minuteMs,
		channel: profile.lastChannel ?? '',
		landingPage: visit.landingPage ?? '',
		/** Pages and events of this visit; at most 50 of each. */
		pagesSeen: seenSince(profile, visit.startedAtMs),
		eventsFired: profile.events.filter(([, , atMs]) => atMs >= visit.startedAtMs).map(([name]) => name),
	};
}

function seenSince(profile: Profile | null, sinceMs: number): string[] {
	return (profile?.pageTimes ?? []).filter(([, atMs]) => atMs >= sinceMs).map(([page]) => page);
}

function counts(events: readonly EventCount[] = []): ReadonlyMap<string, number> {
	return new Map(events.map(([name, count]) => [name, count]));
}
