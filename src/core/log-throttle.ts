/** At most `maxLines` lines with the same key are logged in one window. */
const windowMs = 10_000;
const maxLines = 10;
/** Keys remembered at a time. */
const maxKeys = 1000;

/** Limits repeated log lines: an error that occurs on every request must not flood the log. */
export class LogThrottle {
	readonly #monotonicMs: () => number;
	/** Ordered by the start of the window. */
	readonly #windows = new Map<string, { readonly fromMs: number; lines: number }>();

	constructor(monotonicMs: () => number) {
		this.#monotonicMs = monotonicMs;
	}

	/**
	 * Calls `write`, unless the key has used up its window.
	 * @param write receives the number of lines suppressed in the previous window, where there were any
	 */
	log(key: string, write: (fields: { suppressed?: number }) => void): void {
		const nowMs = this.#monotonicMs();
		const last = this.#windows.get(key);
		if (last && nowMs - last.fromMs < windowMs) {
			if (++last.lines <= maxLines) write({});
			return;
		}
		this.#windows.delete(key);
		const [oldest] = this.#windows.keys();
		if (oldest !== undefined && this.#windows.size >= maxKeys) this.#windows.delete(oldest);
		this.#windows.set(key, { fromMs: nowMs, lines: 1 });
		write(last && last.lines > maxLines ? { suppressed: last.lines - maxLines } : {});
	}
}
