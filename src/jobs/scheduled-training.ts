import { setTimeout as delay } from 'node:timers/promises';
import type { TrainedGoal } from '../scoring/judge/account-training.ts';
import type { Account } from '../store/control/control-store.ts';
import type { Store } from '../store/store.ts';
import { accountsInUse, forEachAccount } from './each-account.ts';
import { ScoreUpkeep, type UpkeepReport } from './score-upkeep.ts';

/** The result for one account in a round, if there was one. */
export type ScheduleReport =
	| ({ readonly type: 'trained'; readonly aid: string } & TrainedSummary)
	| UpkeepReport;

export interface TrainedSummary {
	readonly goal: string;
	readonly scope: 'vid' | 'sid';
	readonly version: string;
	readonly kind: string;
	readonly active: boolean;
	readonly auc: number | null;
}

export interface ScheduleOptions {
	/** Training interval. Without it, no models are trained; base rates are measured, and scores compared with outcomes, in any case. */
	readonly everyMs: number | undefined;
	/** Trains an account, elsewhere. Goals for which nothing was stored are left out of the result. */
	readonly train: (account: Account, asOfMs: number) => Promise<readonly TrainedSummary[]>;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	readonly report: (report: ScheduleReport) => void;
	readonly signal: AbortSignal;
}

/** Interval between checks whether an account is due. */
const roundMs = 10_000;
const maxPauseMs = 600_000;

/**
 * Measures base rates, compares scores with outcomes, and trains every enabled account when it is due, until the signal is
 * aborted. An account's newest model shows when it was trained last. So several servers on one database do not train it
 * twice, and a restarted server does not train at once.
 */
export async function runScheduledTraining(store: Store, options: ScheduleOptions): Promise<void> {
	const upkeep = new ScoreUpkeep(store, options);
	let nextTrainingMs = Number.NEGATIVE_INFINITY;
	while (!options.signal.aborted) {
		await upkeep.round();
		const { everyMs, now } = options;
		if (everyMs !== undefined && now() >= nextTrainingMs) {
			await trainDue(store, { ...options, everyMs });
			nextTrainingMs = now() + Math.min(everyMs / 10, maxPauseMs);
		}
		await delay(roundMs, undefined, { signal: options.signal }).catch(() => {});
	}
}

/** Checks all accounts once. Failures are reported, and retried in the next round. */
export function trainDue(
	store: Store,
	options: ScheduleOptions & { readonly everyMs: number },
): Promise<void> {
	const { everyMs, train, now, report } = options;
	return forEachAccount(store, accountsInUse(store), options, async (account) => {
		const newestMs = await newestModelMs(store, account.id);
		// The absolute difference, because another server's clock may be slightly ahead. A time far in the future must
		// not prevent training forever.
		if (Math.abs(now() - newestMs) < everyMs) return;
		for (const summary of await train(account, now()))
			report({ type: 'trained', aid: account.aid, ...summary });
	});
}

async function newestModelMs(store: Store, accountId: number): Promise<number> {
	const newest = (await store.control.models(accountId)).findLast(({ scope }) => scope !== 'lift');
	return newest ? Date.parse(newest.createdAt) : Number.NEGATIVE_INFINITY;
}

/** Goals for which nothing was stored are left out. */
export function summaries(trained: readonly TrainedGoal[]): TrainedSummary[] {
	return trained.flatMap(({ version, active, report: { goal, scope, kind, later } }) =>
		version === null ? [] : [{ goal, scope, version, kind, active, auc: later?.auc.value ?? null }],
	);
}
