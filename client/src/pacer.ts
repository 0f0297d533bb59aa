import { type Clock, realClock } from './clock.ts';

/** The outcome of a request, as far as pacing needs it. */
export interface Answered {
	readonly sentAtMs: number;
	readonly isRefused: boolean;
	readonly headers?: Headers | undefined;
}

/** Added to the time between two requests, because networks and timers are not exact. */
const margin = { share: 0.05, ms: 2 };
/** The smallest share of the rate to use. */
const minShare = 1 / 64;
/** How much of the rate is recovered per second after a refusal. */
const recoveryPerSecond = 0.05;

/**
 * Spaces requests by the policy in the answers: `w/q` seconds between two requests, or none if the answer says that more may
 * be sent at once. A refusal halves the pace, which then recovers slowly, because others may be using the same key.
 */
export class Pacer {
	readonly #clock: Clock;
	#intervalMs: number | undefined;
	#share = 1;
	#shareAtMs = 0;
	#halvedAtMs = Number.NEGATIVE_INFINITY;
	#nextAtMs = Number.NEGATIVE_INFINITY;
	/** Number of requests that may be sent at once. */
	#saved = 0;
	/** Number of requests that are sent and not answered. */
	#inFlight = 0;
	/** Resolves when the request before has been sent. */
	#before: Promise<void> = Promise.resolve();
	/** The first request, whose answer will tell the policy. */
	#opening: { readonly over: Promise<void>; readonly end: () => void } | undefined;

	constructor(clock = realClock) {
		this.#clock = clock;
	}

	/**
	 * Resolves when a request may be sent. The caller must then call `answered`.
	 * @returns the time of sending
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
			// Until the first answer, the policy is unknown.
			await this.#opening?.over;
			for (let waitMs = this.waitMs(); waitMs > 0; waitMs = this.waitMs())
				await this.#clock.sleep(waitMs, signal);
			signal?.throwIfAborted();
			return this.sent();
		} finally {
			end();
		}
	}

	/** How long the next request must wait. */
	waitMs(): number {
		return this.#isSaved() ? 0 : Math.max(0, this.#nextAtMs - this.#clock.now());
	}

	#isSaved(): boolean {
		return this.#saved >= 1 && this.#shareAt(this.#clock.now()) === 1;
	}

	/** Records that a request is sent now. The next one is timed from here, so that a late request does not crowd it. */
	sent(): number {
		const nowMs = this.#clock.now();
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

	/** Must be called after every turn, whatever its outcome. */
	answered({ sentAtMs, isRefused, headers }: Answered): void {
		const nowMs = this.#clock.now();
		const [, requests, seconds] = /"rate";q=(\d+);w=(\d+)/.exec(headers?.get('ratelimit-policy') ?? '') ?? [];
		if (Number(requests) > 0) {
			const isFirst = this.#intervalMs === undefined;
			this.#intervalMs = (Number(seconds) * 1000) / Number(requests);
			if (isFirst) this.#nextAtMs = nowMs + this.#gapMs(nowMs);
		}
		const [, left] = /"rate";r=(\d+)/.exec(headers?.get('ratelimit') ?? '') ?? [];
		this.#inFlight--;
		// The requests in flight may not be counted yet.
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
