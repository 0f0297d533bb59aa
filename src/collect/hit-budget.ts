import { LRUCache } from 'lru-cache';
import { networkOf } from '../domain/client-address.ts';
import { fullBucket, type RateLimit, type TokenBucket, takeToken } from '../domain/token-bucket.ts';

/** Maximum number of buckets in memory, for addresses and visitors each. An evicted one starts full again. */
const maxRemembered = 100_000;

export interface BudgetLimits {
	/** Hits per second from one address, which many visitors may share. */
	readonly perAddress: number;
	/** Hits per second from one visitor. */
	readonly perVisitor: number;
}

/** Burst capacity, in seconds of the rate. */
const burstSeconds = 10;

/**
 * Limits the hits of each address and visitor, so that none can fill the log. Addresses are kept only in memory, and only
 * as long as needed.
 */
export class HitBudget {
	readonly #addresses: Buckets;
	readonly #visitors: Buckets;

	/** @param nowMs a monotonic clock */
	constructor({ perAddress, perVisitor }: BudgetLimits, nowMs: () => number) {
		this.#addresses = new Buckets(perAddress, nowMs);
		this.#visitors = new Buckets(perVisitor, nowMs);
	}

	/**
	 * Takes one hit from the address's budget.
	 * @returns 0, or the milliseconds to wait
	 */
	takeOfAddress(address: string | undefined): number {
		return this.#addresses.take(networkOf(address));
	}

	/**
	 * Takes one hit from the visitor's budget.
	 * @returns 0, or the milliseconds to wait
	 */
	takeOfVisitor(aid: string, vid: string): number {
		return this.#visitors.take(`${aid} ${vid}`);
	}
}

class Buckets {
	readonly #limit: RateLimit;
	readonly #nowMs: () => number;
	// Bounded by size: bounded by `max`, the cache would allocate all its slots at once, which takes 8 ms of every start.
	readonly #buckets = new LRUCache<string, TokenBucket>({ maxSize: maxRemembered, sizeCalculation: () => 1 });

	constructor(ratePerSecond: number, nowMs: () => number) {
		this.#limit = { ratePerSecond, burst: Math.max(1, ratePerSecond * burstSeconds) };
		this.#nowMs = nowMs;
	}

	take(name: string): number {
		const nowMs = this.#nowMs();
		const before = this.#buckets.get(name) ?? fullBucket(this.#limit, nowMs);
		const { bucket, retryAfterMs } = takeToken(before, this.#limit, nowMs);
		this.#buckets.set(name, bucket);
		return retryAfterMs;
	}
}
