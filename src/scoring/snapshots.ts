import { type Goal, reaches } from '../domain/goal.ts';
import { apply, compareEntries, type LogEntry, type Profile } from '../domain/profile.ts';
import type { VisitorHistory } from '../store/account/visitor-history.ts';

/** What was known about a visitor or a visit at a moment, and the outcomes. */
export interface Snapshot {
	readonly atMs: number;
	readonly profile: Profile;
	/** For each goal, whether it was reached within the horizon after `atMs`. */
	readonly labels: readonly (0 | 1)[];
}

/** When snapshots are taken. */
export interface SnapshotPlan {
	/** Nothing later is used. */
	readonly asOfMs: number;
	readonly horizonMs: number;
	/** Goals of that horizon. */
	readonly goals: readonly Pick<Goal, 'evts'>[];
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
const maxHitsOfOne = 32;

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
	return moments.map((atMs, index) => ({
		atMs,
		profile: profiles[index] as Profile,
		labels: labelsOf(history, atMs, plan),
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
	const visits = Map.groupBy(known, ({ sid }) => sid);
	return draw(known, hitCount(plan, known.length, random), random).map((last) => {
		const profile = fold((visits.get(last.sid) ?? []).filter((hit) => hit.atMs <= last.atMs));
		return { atMs: last.atMs, profile, labels: labelsOf(history, last.atMs, plan, last.sid) };
	});
}

/** What a visit had shown by a moment. */
export function visitProfileAt({ hits }: VisitorHistory, sid: string, atMs: number): Profile {
	return fold(hits.filter((hit) => hit.sid === sid && hit.atMs <= atMs));
}

function hitCount({ hitShare }: SnapshotPlan, hits: number, random: () => number): number {
	return Math.min(maxHitsOfOne, roundStochastically(hits * hitShare, random));
}

/** Rounds up or down at random, so that the mean stays. */
function roundStochastically(number: number, random: () => number): number {
	const whole = Math.floor(number);
	return whole + (random() < number - whole ? 1 : 0);
}

/** The visitor's profile at each moment; earliest first. */
export function profilesAt({ hits, events }: VisitorHistory, momentsMs: readonly number[]): Profile[] {
	const isKnownAtOnce = events.every(
		({ entry, knownFromMs, knownUntilMs }) =>
			knownFromMs <= entry.atMs && knownUntilMs === Number.POSITIVE_INFINITY,
	);
	if (!isKnownAtOnce)
		return momentsMs.map((atMs) =>
			fold([
				...hits.filter((hit) => hit.atMs <= atMs),
				...events
					.filter((event) => event.knownFromMs <= atMs && atMs < event.knownUntilMs)
					.map(({ entry }) => entry),
			]),
		);
	const entries = [...hits, ...events.map(({ entry }) => entry)].sort(compareEntries);
	let profile: Profile | null = null;
	let next = 0;
	return momentsMs.map((atMs) => {
		for (; (entries[next]?.atMs ?? Number.POSITIVE_INFINITY) <= atMs; next++)
			profile = apply(profile, entries[next] as LogEntry);
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

function fold(entries: LogEntry[]): Profile {
	return entries.sort(compareEntries).reduce<Profile | null>(apply, null) as Profile;
}

/** For each goal, whether it was reached within the horizon after a moment. */
export function labelsOf(
	{ hits, events }: VisitorHistory,
	atMs: number,
	{ goals, horizonMs }: Pick<SnapshotPlan, 'goals' | 'horizonMs'>,
	sid: string | null = hits.findLast((hit) => hit.atMs <= atMs)?.sid ?? null,
): (0 | 1)[] {
	const within = (time: number) => time > atMs && time <= atMs + horizonMs;
	const later: LogEntry[] = [
		...hits.filter((hit) => within(hit.atMs)),
		...events
			.filter(({ entry, knownUntilMs }) => knownUntilMs === Number.POSITIVE_INFINITY && within(entry.atMs))
			.map(({ entry }) => entry),
	];
	return goals.map((goal) => (later.some((entry) => reaches(entry, goal, sid)) ? 1 : 0));
}
