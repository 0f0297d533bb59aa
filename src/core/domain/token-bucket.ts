/** An immutable token bucket: `tokens` at the monotonic time `atMs`. */
export interface TokenBucket {
	readonly tokens: number;
	readonly atMs: number;
}

export interface RateLimit {
	/** Refill rate. */
	readonly ratePerSecond: number;
	/** Capacity; at least 1. */
	readonly burst: number;
}

export function fullBucket(limit: RateLimit, nowMs: number): TokenBucket {
	return { tokens: limit.burst, atMs: nowMs };
}

/**
 * Takes one token if there is one. Grants at most `rate × seconds + burst` over any interval. A clock that stands still
 * or steps back refills nothing.
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
