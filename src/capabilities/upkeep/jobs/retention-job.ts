import { dayMs } from '../../../core/durations.ts';
import type { WorkLog } from '../../../core/log.ts';
import { pauseMs } from '../../../core/store/batch-sizer.ts';
import type { Maintenance } from '../../../core/store/maintenance.ts';
import type { Store } from '../../../core/store/store.ts';
import { forEachAccount, pause, type RoundFailure, repeatedly } from '../../../kit/jobs/each-account.ts';
import { pruneServedScores } from '../../training/store/served-scores.ts';
import { prune, pruneKept } from '../store/pruning.ts';

export interface RetentionOptions {
	readonly keepHitsDays: number;
	/** Whether the touches of converted visitors stay. */
	readonly keepTouches: boolean;
	readonly everyMs: number;
	readonly now: () => number;
	readonly log: WorkLog;
	/** Stops the job after the current batch. */
	readonly signal: AbortSignal;
}

/**
 * Deletes expired hits at once and then periodically, until the signal is aborted. Several processes may do this on one
 * database: row locks serialise them, and a process that finds nothing left is done.
 */
export function runRetention(store: Store & Maintenance, options: RetentionOptions): Promise<void> {
	return repeatedly(options.signal, async () => {
		await pruneAll(store, options);
		return options.everyMs;
	});
}

/**
 * Prunes every account once, disabled ones included. Failures are logged, and the account is retried in the next round.
 */
export function pruneAll(store: Store & Maintenance, options: RetentionOptions): Promise<void> {
	const { log, signal } = options;
	const beforeMs = options.now() - options.keepHitsDays * dayMs;
	const fail = (failure: RoundFailure) => log.error(failure, 'retention failed');
	return forEachAccount(store, store.control.accountIds(), { signal, fail }, async (id) => {
		const hits = await pruneAccount(store, id, beforeMs, options);
		if (hits > 0) log.info({ aid: (await store.control.accountNumbered(id))?.aid, hits }, 'pruned');
		// Also if nothing was deleted: the previous round may have failed before this step.
		await store.purge(id, { rewrite: false });
	});
}

async function pruneAccount(
	store: Store,
	accountId: number,
	beforeMs: number,
	{ keepTouches, signal }: RetentionOptions,
): Promise<number> {
	const hits = await deletePages(() => store.transact(accountId, () => prune(beforeMs, keepTouches)), signal);
	await deletePages(() => store.transact(accountId, () => pruneServedScores(beforeMs, beforeMs)), signal);
	if (!keepTouches) await deletePages(() => store.transact(accountId, () => pruneKept(beforeMs)), signal);
	return hits;
}

/** Deletes one page after another. Each pause is as long as the page took. @returns the number of deleted rows */
async function deletePages(prunePage: () => Promise<number>, signal: AbortSignal): Promise<number> {
	let total = 0;
	while (!signal.aborted) {
		const beganMs = performance.now();
		const pruned = await prunePage();
		if (pruned === 0) break;
		total += pruned;
		await pause(Math.max(pauseMs, performance.now() - beganMs), signal);
	}
	return total;
}
