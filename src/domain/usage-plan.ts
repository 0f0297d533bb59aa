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

/** A calendar month in UTC. */
export interface Month {
	/** As `2026-11`. */
	readonly name: string;
	/** The 1st, 00:00 UTC. */
	readonly startMs: number;
	/** The 1st of the next month, 00:00 UTC. */
	readonly endMs: number;
}

let lastMonth: Month = { name: '', startMs: 0, endMs: 0 };

/** The month that `nowMs` falls in. Nearly every call is for the month of the call before, so that one is kept. */
export function monthAt(nowMs: number): Month {
	if (nowMs < lastMonth.startMs || nowMs >= lastMonth.endMs) {
		const now = new Date(nowMs);
		const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
		lastMonth = {
			name: now.toISOString().slice(0, 7),
			startMs: Date.UTC(year, month, 1),
			endMs: Date.UTC(year, month + 1, 1),
		};
	}
	return lastMonth;
}
