import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { monotonicMs } from '../../../clock.ts';
import { OperatorError } from '../../../errors.ts';
import { isBusy } from './sqlite-connection.ts';

/**
 * Commands and background work take turns with the server's writer. SQLite gives a lock to whoever tries at the right moment, and
 * a busy writer takes it again at once. So whoever has waited for some time asks with a file beside the database, and the writer
 * lets go until the file is gone.
 */

/** After the name of a database: somebody waits for its write lock. */
export const turnSuffix = '-turn';

/** Waits so long before asking, so that the writer has most of the time. */
const patienceMs = 8;
const retryEveryMs = 1;
/** Longer than any transaction, and than a writer takes to let go. */
const giveUpAfterMs = 30_000;
/** Whoever asked may have been killed. */
const maxTurnMs = 100;

function ask(path: string): void {
	try {
		writeFileSync(path + turnSuffix, '', { mode: 0o600 });
	} catch {
		// On a full disk it waits for chance.
	}
}

/**
 * Does what needs the write lock of a database, once it is free.
 * @param attempt throws SQLite's error at once if the lock is taken, and has then done nothing
 */
export async function takeTurn<Outcome>(path: string, attempt: () => Outcome): Promise<Outcome> {
	const beganMs = monotonicMs();
	let hasAsked = false;
	try {
		for (;;) {
			try {
				return attempt();
			} catch (error) {
				if (!isBusy(error)) throw error;
				if (monotonicMs() - beganMs > giveUpAfterMs)
					throw new OperatorError(
						`Another process has kept the account's database locked for ${giveUpAfterMs / 1000} s; run it again when that is over.`,
						{ cause: error },
					);
			}
			if (monotonicMs() - beganMs >= patienceMs) {
				hasAsked = true;
				ask(path);
			}
			await delay(retryEveryMs);
		}
	} finally {
		if (hasAsked) rmSync(path + turnSuffix, { force: true });
	}
}

/** The writer's part: which databases it leaves to others. */
export class Turns {
	readonly #untilMs = new Map<number, number>();

	/** To be called after each commit, so that nobody has two turns in a row. */
	afterCommit(databaseId: number, path: string): void {
		if (existsSync(path + turnSuffix)) this.#untilMs.set(databaseId, monotonicMs() + maxTurnMs);
	}

	/** Whether another has the turn. */
	isOthers(databaseId: number, path: string): boolean {
		const untilMs = this.#untilMs.get(databaseId);
		if (untilMs === undefined) return false;
		const isAsked = existsSync(path + turnSuffix);
		if (isAsked && monotonicMs() < untilMs) return true;
		if (isAsked) rmSync(path + turnSuffix, { force: true });
		this.#untilMs.delete(databaseId);
		return false;
	}
}
