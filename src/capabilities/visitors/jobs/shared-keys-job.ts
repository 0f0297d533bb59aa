import { hourMs } from '../../../core/durations.ts';
import type { WorkLog } from '../../../core/log.ts';
import { News } from '../../../core/store/news.ts';
import type { Store } from '../../../core/store/store.ts';
import {
	accountsInUse,
	forEachAccount,
	Histories,
	type RoundFailure,
	repeatedly,
} from '../../../kit/jobs/each-account.ts';
import { findSharedKeys } from '../store/find-shared-keys.ts';

/**
 * Looks for keys that too many share among the events of all accounts, at once and then hourly, until the signal is aborted.
 * Several processes may do this on one database: they find the same.
 */
export function runSharedKeys(
	store: Store,
	{ log, signal }: { readonly log: WorkLog; readonly signal: AbortSignal },
): Promise<void> {
	const fail = ({ aid, reason }: RoundFailure) =>
		log.error({ account: aid, reason }, 'looking for shared keys failed');
	const news = new News(store);
	const histories = new Histories(store);
	return repeatedly(signal, async () => {
		const accounts = accountsInUse(store).then(async (all) => histories.among(await news.among(all)));
		await forEachAccount(store, accounts, { signal, fail }, async (id) => {
			if (await histories.has(id)) await findSharedKeys(store, id, signal);
			news.done(id);
		});
		return hourMs;
	});
}
