/** A token bucket as a value: `tokens` at the time `atMs` of a monotonic clock. */
export interface TokenBucket {
	readonly tokens: number;
	readonly atMs: number;
}

export interface RateLimit {
	/** Tokens that flow in per second. */
	readonly ratePerSecond: number;
	/** Capacity: tokens that can be saved up. At least 1. */
	readonly burst: number;
}

/** A full bucket. */
export function fullBucket(limit: RateLimit, nowMs: number): TokenBucket {
	return { tokens: limit.burst, atMs: nowMs };
}

/**
 * Takes one token if there is one. Over any stretch of time it grants at most `rate × seconds + burst`.
 * A clock that stands still or goes back refills nothing.
 */
export function takeToken(
	bucket: TokenBucket,
	limit: RateLimit,
	nowMs: number,
): { granted: boolean; bucket: TokenBucket; retryAfterMs: number } {
	const elapsedMs = Math.max(0, nowMs - bucket.atMs);
	const tokens = Math.min(limit.burst, bucket.tokens + (elapsedMs * limit.ratePerSecond) / 1000);
	const atMs = bucket.atMs + elapsedMs;
	if (tokens >= 1) return { granted: true, bucket: { tokens: tokens - 1, atMs }, retryAfterMs: 0 };
	return {
		granted: false,
		bucket: { tokens, atMs },
		retryAfterMs: ((1 - tokens) * 1000) / limit.ratePerSecond,
	};
}
