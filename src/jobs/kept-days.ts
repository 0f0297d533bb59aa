import { setTimeout as delay } from 'node:timers/promises';
import { graceMs, keepDays } from '../reports/kept-days.ts';
import type { Store } from '../store/store.ts';
import { accountsInUse, forEachAccount, type RoundError } from './each-account.ts';

/** Interval of rounds over all accounts, each of which looks for days that are over. */
const everyMs = 600_000;

export type KeptDaysReport = RoundError;

/**
 * Keeps what came in on past days, for the console, at once and then periodically, until the signal is aborted. Several processes
 * may do this on one database: they keep the same.
 */
export async function runKeptDays(
	store: Store,
	options: { readonly report: (report: KeptDaysReport) => void; readonly signal: AbortSignal },
): Promise<void> {
	const { signal } = options;
	while (!signal.aborted) {
		let isMore = false;
		await forEachAccount(store, accountsInUse(store), options, async ({ id }) => {
			if (await keepDays(store, id, signal)) isMore = true;
		});
		await delay(isMore ? graceMs : everyMs, undefined, { signal }).catch(() => {});
	}
}
