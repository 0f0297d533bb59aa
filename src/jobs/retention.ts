import { setTimeout as delay } from 'node:timers/promises';
import { dayMs } from '../durations.ts';
import { prune, pruneKept } from '../store/account/removing/pruning.ts';
import { pruneServedScores } from '../store/account/served-scores.ts';
import { pauseMs } from '../store/batch-sizer.ts';
import type { Maintenance } from '../store/maintenance.ts';
import type { Store } from '../store/store.ts';
import { forEachAccount, type RoundError } from './each-account.ts';

/** The result for one account in a round, if there was anything to do. */
export type RetentionReport =
	| { readonly type: 'pruned'; readonly aid: string; readonly hits: number }
	| RoundError;

export interface RetentionOptions {
	readonly keepHitsDays: number;
	/** Whether the touches of converted visitors stay. */
	readonly keepTouches: boolean;
	readonly everyMs: number;
	readonly now: () => number;
	readonly report: (report: RetentionReport) => void;
	/** Stops the job after the current batch. */
	readonly signal: AbortSignal;
}

/**
 * Deletes expired hits at once and then periodically, until the signal is aborted. Several processes may do this on one
 * database: row locks serialise them, and a process that finds nothing left is done.
 */
export async function runRetention(store: Store & Maintenance, options: RetentionOptions): Promise<void> {
	while (!options.signal.aborted) {
		await pruneAll(store, options);
		await pause(options.everyMs, options.signal);
	}
}

/**
 * Prunes every account once, disabled ones included. Errors are reported, and the account is retried in the next round.
 */
export function pruneAll(store: Store & Maintenance, options: RetentionOptions): Promise<void> {
	const beforeMs = options.now() - options.keepHitsDays * dayMs;
	return forEachAccount(store, store.control.accounts(), options, async ({ id, aid }) => {
		const hits = await pruneAccount(store, id, beforeMs, options);
		if (hits > 0) options.report({ type: 'pruned', aid, hits });
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
	const hits = await repeat(() => store.transact(accountId, () => prune(beforeMs, keepTouches)), signal);
	await repeat(() => store.transact(accountId, () => pruneServedScores(beforeMs, beforeMs)), signal);
	if (!keepTouches) await repeat(() => store.transact(accountId, () => pruneKept(beforeMs)), signal);
	return hits;
}

/** Deletes one page after another. Each pause is as long as the page took. @returns the number of deleted rows */
async function repeat(prunePage: () => Promise<number>, signal: AbortSignal): Promise<number> {
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

function pause(ms: number, signal: AbortSignal): Promise<void> {
	return delay(ms, undefined, { signal }).catch(() => {});
}
