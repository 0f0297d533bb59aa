import { dayMs } from '../durations.ts';
import type { EventCount, LogEntry, Profile } from './profile.ts';

/** An action whose probability is scored. */
export interface Goal {
	readonly name: string;
	/** Names of the hit or upload events that reach the goal. `*` is any subscription event, `visit` another visit. */
	readonly evts: readonly string[];
	/** The goal must be reached within this time. */
	readonly horizonDays: number;
	/** Lowest percentile of the band `medium`. */
	readonly mediumFrom: number;
	/** Lowest percentile of the band `high`. */
	readonly highFrom: number;
}

/** Defaults for settings that the operator leaves out. */
export const goalDefaults = { horizonDays: 7, mediumFrom: 50, highFrom: 90 } as const;

/** The goals of a new account. The migration that introduced goals gave existing accounts the same. */
export const defaultGoals: readonly Goal[] = [
	{ name: 'subscription', evts: ['*'], ...goalDefaults },
	{ name: 'return', evts: ['visit'], ...goalDefaults },
];

/** The horizon, in whole milliseconds. */
export function horizonMsOf({ horizonDays }: Goal): number {
	return Math.round(horizonDays * dayMs);
}

/** Whether a profile's visitor has reached the goal after a moment. */
export function hasReachedSince(
	{ events, subscriptions, visit, visits }: Profile,
	{ evts }: Goal,
	sinceMs: number,
): boolean {
	const isSince = ([, , lastAtMs]: EventCount) => lastAtMs > sinceMs;
	return evts.some((evt) => {
		if (evt === '*') return (subscriptions?.lastAtMs ?? Number.NEGATIVE_INFINITY) > sinceMs;
		if (evt === 'visit') return visits > 1 && (visit?.startedAtMs ?? Number.NEGATIVE_INFINITY) > sinceMs;
		return [...events, ...(subscriptions?.evts ?? [])].some((event) => event[0] === evt && isSince(event));
	});
}

/**
 * Whether a log entry reaches the goal.
 * @param currentSid the current visit; a hit of another `sid` counts as another visit
 */
export function reaches(entry: LogEntry, { evts }: Pick<Goal, 'evts'>, currentSid: string | null): boolean {
	return evts.some((evt) => {
		if (evt === '*') return entry.type === 'subscription';
		if (evt === 'visit') return entry.type === 'hit' && entry.sid !== currentSid;
		return entry.type === 'hit' ? entry.events.includes(evt) : entry.evt === evt;
	});
}
