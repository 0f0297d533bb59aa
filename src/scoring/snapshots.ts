import { type Goal, reaches } from '../domain/goal.ts';
import { apply, compareEntries, type HitEntry, type LogEntry, type Profile } from '../domain/profile.ts';
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
	/** Of one visitor. */
	readonly maxSnapshots: number;
}

/** Evenly spread moments whose outcome is known, the last one just so. */
export function cutsOf(fromMs: number, lastMs: number, count: number): number[] {
	if (!(lastMs > fromMs)) return [];
	return Array.from({ length: count }, (_, cut) =>
		Math.round(fromMs + ((lastMs - fromMs) * (cut + 1)) / count),
	);
}

/**
 * Snapshots of a visitor. Half are taken right after a hit, when pages read scores, and half at cuts, when the visitor may
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
	const fromCuts = shareOf(plan.maxSnapshots, cutsMs.length, hitTimesMs.length, random);
	const moments = new Set([
		...draw(cutsMs, fromCuts, random),
		...draw(hitTimesMs, plan.maxSnapshots - fromCuts, random),
	]);
	return [...moments]
		.sort((a, b) => a - b)
		.map((atMs) => {
			const entries: LogEntry[] = history.hits.filter((hit) => hit.atMs <= atMs);
			const events = history.events.filter((event) => event.knownFromMs <= atMs && atMs < event.knownUntilMs);
			if (events.length > 0) entries.push(...events.map(({ entry }) => entry));
			return { atMs, profile: fold(entries), labels: labelsOf(history, atMs, plan) };
		});
}

/** Snapshots of a visitor's visits, each as of one of its hits: of what that visit alone had shown by then. */
export function visitSnapshots(
	history: VisitorHistory,
	plan: SnapshotPlan,
	random: () => number,
): Snapshot[] {
	const lastMs = plan.asOfMs - plan.horizonMs;
	const visits = Map.groupBy(
		history.hits.filter(({ atMs }) => atMs <= lastMs),
		({ sid }) => sid,
	);
	return draw([...visits.values()], plan.maxSnapshots, random).map((hits) => {
		const [last] = draw(hits, 1, random) as [HitEntry];
		const entries = hits.filter((hit) => hit.atMs <= last.atMs);
		return { atMs: last.atMs, profile: fold(entries), labels: labelsOf(history, last.atMs, plan, last.sid) };
	});
}

/** How many of the snapshots are taken at cuts: half, and more where there are not so many hits. */
function shareOf(most: number, cuts: number, hits: number, random: () => number): number {
	const half = Math.floor(most / 2) + (random() < (most % 2) / 2 ? 1 : 0);
	return Math.min(cuts, Math.max(half, most - hits));
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

function labelsOf(
	{ hits, events }: VisitorHistory,
	atMs: number,
	{ goals, horizonMs }: SnapshotPlan,
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
