import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { monotonicMs } from '../../../clock.ts';
import { OutcomeUnknownError, UnavailableError } from '../../../errors.ts';
import type { PostgresPool } from './postgres-connection.ts';

/** How long one attempt to read back a lost COMMIT may take, and the pause between attempts. */
const readBackOnceMs = 4000;
const readBackEveryMs = 100;

/** It is unknown whether a COMMIT was carried out; it must be read back. */
export class CommitLostError extends Error {
	/** Gives the answers that are due if it was carried out. */
	readonly answer: () => void;
	/** Asks on another connection whether it was. @param timeoutMs after it the server gives up */
	readonly isStored: (client: pg.PoolClient, timeoutMs: number) => Promise<boolean>;

	constructor(answer: CommitLostError['answer'], isStored: CommitLostError['isStored'], cause: unknown) {
		super('a COMMIT whose outcome is not known', { cause });
		this.name = 'CommitLostError';
		this.answer = answer;
		this.isStored = isStored;
	}
}

/**
 * Finds out what became of a transaction whose COMMIT was sent and never answered.
 * @throws UnavailableError where it was rolled back, OutcomeUnknownError where even that cannot be known in time
 */
export async function readBack(
	pool: PostgresPool,
	{ answer, isStored }: CommitLostError,
	withinMs: number,
): Promise<() => void> {
	const giveUpAtMs = monotonicMs() + withinMs;
	while (monotonicMs() < giveUpAtMs) {
		const stored = await askOnce(pool, isStored).catch(() => undefined);
		if (stored === true) return answer;
		if (stored === false) throw new UnavailableError('the transaction was rolled back');
		await sleep(readBackEveryMs);
	}
	throw new OutcomeUnknownError();
}

async function askOnce(pool: PostgresPool, isStored: CommitLostError['isStored']): Promise<boolean> {
	const client = await pool.acquire(readBackOnceMs);
	try {
		const stored = await isStored(client, readBackOnceMs);
		client.release();
		return stored;
	} catch (error) {
		client.release(error as Error);
		throw error;
	}
}
