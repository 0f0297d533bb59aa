import { dayMs, hourMs, minuteMs } from '../../core/durations.ts';

const secondMs = 1000;

/** Pauses between attempts: from 5 s to 24 h, three days in total. */
export const retryPausesMs: readonly number[] = [
	...[5 * secondMs, 30 * secondMs, 3 * minuteMs, 15 * minuteMs, hourMs],
	...[3 * hourMs, 8 * hourMs, 12 * hourMs, dayMs, dayMs],
];

/** A webhook that has failed for this long is disabled. */
export const disableAfterMs = 72 * hourMs;
/** Messages are kept this long, delivered or not. All attempts take less time. */
export const keepMessagesMs = 4 * dayMs;

const maxJitter = 0.1;

/**
 * The pause after a number of failed attempts; undefined after the last one. It is never shorter than the schedule, so
 * that all attempts together take three days.
 * @param random from 0 to 1
 * @param retryAfterMs what the receiver asks for; at most a day is respected
 */
export function retryPauseMs(attempts: number, random: number, retryAfterMs = 0): number | undefined {
	const pauseMs = retryPausesMs[attempts - 1];
	if (pauseMs === undefined) return undefined;
	return Math.round(Math.max(pauseMs * (1 + maxJitter * random), Math.min(retryAfterMs, dayMs)));
}

/** The value of `Retry-After`, in seconds or as a date; undefined if it is invalid. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
	if (value === undefined) return undefined;
	if (/^\d{1,9}$/.test(value)) return Number(value) * secondMs;
	const atMs = Date.parse(value);
	return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}
