import { monotonicMs } from '../../clock.ts';
import { OperatorError, reasonOf } from '../../errors.ts';
import { shownAddress } from '../own-database.ts';
import type { ReaderEvents } from '../store.ts';
import { type PoolOptions, PostgresPool } from './connection.ts';

/** A replica that lacks what was stored longer ago is not read. */
export const maxBehindMs = 5000;
const askEveryMs = 500;

/** For questions about the replication; reads have connections of their own. */
const askingPool: PoolOptions = {
	size: 1,
	connectTimeoutMs: 1500,
	statementTimeoutMs: 1500,
	idleInTransactionMs: 2000,
};

interface Position {
	readonly atMs: number;
	/** In the write-ahead log, in bytes. */
	readonly bytes: number;
}

/**
 * A standby that reads go to while it is up to date. How far it is behind is told by positions in the write-ahead log: what
 * the primary had written at a moment, the standby must have replayed. Its clock, or the time of its last transaction,
 * would not tell: a standby that has lost its primary does not know what it lacks.
 */
export class ReadReplica {
	readonly address: string;
	readonly #primary: PostgresPool;
	readonly #pool: PostgresPool;
	readonly #nowMs: () => number;
	/** The primary's, oldest first: the first is the last one that was replayed. */
	#positions: Position[] = [];
	#freshAsOfMs = Number.NEGATIVE_INFINITY;
	#wasUsed: boolean | undefined;
	#onChange: ReaderEvents['onReplica'] = () => {};
	#timer: NodeJS.Timeout | undefined;
	#asking: Promise<void> = Promise.resolve();

	constructor(address: string, primary: PostgresPool, nowMs = monotonicMs) {
		this.address = address;
		this.#nowMs = nowMs;
		this.#primary = primary;
		// A connection that breaks is noticed by whoever asks next.
		this.#pool = new PostgresPool(address, askingPool, () => {});
	}

	/**
	 * One that cannot be reached may be so later.
	 * @throws OperatorError where it replicates something else
	 */
	async check(): Promise<void> {
		const sql =
			'SELECT system_identifier::text AS id, current_database() AS name FROM pg_control_system() /* identity */';
		const [mine, its] = await Promise.all([
			this.#primary.query(sql),
			this.#pool.query(sql).catch(() => undefined),
		]);
		const differs = (name: 'id' | 'name') =>
			its !== undefined && its.rows[0]?.[name] !== mine.rows[0]?.[name];
		if (differs('id') || differs('name'))
			throw new OperatorError(
				`--read-database: ${shownAddress(this.address)} is not a replica of the database that --database names.`,
			);
		if (this.#primary.capabilities?.canSpanSchemas === false)
			throw new OperatorError(
				'--read-database is not for Citus: a standby of the coordinator reads from the same workers. Add workers instead.',
			);
	}

	/** Begins to ask how far it is. */
	follow(onChange: ReaderEvents['onReplica']): void {
		this.#onChange = onChange;
		this.#askLater(0);
	}

	get isUsed(): boolean {
		return this.#nowMs() - this.#freshAsOfMs <= maxBehindMs;
	}

	/** A read has failed; the next ones go to the primary until the replica has answered again. */
	failed(error: unknown): void {
		this.#unusable(reasonOf(error));
	}

	#askLater(afterMs: number): void {
		this.#timer = setTimeout(() => {
			this.#asking = this.#ask()
				.catch((error) => this.#unusable(reasonOf(error)))
				.then(() => {
					if (this.#timer) this.#askLater(askEveryMs);
				});
		}, afterMs).unref();
	}

	async #ask(): Promise<void> {
		const atMs = this.#nowMs();
		const isPrimaryUp = await this.#askPrimary(atMs);
		const { rows } = await this.#pool.queryAgain<{ standby: boolean; bytes: number | null }>(
			"SELECT pg_is_in_recovery() AS standby, pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::float8 AS bytes /* replayed */",
		);
		const [{ standby, bytes } = { standby: false, bytes: null }] = rows;
		if (!standby || bytes === null) throw new Error('it is no longer a standby');
		const replayed = this.#positions.findLastIndex((position) => position.bytes <= bytes);
		if (replayed >= 0) {
			// Without a primary nothing is stored that it could lack.
			this.#freshAsOfMs = isPrimaryUp ? (this.#positions[replayed] as Position).atMs : atMs;
			this.#positions = this.#positions.slice(replayed);
		}
		if (this.isUsed) this.#change(true);
		else this.#unusable(`it is more than ${maxBehindMs / 1000} s behind`);
	}

	/** @returns whether it has answered */
	async #askPrimary(atMs: number): Promise<boolean> {
		try {
			const { rows } = await this.#primary.queryAgain<{ bytes: number }>(
				"SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::float8 AS bytes /* written */",
			);
			const bytes = rows[0]?.bytes as number;
			const last = this.#positions.at(-1);
			// While nothing is written, the standby has to replay nothing.
			if (last?.bytes === bytes) this.#positions.pop();
			this.#positions.push({ atMs, bytes });
			return true;
		} catch {
			return false;
		}
	}

	#unusable(reason: string): void {
		this.#freshAsOfMs = Number.NEGATIVE_INFINITY;
		this.#change(false, reason);
	}

	#change(isUsed: boolean, reason = ''): void {
		if (isUsed === this.#wasUsed) return;
		this.#wasUsed = isUsed;
		this.#onChange(isUsed, reason);
	}

	async close(): Promise<void> {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		await this.#asking;
		await this.#pool.close();
	}
}
