import type { UsagePlan } from '../domain/usage-plan.ts';

// The items of the IETF draft "RateLimit header fields for HTTP", which has whole requests and whole seconds only.

/** The largest integer that a header of this kind may hold (RFC 9651, section 3.3.1). */
const maxInteger = 999_999_999_999_999;
/** How much of the rate the policy may lose to whole numbers. */
const tolerance = 0.01;
/** So that 0.7 a second is 7 in 10, although 7 / 0.7 is a little more than 10. */
const binaryFraction = 2 * Number.EPSILON;

/**
 * The rate of a plan: `q` requests in `w` seconds, the smallest two numbers that are no more than the rate and at most
 * a hundredth less.
 */
export function ratePolicy({ ratePerSecond }: UsagePlan): string {
	for (let count = 1; ; count++) {
		const requests = ratePerSecond < 1 ? count : Math.floor(ratePerSecond * count * (1 + binaryFraction));
		const seconds = ratePerSecond < 1 ? Math.ceil((count / ratePerSecond) * (1 - binaryFraction)) : count;
		if (seconds > maxInteger) return `"rate";q=1;w=${maxInteger}`;
		// At the latest where the larger number has passed 100.
		if (requests >= ratePerSecond * seconds * (1 - tolerance)) return `"rate";q=${requests};w=${seconds}`;
	}
}

/**
 * What is left of the rate: requests that would be let in at once. There is no `t`: the next token is less than a
 * second away on most plans, and a client that waited the second would send a tenth of what it may. The policy says it.
 */
export function rateRemaining(requests: number): string {
	return `"rate";r=${requests}`;
}

/** The monthly quota of a plan. */
export function quotaPolicy({ quotaPerMonth }: UsagePlan, monthMs: number): string {
	return `"quota";q=${quotaPerMonth};w=${monthMs / 1000}`;
}

/** What is left of the quota, and the time until it starts anew. */
export function quotaRemaining(requests: number, untilMonthEndMs: number): string {
	return `"quota";r=${requests};t=${Math.ceil(untilMonthEndMs / 1000)}`;
}
