import { hash, randomUUID } from 'node:crypto';
import { fullBucket, type RateLimit, takeToken } from '../domain/token-bucket.ts';

/** A bucket's name lies in one of this many slots; where all are taken, the least recently used one is given up. */
const candidates = 16;
/** Two halves of a fingerprint, the tokens, and their time. */
const slotBytes = 24;

export interface TokenGrant {
	readonly granted: boolean;
	/** Milliseconds until a token is available; 0 where one was granted. */
	readonly retryAfterMs: number;
}

/** Token buckets by name, in little memory. A bucket that was given up starts full again. */
export class TokenBuckets {
	readonly #words: Int32Array;
	readonly #numbers: Float64Array;
	readonly #slots: number;
	/** Keeps strangers from choosing names that meet in one place. */
	readonly #salt = randomUUID();

	/** @param slots how many buckets there is room for; a power of two */
	constructor(slots: number) {
		const buffer = new ArrayBuffer((slots + candidates) * slotBytes);
		this.#words = new Int32Array(buffer);
		this.#numbers = new Float64Array(buffer);
		this.#slots = slots;
	}

	/** @param nowMs on a monotonic clock */
	take(name: string, limit: RateLimit, nowMs: number): TokenGrant {
		// As text, whose bytes are read at a fifth of what a buffer costs.
		const digest = hash('sha256', this.#salt + name, 'latin1');
		const first = wordAt(digest, 0) & (this.#slots - 1);
		const high = wordAt(digest, 4);
		// Zeros mark a slot that was never taken.
		const low = wordAt(digest, 8) | 1;
		const slot = this.#find(first, high, low);
		const at = slot * 3;
		const known = this.#words[at * 2] === high && this.#words[at * 2 + 1] === low;
		const before = known
			? { tokens: this.#numbers[at + 1] as number, atMs: this.#numbers[at + 2] as number }
			: fullBucket(limit, nowMs);
		const { granted, bucket, retryAfterMs } = takeToken(before, limit, nowMs);
		this.#words[at * 2] = high;
		this.#words[at * 2 + 1] = low;
		this.#numbers[at + 1] = bucket.tokens;
		this.#numbers[at + 2] = bucket.atMs;
		return { granted, retryAfterMs };
	}

	/** The slot of a name; else one that is free, or the least recently used one. */
	#find(first: number, high: number, low: number): number {
		let oldest = first;
		for (let slot = first; slot < first + candidates; slot++) {
			const at = slot * 3;
			const lowThere = this.#words[at * 2 + 1];
			if (lowThere === low && this.#words[at * 2] === high) return slot;
			// Slots are never emptied, so that no name is beyond a free one.
			if (lowThere === 0) return slot;
			if ((this.#numbers[at + 2] as number) < (this.#numbers[oldest * 3 + 2] as number)) oldest = slot;
		}
		return oldest;
	}
}

function wordAt(digest: string, at: number): number {
	return (
		digest.charCodeAt(at) |
		(digest.charCodeAt(at + 1) << 8) |
		(digest.charCodeAt(at + 2) << 16) |
		(digest.charCodeAt(at + 3) << 24)
	);
}
