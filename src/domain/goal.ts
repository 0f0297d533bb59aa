import type { LogEntry, Profile } from './profile.ts';

/** What a visitor may come to do, whose probability is scored. */
export interface Goal {
	readonly name: string;
	/** Names of events that reach it, of hits or of uploads; `*` is any subscription event, `visit` another visit. */
	readonly evts: readonly string[];
	/** Reached within this time counts. */
	readonly horizonDays: number;
	/** The percentile at which the band `medium` begins. */
	readonly mediumFrom: number;
	/** The percentile at which the band `high` begins. */
	readonly highFrom: number;
}

/** What a goal has where an operator says nothing else. */
export const goalDefaults = { horizonDays: 7, mediumFrom: 50, highFrom: 90 } as const;

/** The goals of a new account; the migration that brought goals gave the same to accounts that were there. */
export const defaultGoals: readonly Goal[] = [
	{ name: 'subscription', evts: ['*'], ...goalDefaults },
	{ name: 'return', evts: ['visit'], ...goalDefaults },
];

/** Whether a profile's visitor has ever reached the goal. */
export function hasReached({ events, subscriptions, visits }: Profile, { evts }: Goal): boolean {
	return evts.some((evt) => {
		if (evt === '*') return subscriptions !== null;
		if (evt === 'visit') return visits > 1;
		return (
			events.some(([name]) => name === evt) || (subscriptions?.evts.some(([name]) => name === evt) ?? false)
		);
	});
}

/**
 * Whether an entry of the log reaches the goal.
 * @param currentSid of the visit that goes on: a hit of another one is another visit
 */
export function reaches(entry: LogEntry, { evts }: Pick<Goal, 'evts'>, currentSid: string | null): boolean {
	return evts.some((evt) => {
		if (evt === '*') return entry.type === 'subscription';
		if (evt === 'visit') return entry.type === 'hit' && entry.sid !== currentSid;
		return entry.type === 'hit' ? entry.events.includes(evt) : entry.evt === evt;
	});
}
