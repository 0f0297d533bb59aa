import type { CaskScope } from '../../../core/domain/cask-scope.ts';
import { hourMs } from '../../../core/durations.ts';
import type { WorkLog } from '../../../core/log.ts';
import { type GoalModel, openModel, UnusableModelError } from '../../../core/scoring/serve/goal-model.ts';
import type { Account, StoredModel } from '../../../core/store/control/control-store.ts';
import type { Store } from '../../../core/store/store.ts';
import {
	accountsInUse,
	forEachAccount,
	Histories,
	type RoundFailure,
} from '../../../kit/jobs/each-account.ts';
import { historyReader } from '../../../kit/reading/histories.ts';
import { followLevel } from '../follow/level-following.ts';
import type { GoalReport } from '../judge/account-training.ts';
import { measureBaseRates } from '../serve/base-rate.ts';
import { learnCadences } from './cadences.ts';

export interface UpkeepOptions {
	/** Milliseconds since 1970. */
	readonly now: () => number;
	readonly log: WorkLog;
	readonly signal: AbortSignal;
}

/** Pause between two measurements of an account: the minimum after a change of its rates, then doubled each time. */
const minPauseMs = 60_000;
const maxPauseMs = 6 * hourMs;
/** Pause after a failure. */
const retryAfterMs = 600_000;
/** Smaller relative changes are not worth a new revision for every server. */
const minChange = 0.05;

/** How failures of rounds in which models are trained or followed are logged. A training that is given up is none. */
export function failingTraining(log: WorkLog, signal: AbortSignal) {
	const fail = (failure: RoundFailure) => {
		if (!signal.aborted) log.error(failure, 'training failed');
	};
	return { signal, fail };
}

interface Measured {
	readonly atMs: number;
	readonly pauseMs: number;
}

/** Keeps base rates and cadences up to date between trainings, and compares predicted levels with outcomes. */
export class ScoreUpkeep {
	readonly #store: Store;
	readonly #options: UpkeepOptions;
	readonly #histories: Histories;
	/** The time of the last attempt and the pause after it, by account id. */
	readonly #measured = new Map<number, Measured>();

	constructor(store: Store, options: UpkeepOptions) {
		this.#store = store;
		this.#options = options;
		this.#histories = new Histories(store);
	}

	/** Handles all accounts that are due. Failures are logged, and retried later. */
	round(): Promise<void> {
		const { now, log, signal } = this.#options;
		const { control } = this.#store;
		const failing = failingTraining(log, signal);
		// One for all, so that those without a history are due in the same rounds: they are asked for together.
		const roundAtMs = now();
		const resting = new Map<number, Measured>();
		const rest = (id: number, pauseMs: number) =>
			this.#measured.set(
				id,
				resting.getOrInsertComputed(pauseMs, () => ({ atMs: roundAtMs, pauseMs })),
			);
		const due = accountsInUse(this.#store).then(async (all) => {
			const due = all.filter((id) => this.#isDue(id));
			const live = new Set(await this.#histories.among(due));
			for (const id of due) if (!live.has(id)) rest(id, this.#laterMs(id));
			return [...live];
		});
		return forEachAccount(this.#store, due, failing, async (id) => {
			const later = this.#laterMs(id);
			this.#measured.set(id, { atMs: now(), pauseMs: retryAfterMs });
			const account = (await this.#isMeasurable(id)) ? await control.accountNumbered(id) : undefined;
			if (!account) {
				rest(id, later);
				return;
			}
			const isLearned = await learnCadences(this.#store, account, now());
			const changed = (await this.#measureRates(account)) || isLearned;
			await this.#followLevels(account);
			this.#measured.set(id, { atMs: now(), pauseMs: changed ? minPauseMs : later });
		});
	}

	#laterMs(accountId: number): number {
		const last = this.#measured.get(accountId);
		return last ? Math.min(maxPauseMs, 2 * last.pauseMs) : minPauseMs;
	}

	#isDue(accountId: number): boolean {
		const last = this.#measured.get(accountId);
		return !last || Math.abs(this.#options.now() - last.atMs) >= last.pauseMs;
	}

	/** Whether there is anything to measure, or there was. Without base rates, what is assumed is served. */
	async #isMeasurable(accountId: number): Promise<boolean> {
		if (await this.#histories.has(accountId)) return true;
		const { control } = this.#store;
		return (await control.baseRates(accountId)).size > 0 || (await control.cadences(accountId)) !== null;
	}

	/** Measures the base rates, and serves them if they have changed. @returns whether they have */
	async #measureRates(account: Account): Promise<boolean> {
		const { control } = this.#store;
		const { id } = account;
		const goals = await control.goals(id);
		const before = await control.baseRates(id);
		const reader = historyReader(this.#store, account);
		// What is assumed is served then anyway.
		if (before.size === 0 && (await reader.vidsAfter('', 1)).length === 0) return false;
		const rates = await measureBaseRates(reader, goals, this.#options.now());
		const counted = new Map(
			[...rates].map(([name, { byRecency }]) => [name, byRecency.map((rate) => Number(rate.toPrecision(4)))]),
		);
		const isOther = (name: string, now: readonly number[]) =>
			now.some((rate, index) => {
				const last = before.get(name)?.[index];
				return last === undefined || Math.abs(rate - last) > minChange * Math.max(rate, last);
			});
		const changed = [...counted].some(([name, now]) => isOther(name, now));
		if (changed) await control.setBaseRates(id, counted);
		return changed;
	}

	async #followLevels(account: Account): Promise<void> {
		const { control } = this.#store;
		const goals = await control.goals(account.id);
		for (const model of (await control.models(account.id)).filter(({ active }) => active)) {
			const goal = goals.find(({ name }) => name === model.goal);
			const { scope } = model;
			// What would have come without being treated is never seen.
			if (goal && scope !== 'lift') await this.#follow(account, goal, { ...model, scope });
		}
	}

	async #follow(
		account: Account,
		goal: Awaited<ReturnType<Store['control']['goals']>>[number],
		model: StoredModel & { readonly scope: CaskScope },
	): Promise<void> {
		const { control } = this.#store;
		const { id, aid } = account;
		const report: Partial<GoalReport> = JSON.parse(await control.modelReport(id, model));
		const levels = await control.modelLevels(id, model);
		const nowMs = this.#options.now();
		let applied: GoalModel;
		try {
			applied = openModel(model.version, await control.modelBody(id, model));
		} catch (error) {
			// The base rate is served in its place. Who serves it logs why.
			if (error instanceof UnusableModelError) return;
			throw error;
		}
		const next = await followLevel(historyReader(this.#store, account), {
			goal,
			scope: model.scope,
			levels,
			nowMs,
			model: applied,
			trainedToMs: Date.parse(report.asOf ?? model.createdAt),
		});
		if (!next) return;
		await control.setModelLevels(id, model, next);
		const { predicted = null, observed = null, isOutside = false } = next.weeks.at(-1) ?? {};
		const { scope, version } = model;
		const fields = { aid, goal: goal.name, scope, version, predicted, observed, isOutside };
		if (isOutside) this.#options.log.warn(fields, 'observed rate is outside the predicted interval');
		else this.#options.log.info(fields, 'scores compared');
	}
}
