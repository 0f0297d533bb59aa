import { TokenBuckets } from '../access/token-buckets.ts';
import { networkOf } from '../domain/client-address.ts';
import type { RateLimit } from '../domain/token-bucket.ts';

/** Buckets in memory, for addresses and visitors each: 3 MiB. The least recently used are given up first. */
const slots = 131_072;

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
	readonly #buckets = new TokenBuckets(slots);

	constructor(ratePerSecond: number, nowMs: () => number) {
		this.#limit = { ratePerSecond, burst: Math.max(1, ratePerSecond * burstSeconds) };
		this.#nowMs = nowMs;
	}

	take(name: string): number {
		return this.#buckets.take(name, this.#limit, this.#nowMs()).retryAfterMs;
	}
}
