import { monotonicMs } from '../../clock.ts';

/**
 * The clock of the database, which all who use it share, as this process last read it. In between a clock that never
 * steps goes on with it, so that telling the time takes no query.
 */
export class DatabaseClock {
	/** What the database's clock is ahead of the monotonic one. */
	#aheadMs: number | undefined;

	/** Milliseconds since 1970. */
	now(): number {
		return Math.floor(this.#aheadMs === undefined ? Date.now() : monotonicMs() + this.#aheadMs);
	}

	/** @param ask gives the database's clock in milliseconds since 1970 */
	async read(ask: () => Promise<number>): Promise<void> {
		const askedMs = monotonicMs();
		const databaseMs = await ask();
		// It was read at some moment in between; what is known so far holds where that can be so.
		const [minMs, maxMs] = [databaseMs - monotonicMs(), databaseMs - askedMs];
		const isRight = this.#aheadMs !== undefined && minMs <= this.#aheadMs && this.#aheadMs <= maxMs;
		if (!isRight) this.#aheadMs = minMs;
	}
}
