import type { ActiveSubscription } from '../../../core/domain/active-subscriptions.ts';
import type { CancellationEvt } from '../../../core/domain/event-kind.ts';
import { type Goal, reachedAtMs } from '../../../core/domain/goal.ts';
import { apply, compareEntries, type LogEntry, type Profile } from '../../../core/domain/profile.ts';
import { countBelow } from '../../../core/scoring/rows/count-below.ts';
import type { VisitorHistory } from '../../../kit/reading/histories.ts';
import type { JoinedEvent } from '../../../kit/reading/joined-events.ts';

/** What was known about a visitor or a visit at a moment, and the outcomes. */
export interface Snapshot {
	readonly atMs: number;
	readonly profile: Profile;
	/** For each goal, whether it was reached within the horizon after `atMs`. */
	readonly labels: readonly (0 | 1)[];
	/** How many of the visitor's hits it is drawn for; default: 1. */
	readonly hits?: number;
	/** The subscription whose renewal is the outcome, and when that is known at the latest. */
	readonly renewing?: ActiveSubscription;
	readonly knownAtMs?: number;
}

/** When snapshots are taken. */
export interface SnapshotPlan {
	/** Nothing later is used. */
	readonly asOfMs: number;
	readonly horizonMs: number;
	/** Goals of that horizon. */
	readonly goals: readonly Pick<Goal, 'evts' | 'counts'>[];
	readonly cancellationEvt: CancellationEvt;
	/** Moments independent of what a visitor does, like those of a batch; earliest first. */
	readonly cutsMs: readonly number[];
	/**
	 * The share of cuts followed by a snapshot. Every visitor known at a cut has the same chance, so those known for long
	 * are as frequent as in a batch.
	 */
	readonly cutShare: number;
	/**
	 * The share of hits followed by a snapshot, as pages ask after each. So new visitors are as frequent as they are
	 * for pages.
	 */
	readonly hitShare: number;
}

/** Bounds the influence of one visitor. */
export const maxRowsOfOne = 32;

/** Evenly spaced moments with known outcomes; the last outcome has just become known. */
export function cutsOf(fromMs: number, lastMs: number, count: number): number[] {
	if (!(lastMs > fromMs)) return [];
	return Array.from({ length: count }, (_, cut) =>
		Math.round(fromMs + ((lastMs - fromMs) * (cut + 1)) / count),
	);
}

/**
 * Snapshots of a visitor. Some are right after a hit, when pages read scores, and some at cuts, when the visitor may
 * have been away for long. They are chosen at random.
 */
export function visitorSnapshots(
	history: VisitorHistory,
	plan: SnapshotPlan,
	random: () => number,
): Snapshot[] {
	const lastMs = plan.asOfMs - plan.horizonMs;
	const firstHitMs = history.hits[0]?.atMs ?? Number.POSITIVE_INFINITY;
	const hitTimesMs = history.hits.map(({ atMs }) => atMs).filter((atMs) => atMs <= lastMs);
	const cutsMs = plan.cutsMs.filter((atMs) => atMs >= firstHitMs && atMs <= lastMs);
	const fromHits = draw(hitTimesMs, hitCount(plan, hitTimesMs.length, random), random);
	const fromCuts = cutsMs.filter(() => random() < plan.cutShare);
	const moments = [...new Set([...fromHits, ...fromCuts])].sort((a, b) => a - b);
	const profiles = profilesAt(history, moments);
	const labelsAt = outcomesOf(history, plan);
	const hits = fromHits.length < maxRowsOfOne ? 1 : (plan.hitShare * hitTimesMs.length) / maxRowsOfOne;
	return moments.map((atMs, index) => ({
		atMs,
		profile: profiles[index] as Profile,
		labels: labelsAt(atMs),
		hits,
	}));
}

/** Snapshots of a visitor's visits, each as of one of its hits, with what that visit alone had shown by then. */
export function visitSnapshots(
	history: VisitorHistory,
	plan: SnapshotPlan,
	random: () => number,
): Snapshot[] {
	const lastMs = plan.asOfMs - plan.horizonMs;
	const known = history.hits.filter(({ atMs }) => atMs <= lastMs);
	const drawn = draw(known, hitCount(plan, known.length, random), random);
	const visits = Map.groupBy(known, ({ sid }) => sid);
	const labelsAt = outcomesOf(history, plan);
	return [...Map.groupBy(drawn, ({ sid }) => sid)].flatMap(([sid, ofVisit]) => {
		const moments = ofVisit.map(({ atMs }) => atMs).sort((a, b) => a - b);
		const profiles = profilesAt({ hits: visits.get(sid) ?? [], events: [] }, moments);
		return moments.map((atMs, index) => ({
			atMs,
			profile: profiles[index] as Profile,
			labels: labelsAt(atMs, sid),
		}));
	});
}

