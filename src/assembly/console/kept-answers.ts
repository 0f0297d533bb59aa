/** What was made is shown again for so long, and for longer if it took long. */
const leastKeptMs = 5000;
const keptTimes = 20;
const maxKept = 200;

interface KeptValue {
	readonly made: Promise<unknown>;
	/** Infinite while it is being made. */
	untilMs: number;
}

/** Keeps what pages have made for a while: people go back, reload, and look at the same page together. */
export class KeptAnswers {
	readonly #monotonicMs: () => number;
	readonly #values = new Map<string, KeptValue>();

	constructor(monotonicMs: () => number) {
		this.#monotonicMs = monotonicMs;
	}

	/** @param key all that the value depends on, but for time. What fails is not kept */
	value<Made>(key: unknown, make: () => Promise<Made>): Promise<Made> {
		const name = JSON.stringify(key);
		const known = this.#values.get(name);
		if (known && known.untilMs > this.#monotonicMs()) return known.made as Promise<Made>;
		const fromMs = this.#monotonicMs();
		const made = make();
		const value: KeptValue = { made, untilMs: Number.POSITIVE_INFINITY };
		this.#values.delete(name);
		this.#values.set(name, value);
		for (const oldest of this.#values.keys()) {
			if (this.#values.size <= maxKept) break;
			this.#values.delete(oldest);
		}
		made.then(
			() => {
				const nowMs = this.#monotonicMs();
				value.untilMs = nowMs + Math.max(leastKeptMs, keptTimes * (nowMs - fromMs));
			},
			() => this.#values.get(name) === value && this.#values.delete(name),
		);
		return made;
	}
}
