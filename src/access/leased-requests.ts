/** What a process has leased of a key's month, in memory that its threads share: each request is taken by one of them. */
export class LeasedRequests {
	/** To be posted to other threads. */
	readonly buffer: SharedArrayBuffer;
	readonly #left: Int32Array;
	readonly #numbers: Float64Array;

	constructor(buffer?: SharedArrayBuffer) {
		this.buffer = buffer ?? new SharedArrayBuffer(24);
		this.#numbers = new Float64Array(this.buffer, 0, 2);
		this.#left = new Int32Array(this.buffer, 16, 1);
		if (!buffer) this.askedAtMs = Number.NEGATIVE_INFINITY;
	}

	/** Requests that may still be admitted. */
	get left(): number {
		return Atomics.load(this.#left, 0);
	}

	/** @returns whether there was one left */
	take(): boolean {
		for (let left = this.left; left > 0; ) {
			const found = Atomics.compareExchange(this.#left, 0, left, left - 1);
			if (found === left) return true;
			left = found;
		}
		return false;
	}

	/** @param count negative where requests are taken that the ledger counts already */
	add(count: number): void {
		Atomics.add(this.#left, 0, count);
	}

	/** From now on, nothing may be taken. @returns how many were left */
	withdraw(): number {
		return Atomics.exchange(this.#left, 0, 0);
	}

	/** What all servers have leased of the quota, as the ledger said last. */
	get leasedByAll(): number {
		return this.#numbers[0] as number;
	}

	set leasedByAll(count: number) {
		this.#numbers[0] = count;
	}

	/** Monotonic time at which the last lease was answered. */
	get askedAtMs(): number {
		return this.#numbers[1] as number;
	}

	set askedAtMs(ms: number) {
		this.#numbers[1] = ms;
	}

	/** The rest of a quota, to this process' knowledge. */
	remainingOf(quotaPerMonth: number): number {
		return Math.max(0, quotaPerMonth - this.leasedByAll + this.left);
	}
}
