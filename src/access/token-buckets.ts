import { hash, randomUUID } from 'node:crypto';
import { fullBucket, type RateLimit, takeToken } from '../domain/token-bucket.ts';

/** Memory for token buckets, which threads can share: post it to them as it is. */
export interface BucketMemory {
	readonly buffer: SharedArrayBuffer;
	/** Keeps strangers from choosing names that meet in one place. */
	readonly salt: string;
}

/** A bucket's name lies in one of this many slots; where all are taken, the least recently used one is given up. */
const candidates = 16;
/** The lock, and room so that what follows is aligned. */
const headerBytes = 8;
/** Two halves of a fingerprint, the tokens, and their time. */
const slotBytes = 24;

/** @param slots how many buckets there is room for; a power of two */
export function bucketMemory(slots: number): BucketMemory {
	return {
		buffer: new SharedArrayBuffer(headerBytes + (slots + candidates) * slotBytes),
		salt: randomUUID(),
	};
}

export interface Taken {
	readonly granted: boolean;
	/** Milliseconds until a token is available; 0 where one was granted. */
	readonly retryAfterMs: number;
	/** What is left. */
	readonly tokens: number;
}

/**
 * Token buckets by name, in memory that threads share: what one thread takes, no other has. A bucket that was given up
 * starts full again. A lock guards them for a fraction of a microsecond; a thread that dies must end the process, as it
 * might hold the lock.
 */
export class TokenBuckets {
	readonly #words: Int32Array;
	readonly #numbers: Float64Array;
	readonly #slots: number;
	readonly #salt: string;

	constructor({ buffer, salt }: BucketMemory) {
		this.#words = new Int32Array(buffer);
		this.#numbers = new Float64Array(buffer);
		this.#slots = (buffer.byteLength - headerBytes) / slotBytes - candidates;
		this.#salt = salt;
	}

	/** @param nowMs on a monotonic clock that the threads share */
	take(name: string, limit: RateLimit, nowMs: number): Taken {
		// As text, whose bytes are read at a fifth of what a buffer costs.
		const digest = hash('sha256', this.#salt + name, 'latin1');
		const first = wordAt(digest, 0) & (this.#slots - 1);
		const high = wordAt(digest, 4);
		// Zeros mark a slot that was never taken.
		const low = wordAt(digest, 8) | 1;
		this.#lock();
		const slot = this.#find(first, high, low);
		const at = headerBytes / 8 + slot * 3;
		const known = this.#words[at * 2] === high && this.#words[at * 2 + 1] === low;
		const before = known
			? { tokens: this.#numbers[at + 1] as number, atMs: this.#numbers[at + 2] as number }
			: fullBucket(limit, nowMs);
		const { granted, bucket, retryAfterMs } = takeToken(before, limit, nowMs);
		this.#words[at * 2] = high;
		this.#words[at * 2 + 1] = low;
		this.#numbers[at + 1] = bucket.tokens;
		this.#numbers[at + 2] = bucket.atMs;
		this.#unlock();
		return { granted, retryAfterMs, tokens: bucket.tokens };
	}

	/** The slot of a name; else one that is free, or the least recently used one. */
	#find(first: number, high: number, low: number): number {
		let oldest = first;
		for (let slot = first; slot < first + candidates; slot++) {
			const at = headerBytes / 8 + slot * 3;
			const lowThere = this.#words[at * 2 + 1];
			if (lowThere === low && this.#words[at * 2] === high) return slot;
			// Slots are never emptied, so that no name is beyond a free one.
			if (lowThere === 0) return slot;
			if ((this.#numbers[at + 2] as number) < (this.#numbers[headerBytes / 8 + oldest * 3 + 2] as number))
				oldest = slot;
		}
		return oldest;
	}

	/** 0 is free, 1 is held, 2 is held and waited for. */
	#lock(): void {
		if (Atomics.compareExchange(this.#words, 0, 0, 1) === 0) return;
		while (Atomics.exchange(this.#words, 0, 2) !== 0) Atomics.wait(this.#words, 0, 2);
	}

	#unlock(): void {
		if (Atomics.exchange(this.#words, 0, 0) === 2) Atomics.notify(this.#words, 0, 1);
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
