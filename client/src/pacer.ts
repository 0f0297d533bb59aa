import { sleep } from './sleep.ts';

/** What an answer says of the limits, and when its request was sent. */
export interface Answered {
	readonly sentAtMs: number;
	readonly isRefused: boolean;
	readonly headers?: Headers | undefined;
}

/** Added to the time between two requests: networks and timers do not keep time to the millisecond. */
const margin = { share: 0.05, ms: 2 };
/** The smallest share of the rate that is used. */
const minShare = 1 / 64;
/** How much of the rate is used again, each second after a refusal. */
const recoveryPerSecond = 0.05;

/**
 * Spaces requests by the policy that answers tell, `w/q` seconds from one to the next; where more may go out at once, they
 * do. A refusal halves the share of the rate that is used, which then recovers slowly: others may use the same key.
 */
export class Pacer {
	readonly #now: () => number;
	#intervalMs: number | undefined;
	#share = 1;
	#shareAtMs = 0;
	#halvedAtMs = Number.NEGATIVE_INFINITY;
	#nextAtMs = Number.NEGATIVE_INFINITY;
	/** Requests that may go out at once. */
	#saved = 0;
	/** Requests that have had their turn and no answer yet. */
	#inFlight = 0;
	/** Whoever comes later waits for who came before. */
	#before: Promise<void> = Promise.resolve();
	/** The first request of all, which shall tell the policy. */
	#opening: { readonly over: Promise<void>; readonly end: () => void } | undefined;

	/** @param now milliseconds of a clock that does not go back */
	constructor(now: () => number = () => performance.now()) {
		this.#now = now;
	}

	/**
	 * Resolves when a request may be sent. Then `answered` must be told.
	 * @returns when that was
	 * @throws the signal's reason
	 */
	async turn(signal?: AbortSignal): Promise<number> {
		const before = this.#before;
		let end = () => {};
		this.#before = new Promise((resolve) => {
			end = resolve;
		});
		try {
			await before;
			// The first request of all tells the policy to the others.
			await this.#opening?.over;
			for (let waitMs = this.waitMs(); waitMs > 0; waitMs = this.waitMs()) await sleep(waitMs, signal);
			signal?.throwIfAborted();
			return this.sent();
		} finally {
			end();
		}
	}

	/** How long a request that is sent next must wait. */
	waitMs(): number {
		return this.#isSaved() ? 0 : Math.max(0, this.#nextAtMs - this.#now());
	}

	#isSaved(): boolean {
		return this.#saved >= 1 && this.#shareAt(this.#now()) === 1;
	}

	/** A request is sent now. Counted from here, so that one that is late does not press on the next. */
	sent(): number {
		const nowMs = this.#now();
		if (this.#intervalMs === undefined) {
			let end = () => {};
			const over = new Promise<void>((resolve) => {
				end = resolve;
			});
			this.#opening = { over, end };
		} else if (this.#isSaved()) this.#saved--;
		else this.#nextAtMs = nowMs + this.#gapMs(nowMs);
		this.#inFlight++;
		return nowMs;
	}

	#gapMs(nowMs: number): number {
		return ((this.#intervalMs ?? 0) * (1 + margin.share) + margin.ms) / this.#shareAt(nowMs);
	}

	/** To be told of the end of every turn, whatever came of it. */
	answered({ sentAtMs, isRefused, headers }: Answered): void {
		const nowMs = this.#now();
		const [, requests, seconds] = /"rate";q=(\d+);w=(\d+)/.exec(headers?.get('ratelimit-policy') ?? '') ?? [];
		if (Number(requests) > 0) {
			const isFirst = this.#intervalMs === undefined;
			this.#intervalMs = (Number(seconds) * 1000) / Number(requests);
			if (isFirst) this.#nextAtMs = nowMs + this.#gapMs(nowMs);
		}
		const [, left] = /"rate";r=(\d+)/.exec(headers?.get('ratelimit') ?? '') ?? [];
		this.#inFlight--;
		// Those in flight may take theirs of it yet.
		this.#saved = left === undefined ? 0 : Math.max(0, Number(left) - this.#inFlight);
		if (isRefused && sentAtMs > this.#halvedAtMs) {
			this.#share = Math.max(minShare, this.#shareAt(nowMs) / 2);
			this.#shareAtMs = nowMs;
			this.#halvedAtMs = nowMs;
		}
		this.#opening?.end();
		this.#opening = undefined;
	}

	#shareAt(nowMs: number): number {
		return Math.min(1, this.#share + ((nowMs - this.#shareAtMs) / 1000) * recoveryPerSecond);
	}
}
