import { LRUCache } from 'lru-cache';
import { networkOf } from '../domain/client-address.ts';
import { fullBucket, type RateLimit, type TokenBucket, takeToken } from '../domain/token-bucket.ts';

/** Addresses and visitors that are remembered; who comes back after being forgotten has a full bucket. */
const maxRemembered = 100_000;

export interface BudgetLimits {
	/** Hits a second from one address, where many visitors may share one. */
	readonly perAddress: number;
	/** Hits a second of one visitor. */
	readonly perVisitor: number;
}

/** How much may be saved up, in seconds of the rate. */
const burstSeconds = 10;

/** Keeps one address, or one visitor, from filling the log. Addresses are in memory alone, and only as long as needed. */
export class HitBudget {
	readonly #addresses: Buckets;
	readonly #visitors: Buckets;

	/** @param nowMs of a clock that never goes back */
	constructor({ perAddress, perVisitor }: BudgetLimits, nowMs: () => number) {
		this.#addresses = new Buckets(perAddress, nowMs);
		this.#visitors = new Buckets(perVisitor, nowMs);
	}

	/** Takes a hit off the address's budget. @returns 0, or how long to wait */
	takeOfAddress(address: string | undefined): number {
		return this.#addresses.take(networkOf(address));
	}

	/** Takes a hit off the visitor's budget. @returns 0, or how long to wait */
	takeOfVisitor(aid: string, vid: string): number {
		return this.#visitors.take(`${aid} ${vid}`);
	}
}

class Buckets {
	readonly #limit: RateLimit;
	readonly #nowMs: () => number;
	readonly #buckets = new LRUCache<string, TokenBucket>({ max: maxRemembered });

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
