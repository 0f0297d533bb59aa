import { fullBucket, type RateLimit, type TokenBucket, takeToken } from '../domain/token-bucket.ts';
import { QueueFullError } from '../errors.ts';
import type { KnownKey } from '../store/control/control-store.ts';
import type { TokenLedger } from '../store/serving.ts';

export interface RateDecision {
	readonly granted: boolean;
	/** Milliseconds until a token is available; 0 where one was granted. */
	readonly retryAfterMs: number;
}

/** Enforces the rate and burst of a key's plan. */
export interface RateLimiter {
	/** Returns a promise only where the shared ledger must be asked. */
	take(key: KnownKey): RateDecision | Promise<RateDecision>;
	/** Whole tokens left, to the knowledge of whoever asks. */
	remaining(key: KnownKey): number;
}

/** Token buckets in the memory of a single process. Only keys that the operator has issued have one. */
export class LocalRateLimiter implements RateLimiter {
	readonly #buckets = new Map<string, TokenBucket>();
	readonly #monotonicMs: () => number;

	constructor(monotonicMs: () => number) {
		this.#monotonicMs = monotonicMs;
	}

	take({ id, plan }: { readonly id: string; readonly plan: RateLimit }): RateDecision {
		const nowMs = this.#monotonicMs();
		const before = this.#buckets.get(id) ?? fullBucket(plan, nowMs);
		const { granted, bucket, retryAfterMs } = takeToken(before, plan, nowMs);
		this.#buckets.set(id, bucket);
		return { granted, retryAfterMs };
	}

	remaining({ id, plan }: KnownKey): number {
		return Math.floor(this.#buckets.get(id)?.tokens ?? plan.burst);
	}
}

/** Maximum number of requests waiting for the ledger, over all keys. */
const maxWaiting = 8192;

interface SharedBucket {
	/** Requests that wait for a token, in order of arrival. */
	waiting: { resolve: (decision: RateDecision) => void; reject: (error: unknown) => void }[];
	asking: boolean;
	tokens: number;
	/** The bucket is empty until this monotonic time. */
	emptyUntilMs: number;
}

/**
 * Token buckets shared by all servers. Requests that arrive while the ledger is being asked form the next batch. A server
 * never holds a token that no request waits for, so the limit is exact. An empty bucket is remembered until its next
 * token, so that a client that keeps hammering is refused without a round trip.
 */
export class SharedRateLimiter implements RateLimiter {
	readonly #ledger: TokenLedger;
	readonly #monotonicMs: () => number;
	readonly #buckets = new Map<string, SharedBucket>();
	#waiting = 0;

	constructor(ledger: TokenLedger, monotonicMs: () => number) {
		this.#ledger = ledger;
		this.#monotonicMs = monotonicMs;
	}

	/** Rejects with a QueueFullError where too many requests wait already. */
	take(key: KnownKey): RateDecision | Promise<RateDecision> {
		const { burst } = key.plan;
		const begin = () => ({ waiting: [], asking: false, tokens: burst, emptyUntilMs: 0 });
		const bucket = this.#buckets.getOrInsertComputed(key.id, begin);
		const leftMs = bucket.emptyUntilMs - this.#monotonicMs();
		if (leftMs > 0) return { granted: false, retryAfterMs: leftMs };
		if (this.#waiting >= maxWaiting) return Promise.reject(new QueueFullError());
		this.#waiting++;
		const { waiting } = bucket;
		const decision = new Promise<RateDecision>((resolve, reject) => {
			waiting.push({ resolve, reject });
		});
		if (!bucket.asking) void this.#ask(key, bucket);
		return decision.finally(() => {
			this.#waiting--;
		});
	}

	async #ask(key: KnownKey, bucket: SharedBucket): Promise<void> {
		bucket.asking = true;
		while (bucket.waiting.length > 0) {
			const asked = bucket.waiting;
			bucket.waiting = [];
			// The last batch emptied the bucket.
			const leftMs = bucket.emptyUntilMs - this.#monotonicMs();
			if (leftMs > 0) {
				for (const { resolve } of asked) resolve({ granted: false, retryAfterMs: leftMs });
				continue;
			}
			try {
				const { granted, tokens } = await this.#ledger.takeTokens(key.id, key.plan, asked.length);
				bucket.tokens = tokens;
				const retryAfterMs = Math.max(0, ((1 - tokens) * 1000) / key.plan.ratePerSecond);
				bucket.emptyUntilMs = this.#monotonicMs() + retryAfterMs;
				asked.forEach(({ resolve }, index) => {
					resolve(index < granted ? { granted: true, retryAfterMs: 0 } : { granted: false, retryAfterMs });
				});
			} catch (error) {
				for (const { reject } of asked) reject(error);
			}
		}
		bucket.asking = false;
	}

	remaining({ id, plan }: KnownKey): number {
		return Math.floor(this.#buckets.get(id)?.tokens ?? plan.burst);
	}
}
