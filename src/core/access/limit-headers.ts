import type { UsagePlan } from '../domain/usage-plan.ts';

// Items of the IETF draft "RateLimit header fields for HTTP", which allows only whole requests and whole seconds.

/** The largest integer of a structured field (RFC 9651, section 3.3.1). */
const maxInteger = 999_999_999_999_999;
/** The share of the rate that may be lost to rounding. */
const tolerance = 0.01;
/** Tolerates binary rounding: 0.7 a second is 7 in 10, although 7 / 0.7 is slightly more than 10. */
const binaryFraction = 2 * Number.EPSILON;

/**
 * A plan's rate as `q` requests in `w` seconds: the smallest integers that do not exceed the rate and are at most 1%
 * below it.
 */
export function ratePolicy({ ratePerSecond }: UsagePlan): string {
	for (let count = 1; ; count++) {
		const requests = ratePerSecond < 1 ? count : Math.floor(ratePerSecond * count * (1 + binaryFraction));
		const seconds = ratePerSecond < 1 ? Math.ceil((count / ratePerSecond) * (1 - binaryFraction)) : count;
		if (seconds > maxInteger) return `"rate";q=1;w=${maxInteger}`;
		// Reached once the larger of the two is over 100 at the latest.
		if (requests >= ratePerSecond * seconds * (1 - tolerance)) return `"rate";q=${requests};w=${seconds}`;
	}
}

/**
 * Requests that would be admitted at once. There is no `t`: on most plans the next token is less than a second away, and
 * a client that waited a whole second would use a tenth of its rate. The policy gives the rate.
 */
export function rateRemaining(requests: number): string {
	return `"rate";r=${requests}`;
}

/** The monthly quota of a plan. */
export function quotaPolicy({ quotaPerMonth }: UsagePlan, monthMs: number): string {
	return `"quota";q=${quotaPerMonth};w=${monthMs / 1000}`;
}

/** How long to wait: whole seconds, rounded up and at least 1, so that a client that waits that long is admitted. */
export function retryAfter(ms: number): { 'retry-after': string } {
	return { 'retry-after': String(Math.max(1, Math.ceil(ms / 1000))) };
}

/** What is left of the quota, and the seconds until it is reset. */
export function quotaRemaining(requests: number, untilMonthEndMs: number): string {
	return `"quota";r=${requests};t=${Math.ceil(untilMonthEndMs / 1000)}`;
}
