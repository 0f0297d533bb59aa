/** In so long the same is said so often at most. */
const windowMs = 10_000;
const maxTimes = 10;
/** Different things that are remembered. */
const maxNames = 1000;

/** Keeps what happens with every request out of the log, where a flood of requests would be a flood of lines. */
export class Repeats {
	readonly #monotonicMs: () => number;
	/** In the order in which their windows began. */
	readonly #said = new Map<string, { readonly fromMs: number; times: number }>();

	constructor(monotonicMs: () => number) {
		this.#monotonicMs = monotonicMs;
	}

	/**
	 * Calls `say` where that is to be said now.
	 * @param say is told how often the same has happened before, and was not said
	 */
	say(name: string, say: (fields: { unsaid?: number }) => void): void {
		const nowMs = this.#monotonicMs();
		const last = this.#said.get(name);
		if (last && nowMs - last.fromMs < windowMs) {
			if (++last.times <= maxTimes) say({});
			return;
		}
		this.#said.delete(name);
		const [oldest] = this.#said.keys();
		if (oldest !== undefined && this.#said.size >= maxNames) this.#said.delete(oldest);
		this.#said.set(name, { fromMs: nowMs, times: 1 });
		say(last && last.times > maxTimes ? { unsaid: last.times - maxTimes } : {});
	}
}
