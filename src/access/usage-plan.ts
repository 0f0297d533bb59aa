import type { RateLimit } from './token-bucket.ts';

/** The limits that an API key is tied to (spec sections 5.1 and 8). */
export interface UsagePlan extends RateLimit {
	readonly name: string;
	/** Requests per calendar month, UTC. */
	readonly quotaPerMonth: number;
	/** From the arrival of a request, its body included. */
	readonly timeoutMs: number;
	/** Objects in `data` of one request. */
	readonly maxEvents: number;
}

/** The limits of the spec. This plan exists in every control database. */
export const standardPlan: UsagePlan = {
	name: 'standard',
	ratePerSecond: 10,
	burst: 1,
	quotaPerMonth: 1_000_000,
	timeoutMs: 5000,
	maxEvents: 30,
};

/** The calendar month of `nowMs` in UTC, as `2026-11`. */
export function monthOf(nowMs: number): string {
	return new Date(nowMs).toISOString().slice(0, 7);
}

/** When the month of `nowMs` ends: the 1st of the next one, 00:00 UTC. */
export function monthEndMs(nowMs: number): number {
	const now = new Date(nowMs);
	return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
}

export function monthStartMs(nowMs: number): number {
	const now = new Date(nowMs);
	return Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
}
