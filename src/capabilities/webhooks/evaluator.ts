import { hash } from 'node:crypto';
import type { KnownAccount } from '../../core/store/control/control-store.ts';
import { isRunning } from '../experiments/store/experiment.ts';
import { type EvaluatorOptions, maxBreakMs, needsScores, Round, sweepEveryMs } from './round.ts';
import {
	type EvaluationState,
	evaluation,
	type HeldEvaluation,
	holdEvaluation,
	releaseEvaluation,
} from './store/evaluation.ts';

/** A sweep that has taken longer uses all available time. */
const hurryAfterMs = 420_000;
/** Maximum pause between two rounds of a sweep. */
const maxSweepPauseMs = 900;
/** Duration of a round, after which other accounts get their turn. */
const roundMs = 200;
/** If a process dies, others can evaluate its accounts after this time. */
const holdMs = 15_000;
/** How often the position in the log is stored if nothing else is. */
const saveEveryMs = 10_000;
/** Another process may learn of a change this much earlier. */
const maxBehindMs = 10_000;

/** An account, and the revision of the control database that it was read from. */
interface EvaluatedAccount {
	readonly account: KnownAccount;
	readonly revision: number;
}

/**
 * Compares an account's visitors with what webhooks know about them, and stores the changes: at once for visitors with
 * new log entries, in sweeps for all others. Its state is in the database, so that a process may die at any point and
 * another one continues.
 */
export class Evaluator {
	readonly #options: EvaluatorOptions;
	/** The latest log entries of recently evaluated visitors. */
	readonly #seen = new Map<string, number>();
	#savedAtMs = Number.NEGATIVE_INFINITY;

	constructor(options: EvaluatorOptions) {
		this.#options = options;
	}

	/**
	 * Evaluates visitors for a short time.
	 * @returns the pause before the next round, unless something happens sooner
	 * @throws ConcurrentChangeError if another process took the account over
	 */
	async round({ account, revision }: EvaluatedAccount): Promise<{ readonly againInMs: number }> {
		const { store, holder } = this.#options;
		const nowMs = Math.floor(store.now());
		const held = await this.#hold(account.id, nowMs);
		if (!held) return { againInMs: 500 };
		try {
			return await this.#work(account, revision, held, nowMs);
		} finally {
			if (store.takesManyServers) await store.transact(account.id, () => releaseEvaluation(holder));
		}
	}

	async #hold(accountId: number, nowMs: number): Promise<HeldEvaluation | undefined> {
		const { store, holder } = this.#options;
		// With a single server, nobody else can take the lease. A read is enough, and waits for no disk.
		if (!store.takesManyServers) {
			const held = await store.read(accountId, evaluation());
			if (held?.holder === holder) return held;
		}
		return store.transact(accountId, () =>
			holdEvaluation(holder, nowMs, nowMs + holdMs, {
				begin: beginningAt(nowMs),
				isAlone: !store.takesManyServers,
			}),
		);
	}

	async #work(account: KnownAccount, revision: number, held: HeldEvaluation, nowMs: number) {
		const { state } = held;
		if (state.revision > revision && Math.abs(nowMs - state.savedAtMs) < maxBehindMs)
			return { againInMs: 500 };
		const work = new Round(this.#options, account, held, { ...state, revision });
		const beganMs = performance.now();
		const isOver = () => this.#options.signal.aborted || performance.now() - beganMs > roundMs;
		await work.prepare();
		const madeFor = madeForOf(account, nowMs);
		const isBroken = nowMs - state.logToMs > maxBreakMs;
		if (state.madeFor !== madeFor || isBroken)
			await work.recount(madeFor, isBroken || state.madeFor === '' ? 'started' : 'changed');
		await work.saveConflictMessages();
		const isCurrent = await work.followLog(this.#seen, isOver);
		const hasSwept = isCurrent && (await work.sweep(isOver));
		const { isSweepDone, sweepAtMs } = work.state;
		if (hasSwept || Math.abs(nowMs - this.#savedAtMs) > saveEveryMs) {
			await work.save();
			this.#savedAtMs = nowMs;
		}
		if (!isCurrent) return { againInMs: 0 };
		const tookMs = performance.now() - beganMs;
		if (isSweepDone) return { againInMs: Math.max(1000, Math.min(60_000, sweepAtMs + sweepEveryMs - nowMs)) };
		const share = nowMs - sweepAtMs > hurryAfterMs ? 0.2 : 3;
		return { againInMs: Math.min(maxSweepPauseMs, tookMs * share) };
	}
}

/** Identifies everything that can change standings without any action of a visitor. */
function madeForOf(account: KnownAccount, nowMs: number): string {
	const running = account.experiments.filter((experiment) => isRunning(experiment, nowMs));
	const names = running.map(({ name }) => name).join();
	const text = JSON.stringify([
		account.segments.map(({ id, rule }) => [id, rule]),
		account.goals.map(({ horizonDays: _, ...goal }) => goal),
		account.models.filter(({ scope }) => scope !== 'sid'),
		needsScores(account),
		...(names === '' ? [] : [names]),
	]);
	return hash('sha256', text, 'base64url').slice(0, 22);
}

function beginningAt(nowMs: number): EvaluationState {
	return {
		sinceMs: nowMs,
		logToMs: nowMs,
		savedAtMs: 0,
		revision: 0,
		madeFor: '',
		sweepAtMs: nowMs,
		sweepAfterId: 0,
		isSweepDone: true,
		recount: null,
	};
}
