import type { RateLimit } from './token-bucket.ts';

/** The limits of an API key (sections 5.1 and 8 of the specification). */
export interface UsagePlan extends RateLimit {
	readonly name: string;
	/** Requests per calendar month, UTC. */
	readonly quotaPerMonth: number;
	/** Counted from the arrival of the request, including its body. */
	readonly timeoutMs: number;
	/** Maximum number of objects in `data`. */
	readonly maxEvents: number;
}

/** The limits of the specification. Every control database has this plan. */
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
	/** For example `2026-11`. */
	readonly name: string;
	/** The 1st, 00:00 UTC. */
	readonly startMs: number;
	/** The 1st of the next month, 00:00 UTC. */
	readonly endMs: number;
}

let lastMonth: Month = { name: '', startMs: 0, endMs: 0 };

/** The month of `nowMs`. Caches the last one, because nearly every call asks for the same month. */
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
