import { setTimeout as delay } from 'node:timers/promises';
import { reasonOf } from '../errors.ts';
import { prune } from '../store/account/pruning.ts';
import { pauseMs } from '../store/batch-sizer.ts';
import type { Store } from '../store/store.ts';
import { transactWithRetry } from '../store/transact-with-retry.ts';

const dayMs = 86_400_000;
export const everyHourMs = 3_600_000;

/** What became of one account in a round, where something did. */
export type RetentionReport =
	| { readonly type: 'pruned'; readonly aid: string; readonly hits: number }
	| { readonly type: 'error'; readonly aid?: string; readonly reason: string };

export interface RetentionOptions {
	readonly keepHitsDays: number;
	readonly everyMs: number;
	readonly now: () => number;
	readonly report: (report: RetentionReport) => void;
	/** Ends it after the batch that is under way. */
	readonly signal: AbortSignal;
}

/**
 * Deletes hits that are older than they may be kept, at once and then again and again, until the signal. Several processes
 * may do so on one database: they take turns at its rows, and whoever finds nothing left to do has done its part.
 */
export async function runRetention(store: Store, options: RetentionOptions): Promise<void> {
	while (!options.signal.aborted) {
		await pruneAll(store, options);
		await pause(options.everyMs, options.signal);
	}
}

/** One round through all accounts, disabled ones as well. What fails is reported, and left to the next round. */
export async function pruneAll(store: Store, options: RetentionOptions): Promise<void> {
	const { report, signal } = options;
	const beforeMs = options.now() - options.keepHitsDays * dayMs;
	try {
		for (const { id, aid } of await store.control.accounts()) {
			if (signal.aborted) return;
			try {
				const hits = await pruneAccount(store, id, beforeMs, signal);
				if (hits > 0) report({ type: 'pruned', aid, hits });
				// Always, for the round before may have been kept from it.
				await store.purge(id, { rewrite: false });
			} catch (error) {
				report({ type: 'error', aid, reason: reasonOf(error) });
			}
		}
	} catch (error) {
		report({ type: 'error', reason: reasonOf(error) });
	}
}

async function pruneAccount(
	store: Store,
	accountId: number,
	beforeMs: number,
	signal: AbortSignal,
): Promise<number> {
	let total = 0;
	while (!signal.aborted) {
		const beganMs = performance.now();
		const hits = await transactWithRetry(store, accountId, () => prune(beforeMs));
		if (hits === 0) break;
		total += hits;
		await pause(Math.max(pauseMs, performance.now() - beganMs), signal);
	}
	return total;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
	return delay(ms, undefined, { signal }).catch(() => {});
}

export interface RetentionSettings {
	readonly database: string;
	readonly stage?: string;
	readonly keepHitsDays?: number;
}
