import { dayMs } from '../durations.ts';
import { OperatorError } from '../errors.ts';
import { type CancellationEvt, isCancellation, type LoggedKind, loggedKindOf } from './event-kind.ts';
import type { LogEntry, Profile } from './profile.ts';

/**
 * Which subscription events reach a goal: a visitor's first one of a subscription, whether or not it is free; the first payment
 * above nothing; a first one that is free, with which a trial begins; later ones; refunds; or all.
 */
export const goalCounts = ['acquisition', 'first-payment', 'trial', 'renewal', 'refund', 'any'] as const;
export type GoalCounts = (typeof goalCounts)[number];

/** The kinds of events in profiles that each of these counts. */
const countedKinds: Readonly<Record<Exclude<GoalCounts, 'any'>, readonly LoggedKind[]>> = {
	acquisition: ['acquisition', 'trial'],
	'first-payment': ['acquisition', 'conversion'],
	trial: ['trial'],
	renewal: ['renewal', 'conversion', 'free'],
	refund: ['refund'],
};

/** An action whose probability is scored. */
export interface Goal {
	readonly name: string;
	/** Names of the hit or upload events that reach the goal. `*` is every `evt`, `visit` another visit. */
	readonly evts: readonly string[];
	/** Of upload events. */
	readonly counts: GoalCounts;
	/** The goal must be reached within this time. Renewals must come in their own. */
	readonly horizonDays: number;
	readonly mediumFrom: number;
	/** Lowest percentile of the band `high`. */
	readonly highFrom: number;
}

/** Where a score lies among those of all visitors. */
export type Band = 'low' | 'medium' | 'high';

/** Where the bands of a goal begin. */
export type Bands = Pick<Goal, 'mediumFrom' | 'highFrom'>;

/** What can change of a goal. */
export type GoalChange = Partial<Pick<Goal, 'counts' | 'mediumFrom' | 'highFrom'>>;

/** Defaults for settings that the operator leaves out. */
export const goalDefaults = { counts: 'acquisition', horizonDays: 7, mediumFrom: 50, highFrom: 90 } as const;

/** The goals of a new account. */
export const defaultGoals: readonly Goal[] = [
	{ name: 'subscription', evts: ['*'], ...goalDefaults },
	{ name: 'return', evts: ['visit'], ...goalDefaults },
	// Monthly plans renew once in it.
	{ name: 'renewal', evts: ['*'], ...goalDefaults, counts: 'renewal', horizonDays: 31 },
];

/** The horizon, in whole milliseconds. */
export function horizonMsOf({ horizonDays }: Goal): number {
	return Math.round(horizonDays * dayMs);
}

/**
 * The time after a row of training, or a sampled moment, until its outcome is known. Those of renewals are as of the moment
 * at which theirs is.
 */
export function delayMsOf(goal: Goal): number {
	return goal.counts === 'renewal' ? 0 : horizonMsOf(goal);
}

type ReachedBy = Pick<Goal, 'evts' | 'counts'>;

/** Whether a goal names an event of the page. */
function names({ evts }: ReachedBy, event: string): boolean {
	return event !== '*' && event !== 'visit' && evts.includes(event);
}

/** Whether subscription events with this `evt` can reach a goal. */
export function namesUpload(goal: ReachedBy, evt: string): boolean {
	return goal.evts.includes('*') || names(goal, evt);
}

/** How often a visitor has reached a goal, and when last. */
export interface ReachedCount {
	readonly count: number;
	/** Milliseconds since 1970. */
	readonly lastAtMs: number;
}

/**
 * How often a profile's visitor has reached a goal; undefined if never. What the account calls a cancellation reaches only goals
 * that count any event.
 */
export function reachedOf(
	{ events, subscriptions, visit, visits }: Profile,
	goal: ReachedBy,
	cancellationEvt: CancellationEvt,
): ReachedCount | undefined {
	let count = 0;
	let lastAtMs = Number.NEGATIVE_INFINITY;
	const add = (number: number, atMs: number) => {
		count += number;
		lastAtMs = Math.max(lastAtMs, atMs);
	};
	for (const [name, number, atMs] of events) if (names(goal, name)) add(number, atMs);
	if (goal.evts.includes('visit') && visits > 1 && visit) add(visits - 1, visit.startedAtMs);
	if (goal.counts === 'any' && goal.evts.includes('*')) {
		// The lists have the latest names only.
		if (subscriptions) add(subscriptions.count, subscriptions.lastAtMs);
	} else if (goal.counts === 'any') {
		for (const [evt, number, atMs] of subscriptions?.evts ?? [])
			if (namesUpload(goal, evt)) add(number, atMs);
	} else {
		for (const kind of countedKinds[goal.counts]) {
			const isFree = kind === 'trial' || kind === 'free';
			for (const [evt, number, atMs] of subscriptions?.kinds?.[kind] ?? [])
				if (namesUpload(goal, evt) && !(isFree && evt === cancellationEvt)) add(number, atMs);
		}
	}
	return count > 0 ? { count, lastAtMs } : undefined;
}

/** Whether a profile's visitor has reached the goal after a moment. */
export function hasReachedSince(
	profile: Profile,
	goal: ReachedBy,
	sinceMs: number,
	cancellationEvt: CancellationEvt,
): boolean {
	return (reachedOf(profile, goal, cancellationEvt)?.lastAtMs ?? Number.NEGATIVE_INFINITY) > sinceMs;
}

/**
 * The moments at which a visitor reaches a goal by events. Another visit depends on the moment from which it is seen.
 * @param log all of it, in order
 */
export function reachedAtMs(
	log: readonly LogEntry[],
	goal: ReachedBy,
	cancellationEvt: CancellationEvt,
): number[] {
	const begun = new Set<string>();
	const trials = new Set<string>();
	return log
		.filter((entry) => {
			if (entry.type === 'hit') return entry.events.some((event) => names(goal, event));
			const { revenuePence, subid } = entry;
			if (isCancellation(entry, cancellationEvt))
				return goal.counts === 'any' && namesUpload(goal, entry.evt);
			const kind = loggedKindOf(revenuePence, { hasBegun: begun.has(subid), isTrial: trials.has(subid) });
			if (kind !== 'refund') begun.add(subid);
			if (kind === 'trial') trials.add(subid);
			if (kind === 'conversion') trials.delete(subid);
			return (
				(goal.counts === 'any' || countedKinds[goal.counts].includes(kind)) && namesUpload(goal, entry.evt)
			);
		})
		.map(({ atMs }) => atMs);
}

/** Parses where the bands medium and high begin, such as 50,90. @throws OperatorError */
export function bandsOf(value: string): Bands {
	const [, medium, high] = /^(\d{1,2}(?:\.\d+)?),(\d{1,2}(?:\.\d+)?)$/.exec(value) ?? [];
	const [mediumFrom, highFrom] = [Number(medium), Number(high)];
	if (!(mediumFrom < highFrom))
		throw new OperatorError('It must be two percentiles below 100, the lower one first, for example 50,90.');
	return { mediumFrom, highFrom };
}