/** What a visit had shown by a moment. */
export function visitProfileAt({ hits }: VisitorHistory, sid: string, atMs: number): Profile {
	const shown = hits.filter((hit) => hit.sid === sid && hit.atMs <= atMs);
	return shown.reduce<Profile | null>(apply, null) as Profile;
}

function hitCount({ hitShare }: SnapshotPlan, hits: number, random: () => number): number {
	return Math.min(maxRowsOfOne, roundStochastically(hits * hitShare, random));
}

/** Rounds up or down at random, so that the mean stays. */
function roundStochastically(number: number, random: () => number): number {
	const whole = Math.floor(number);
	return whole + (random() < number - whole ? 1 : 0);
}

/**
 * The visitor's profile at each moment, earliest first. One pass, and another for each time that what was known of earlier
 * events changed.
 */
export function profilesAt(
	{ hits, events }: Pick<VisitorHistory, 'hits' | 'events'>,
	momentsMs: readonly number[],
): Profile[] {
	const joined = new Map<LogEntry, JoinedEvent>(events.map((event) => [event.entry, event]));
	const entries = [...hits, ...joined.keys()].sort(compareEntries);
	const changesMs = events
		.flatMap(({ entry, knownFromMs, knownUntilMs }) => [
			...(knownFromMs > entry.atMs ? [knownFromMs] : []),
			knownUntilMs,
		])
		.sort((a, b) => a - b);
	let profile: Profile | null = null;
	let [next, changes] = [0, 0];
	return momentsMs.map((atMs) => {
		const before = changes;
		while ((changesMs[changes] ?? Number.POSITIVE_INFINITY) <= atMs) changes++;
		if (changes > before) [profile, next] = [null, 0];
		for (; (entries[next]?.atMs ?? Number.POSITIVE_INFINITY) <= atMs; next++) {
			const entry = entries[next] as LogEntry;
			const event = joined.get(entry);
			if (!event || (event.knownFromMs <= atMs && atMs < event.knownUntilMs)) profile = apply(profile, entry);
		}
		return profile as Profile;
	});
}

/** Samples items, in no order. */
function draw<Item>(items: readonly Item[], count: number, random: () => number): Item[] {
	const left = [...items];
	const drawn: Item[] = [];
	while (drawn.length < count && left.length > 0) {
		const index = Math.floor(random() * left.length);
		drawn.push(left[index] as Item);
		left[index] = left[left.length - 1] as Item;
		left.pop();
	}
	return drawn;
}

/**
 * Tells for any moment, and for each goal, whether it was reached within the horizon after it. A moment takes a few steps,
 * however long the history is.
 */
export function outcomesOf(
	{ hits, events }: VisitorHistory,
	{ goals, horizonMs, cancellationEvt }: Pick<SnapshotPlan, 'goals' | 'horizonMs' | 'cancellationEvt'>,
): (atMs: number, sid?: string) => (0 | 1)[] {
	const hitTimesMs = hits.map(({ atMs }) => atMs);
	const joined = events.filter(({ knownUntilMs }) => knownUntilMs === Number.POSITIVE_INFINITY);
	// Whoever sees the page that thanks for the purchase has bought, although the upload comes later.
	const bought = joined.map(({ entry, shownAtMs = entry.atMs }) => ({
		...entry,
		atMs: Math.min(entry.atMs, shownAtMs),
	}));
	const entries: LogEntry[] = [...hits, ...bought].sort(compareEntries);
	const reachedMs = goals.map((goal) => reachedAtMs(entries, goal, cancellationEvt));
	/** For each hit, the first later one of another visit. */
	const otherVisit = new Array<number>(hits.length).fill(hits.length);
	for (let index = hits.length - 2; index >= 0; index--)
		otherVisit[index] =
			hits[index]?.sid === hits[index + 1]?.sid ? (otherVisit[index + 1] as number) : index + 1;
	return (atMs, sid) => {
		const within = (time = Number.POSITIVE_INFINITY) => time <= atMs + horizonMs;
		const isUpTo = (time: number) => time <= atMs;
		const next = countBelow(hitTimesMs, isUpTo);
		const own = sid ?? hits[next - 1]?.sid;
		const other = hits[next]?.sid === own ? (otherVisit[next] ?? hits.length) : next;
		return goals.map(({ evts }, goal) => {
			const times = reachedMs[goal] as number[];
			const reached =
				within(times[countBelow(times, isUpTo)]) || (evts.includes('visit') && within(hitTimesMs[other]));
			return reached ? 1 : 0;
		});
	};
}
