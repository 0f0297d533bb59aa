import { type Goal, reaches } from '../domain/goal.ts';
import { apply, compareEntries, type LogEntry, type Profile } from '../domain/profile.ts';
import type { VisitorHistory } from '../store/account/visitor-history.ts';

/** What was known of a visitor, or of one visit, at one moment, and what came of it. */
export interface Snapshot {
	readonly atMs: number;
	readonly profile: Profile;
	/** For each goal, whether it was reached within the horizon after `atMs`. */
	readonly labels: readonly (0 | 1)[];
}

/** When snapshots are taken. */
export interface SnapshotPlan {
	/** Nothing later is seen. */
	readonly asOfMs: number;
	readonly horizonMs: number;
	/** Of that horizon. */
	readonly goals: readonly Pick<Goal, 'evts'>[];
	/** Moments that do not depend on what a visitor does, as a batch picks them; earliest first. */
	readonly cutsMs: readonly number[];
	/** Of a visitor, on average and at most. */
	readonly cutsOfOne: number;
	/** Which share of all hits is followed by a snapshot, as pages ask after each: of new visitors as often as they are met. */
	readonly hitShare: number;
}

/** Bounds what one visitor may say. */
const maxHitsOfOne = 32;

/** Evenly spread moments whose outcome is known, the last one just so. */
export function cutsOf(fromMs: number, lastMs: number, count: number): number[] {
	if (!(lastMs > fromMs)) return [];
	return Array.from({ length: count }, (_, cut) =>
		Math.round(fromMs + ((lastMs - fromMs) * (cut + 1)) / count),
	);
}

/**
 * Snapshots of a visitor. Some are taken right after a hit, when pages read scores, and some at cuts, when the visitor may
 * have been away for long; which, chance decides.
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
	const fromCuts = draw(cutsMs, roundStochastically(plan.cutsOfOne, random), random);
	const moments = [...new Set([...fromHits, ...fromCuts])].sort((a, b) => a - b);
	const profiles = profilesAt(history, moments);
	return moments.map((atMs, index) => ({
		atMs,
		profile: profiles[index] as Profile,
		labels: labelsOf(history, atMs, plan),
	}));
}

/** Snapshots of a visitor's visits, each as of one of its hits: of what that visit alone had shown by then. */
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

/** A whole number next to this one, on average this one. */
function roundStochastically(number: number, random: () => number): number {
	const whole = Math.floor(number);
	return whole + (random() < number - whole ? 1 : 0);
}

/** What was known of the visitor at each moment; earliest first. */
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

/** Some of the items, in no order. */
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

/** For each goal, whether it was reached in the horizon after a moment. */
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
