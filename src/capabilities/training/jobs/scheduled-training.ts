import type { Account } from '../../../core/store/control/control-store.ts';
import type { Store } from '../../../core/store/store.ts';
import { accountsInUse, forEachAccount, Histories, repeatedly } from '../../../kit/jobs/each-account.ts';
import type { TrainedGoal } from '../judge/account-training.ts';
import { problemOfModel } from '../judge/model-versions.ts';
import { failingTraining, ScoreUpkeep, type UpkeepOptions } from './score-upkeep.ts';

export interface ScheduleOptions extends UpkeepOptions {
	/** Training interval. Without it, no models are trained; base rates are measured, and scores compared with outcomes, in any case. */
	readonly everyMs: number | undefined;
	/** Trains an account, elsewhere. */
	readonly train: (account: Account, asOfMs: number) => Promise<readonly TrainedGoal[]>;
}

/** Interval between checks whether an account is due. */
const roundMs = 10_000;
const maxPauseMs = 600_000;

/**
 * Measures base rates, compares scores with outcomes, and trains every enabled account when it is due, until the signal is
 * aborted. An account's newest model shows when it was trained last. So several servers on one database do not train it
 * twice, and a restarted server does not train at once.
 */
export function runScheduledTraining(store: Store, options: ScheduleOptions): Promise<void> {
	const { everyMs, now } = options;
	const upkeep = new ScoreUpkeep(store, options);
	let nextTrainingMs = Number.NEGATIVE_INFINITY;
	return repeatedly(options.signal, async () => {
		await upkeep.round();
		if (everyMs !== undefined && now() >= nextTrainingMs) {
			await trainDue(store, { ...options, everyMs });
			nextTrainingMs = now() + Math.min(everyMs / 10, maxPauseMs);
		}
		return roundMs;
	});
}

/** Checks all accounts once. Failures are logged, and retried in the next round. */
export function trainDue(
	store: Store,
	{ everyMs, train, now, log, signal }: ScheduleOptions & { readonly everyMs: number },
): Promise<void> {
	const histories = new Histories(store);
	const accounts = accountsInUse(store).then((all) => histories.among(all));
	return forEachAccount(store, accounts, failingTraining(log, signal), async (id) => {
		const newestMs = await newestModelMs(store, id);
		// The absolute difference, because another server's clock may be slightly ahead. A time far in the future must
		// not prevent training forever.
		if (signal.aborted || Math.abs(now() - newestMs) < everyMs) return;
		const account = await histories.accountOf(id);
		if (!account) return;
		for (const { version, active, report } of await train(account, now())) {
			const { goal, scope, kind, later } = report;
			const auc = later?.auc.value ?? null;
			if (version !== null)
				log.info({ aid: account.aid, goal, scope, version, kind, active, auc }, 'trained');
		}
	});
}

/** Long ago where this version cannot apply it, as after an upgrade: until the account is trained again, pages get base rates. */
async function newestModelMs(store: Store, accountId: number): Promise<number> {
	const newest = (await store.control.models(accountId)).findLast(({ scope }) => scope !== 'lift');
	if (!newest || (await problemOfModel(store, accountId, newest))) return Number.NEGATIVE_INFINITY;
	return Date.parse(newest.createdAt);
}
