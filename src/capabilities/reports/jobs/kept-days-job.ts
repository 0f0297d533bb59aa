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
import { graceMs, keepDays } from '../day-figures.ts';

/** Interval of rounds over all accounts, each of which looks for days that are over. */
const everyMs = 600_000;

/**
 * Keeps what came in on past days, for the console, at once and then periodically, until the signal is aborted. Several processes
 * may do this on one database: they keep the same.
 */
export function runKeptDays(
	store: Store,
	{ log, signal }: { readonly log: WorkLog; readonly signal: AbortSignal },
): Promise<void> {
	const fail = ({ aid, reason }: RoundFailure) => log.error({ account: aid, reason }, 'keeping days failed');
	const news = new News(store);
	const histories = new Histories(store);
	return repeatedly(signal, async () => {
		let isMore = false;
		const accounts = accountsInUse(store).then(async (all) => histories.among(await news.among(all)));
		await forEachAccount(store, accounts, { signal, fail }, async (id) => {
			const account = await histories.accountOf(id);
			if (account && (await keepDays(store, account, signal))) isMore = true;
			else news.done(id);
		});
		return isMore ? graceMs : everyMs;
	});
}
