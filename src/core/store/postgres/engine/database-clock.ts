import { monotonicMs } from '../../../clock.ts';

/**
 * The database's clock, which all processes share, as this process last read it. Between reads a monotonic clock
 * continues it, so that telling the time takes no query.
 */
export class DatabaseClock {
	/** How far the database's clock is ahead of the monotonic one. */
	#aheadMs: number | undefined;

	/** Milliseconds since 1970. */
	now(): number {
		return Math.floor(this.#aheadMs === undefined ? Date.now() : monotonicMs() + this.#aheadMs);
	}

	/** @param ask reads the database's clock, in milliseconds since 1970 */
	async read(ask: () => Promise<number>): Promise<void> {
		const askedMs = monotonicMs();
		const databaseMs = await ask();
		// The clock was read between these two moments. The known value stays if it lies within them.
		const [minMs, maxMs] = [databaseMs - monotonicMs(), databaseMs - askedMs];
		const isRight = this.#aheadMs !== undefined && minMs <= this.#aheadMs && this.#aheadMs <= maxMs;
		if (!isRight) this.#aheadMs = minMs;
	}
}
