import type { ShownCid } from '../../core/domain/ownership.ts';
import type { Profile } from '../../core/domain/profile.ts';
import { dayMs } from '../../core/durations.ts';
import { isoTime } from '../../core/format/iso-time.ts';
import type { GoalScore, VisitorScorer } from '../../core/scoring/serve/visitor-scorer.ts';
import { readScores } from '../../core/segments/matching.ts';
import { firstCustomersOf } from '../../core/store/account/reading/persons.ts';
import type { KnownAccount } from '../../core/store/control/control-store.ts';
import type { ServingStore } from '../../core/store/serving.ts';
import type { Reading } from '../../core/store/steps.ts';
import type { Store } from '../../core/store/store.ts';
import { heldOutOf } from '../experiments/domain/draw.ts';
import type { Standing } from './domain/standing.ts';
import { wants } from './domain/webhook.ts';
import { dataOf, messagesTo } from './message.ts';
import { pruneOldMessages } from './old-messages.ts';
import { begunAgain, recounted, summaryOf } from './recount.ts';
import {
	type EvaluationResult,
	type EvaluationState,
	type EvaluationStep,
	type HeldEvaluation,
	type Recount,
	saveEvaluation,
	waitingConflicts,
} from './store/evaluation.ts';
import {
	changedSince,
	customerIdsOf,
	type EvaluatedVisitor,
	evaluatedPage,
	evaluatedVisitors,
	evaluatedWithoutVisitor,
} from './store/standings.ts';
import { bodyOf, nowhere, standingOf, type Transition, transitionsOf } from './transitions.ts';

/** Interval between the starts of two sweeps over all visitors. */
export const sweepEveryMs = 600_000;
/** After a longer interruption, changes are counted instead of sent. */
export const maxBreakMs = dayMs;
/** An entry may become visible this long after its time: a hit waits for its commit for 5 s at most. */
const overlapMs = 6000;
/** The period of the log that is read at once; longer if it has few visitors. */
const minWindowMs = 60_000;
const fewVisitors = 1000;
/** Maximum number of visitors in a step. */
const maxVisitors = 100;
const maxSeen = 100_000;

export interface EvaluatorOptions {
	readonly store: Store & ServingStore;
	readonly scorer: VisitorScorer;
	/** Identifies this process. */
	readonly holder: string;
	/** Called when messages were stored. */
	readonly onMessages: (accountId: number) => void;
	readonly signal: AbortSignal;
}

/** A visitor, compared with the stored standing. */
interface Comparison {
	readonly vid: string;
	readonly before: Standing;
	readonly after: Standing;
	/** Whether it is to be stored. */
	readonly isChange: boolean;
	/** Whether the visitor no longer exists. */
	readonly isGone?: boolean;
	/** To be sent. */
	readonly transitions: readonly Transition[];
}

/** Whether rules or webhooks read scores. */
export function needsScores({ segments, webhooks }: KnownAccount): boolean {
	return readScores(segments) || webhooks.some((webhook) => wants(webhook, 'score.band.changed'));
}

/** The work of one process on an account that it holds. */
export class Round {
	readonly #options: EvaluatorOptions;
	readonly #account: KnownAccount;
	readonly #nowMs: number;
	readonly #needsScores: boolean;
	#held: HeldEvaluation;
	#sequence: number;
	readonly state: { -readonly [Name in keyof EvaluationState]: EvaluationState[Name] };

	/** @param state is changed by the round */
	constructor(
		options: EvaluatorOptions,
		account: KnownAccount,
		held: HeldEvaluation,
		state: EvaluationState,
	) {
		this.#options = options;
		this.#account = account;
		this.#nowMs = Math.floor(options.store.now());
		this.#needsScores = needsScores(account);
		this.#held = held;
		this.#sequence = held.sequence;
		this.state = state;
	}

	/** Loads the models, so that all visitors are compared by the same ones. */
	async prepare(): Promise<void> {
		if (this.#needsScores) await this.#options.scorer.prepare(this.#account, 'vid');
	}

	/** Sweeps over all visitors and counts changes instead of sending a message for each. */
	async recount(madeFor: string, reason: Recount['reason']): Promise<void> {
		const { state } = this;
		state.madeFor = madeFor;
		if (reason === 'started') {
			state.sinceMs = this.#nowMs;
			state.logToMs = this.#nowMs;
		}
		state.recount = begunAgain(state.recount, reason);
		this.#beginSweep();
		await this.save();
	}

	/** Stores messages about uploads that conflicted with stored events. */
	async saveConflictMessages(): Promise<void> {
		const conflicts = await this.#read(waitingConflicts());
		if (conflicts.length === 0) return;
		const messages = conflicts.flatMap(({ atMs, requestId, tids }) =>
			this.#messages('subscription.conflict', { requestId, tids, receivedAt: isoTime(atMs) }),
		);
		await this.save({ messages, conflictIds: conflicts.map(({ id }) => id) });
	}

	#read<T>(reading: Reading<T>): Promise<T> {
		return this.#options.store.read(this.#account.id, reading);
	}

	/** Evaluates visitors with new log entries. @returns whether all were evaluated */
	async followLog(seen: Map<string, number>, isOver: () => boolean): Promise<boolean> {
		for (let windowMs = minWindowMs; ; ) {
			const nowMs = this.#nowMs;
			// The clock may have stepped back.
			const fromMs = Math.min(this.state.logToMs, nowMs) - overlapMs;
			// Hits may have times slightly in the future.
			const untilMs = nowMs - fromMs < windowMs ? nowMs + windowMs : fromMs + windowMs;
			const changed = await this.#read(changedSince(fromMs, untilMs));
			const fresh = [...changed].filter(
				([vid, atMs]) => !((seen.get(vid) ?? Number.NEGATIVE_INFINITY) >= atMs),
			);
			for (let from = 0; from < fresh.length; from += maxVisitors) {
				const some = fresh.slice(from, from + maxVisitors);
				const visitors = await this.#read(evaluatedVisitors(some.map(([vid]) => vid)));
				await this.#evaluate(visitors, false);
				for (const [vid, atMs] of some) seen.set(vid, atMs);
				if (isOver()) return false;
			}
			this.state.logToMs = Math.min(untilMs, nowMs);
			if (seen.size > maxSeen) seen.clear();
			if (untilMs >= nowMs) {
				for (const [vid, atMs] of seen) if (atMs < fromMs) seen.delete(vid);
				return true;
			}
			if (isOver()) return false;
			windowMs = changed.size < fewVisitors ? 2 * windowMs : minWindowMs;
		}
	}

	/** Continues the sweep over all visitors, or starts one when it is due. @returns whether it swept some */
	async sweep(isOver: () => boolean): Promise<boolean> {
		const { state } = this;
		if (state.isSweepDone) {
			if (Math.abs(this.#nowMs - state.sweepAtMs) < sweepEveryMs) return false;
			await pruneOldMessages(this.#options.store, this.#account.id, this.#nowMs);
			this.#beginSweep();
		}
		while (!state.isSweepDone && !isOver()) {
			const { visitors, lastId } = await this.#read(evaluatedPage(state.sweepAfterId, maxVisitors));
			state.sweepAfterId = lastId ?? state.sweepAfterId;
			const some = visitors.length > 0 ? visitors : await this.#read(evaluatedWithoutVisitor(maxVisitors));
			if (some.length > 0) await this.#evaluate(some, state.recount !== null);
			else await this.#endSweep();
		}
		return true;
	}

	#beginSweep(): void {
		Object.assign(this.state, { sweepAtMs: this.#nowMs, sweepAfterId: 0, isSweepDone: false });
	}

	async #endSweep(): Promise<void> {
		const { recount } = this.state;
		this.state.isSweepDone = true;
		this.state.recount = null;
		if (recount) await this.save({ messages: this.#messages('segments.recomputed', summaryOf(recount)) });
	}

	/** @param areCounted whether changes are counted, and not sent one by one */
	async #evaluate(visitors: readonly EvaluatedVisitor[], areCounted: boolean): Promise<void> {
		const changes: Comparison[] = [];
		const { experiments, webhooks } = this.#account;
		const customers =
			experiments.length === 0
				? new Map<string, ShownCid>()
				: await this.#read(firstCustomersOf(visitors.map(({ vid }) => vid)));
		for (const visitor of visitors) {
			const customer = customers.get(visitor.vid) ?? null;
			const heldOut = heldOutOf(experiments, { vid: visitor.vid, customer }, this.#nowMs);
			const compared = await this.#compare(visitor, heldOut, areCounted);
			if (!compared) continue;
			const { recount } = this.state;
			if (areCounted && recount) this.state.recount = recounted(recount, compared.before, compared.after);
			if (compared.isChange) changes.push(compared);
		}
		if (changes.length === 0) return;
		const notified = changes.filter(({ transitions }) => transitions.length > 0).map(({ vid }) => vid);
		const withCids = webhooks.some(({ withCid }) => withCid);
		const cids = withCids ? await this.#read(customerIdsOf(notified)) : new Map<string, string>();
		await this.save({
			visitors: changes.map((change) => this.#toEvaluated(change, cids.get(change.vid) ?? null)),
		});
	}

	/** Compares a visitor with the stored standing. @returns undefined for one who does not count */
	async #compare(
		{ vid, profile, standing }: EvaluatedVisitor,
		heldOut: ReadonlySet<string>,
		areCounted: boolean,
	): Promise<Comparison | undefined> {
		const { sinceMs, sweepAtMs } = this.state;
		const before = standing ?? nowhere;
		if (!profile) {
			if (!standing) return undefined;
			const after = { ...nowhere, goals: before.goals };
			const transitions = areCounted ? [] : transitionsOf(before, after);
			return { vid, before, after, isChange: true, isGone: true, transitions };
		}
		// Entries of the log since the sweep began are evaluated from the log.
		if (areCounted && profile.lastAtMs > sweepAtMs)
			return standing ? { vid, before, after: before, isChange: false, transitions: [] } : undefined;
		const scores = await this.#scoresOf(profile);
		const after = standingOf(this.#account, profile, scores, before, this.#nowMs, heldOut);
		const transitions = transitionsOf(before, after);
		const isChange = !standing || transitions.length > 0 || bodyOf(before) !== bodyOf(after);
		const isNew = profile.firstAtMs >= sinceMs && this.#nowMs - profile.lastAtMs < maxBreakMs;
		const isSent = (transition: Transition) => {
			if (standing) return !areCounted;
			if (isNew) return true;
			// A visitor from before webhooks: only recent changes are sent.
			return (
				transition.type === 'goal.reached' &&
				transition.reachedAtMs >= sinceMs &&
				transition.number === after.goals.get(transition.goal)?.count
			);
		};
		return { vid, before, after, isChange, transitions: transitions.filter(isSent) };
	}

	#scoresOf(profile: Profile): readonly GoalScore[] | Promise<readonly GoalScore[]> {
		return this.#needsScores ? this.#options.scorer.scores(this.#account, 'vid', profile, false) : [];
	}

	/** Numbers the changes, equally in memberships and messages. */
	#toEvaluated(
		{ vid, before, after, isGone, transitions }: Comparison,
		cid: string | null,
	): EvaluationResult {
		const { webhooks, aid } = this.#account;
		const sequences = new Map<string, number>();
		const messages = transitions.flatMap((transition) => {
			const sequence = this.#nextSequence();
			if (transition.type === 'segment.entered') sequences.set(transition.segment, sequence);
			return messagesTo(webhooks, {
				type: transition.type,
				aid,
				sequence,
				atMs: this.#nowMs,
				subject: { vid, cid },
				data: dataOf(this.#account, transition, this.#nowMs),
			});
		});
		return {
			vid,
			standing: isGone ? null : bodyOf(after),
			entered: [...after.segments.difference(before.segments)].map((segment) => ({
				segment,
				sequence: sequences.get(segment) ?? this.#nextSequence(),
			})),
			left: [...before.segments.difference(after.segments)],
			messages,
		};
	}

	#messages(type: 'subscription.conflict' | 'segments.recomputed', data: Readonly<Record<string, unknown>>) {
		const { webhooks, aid } = this.#account;
		return messagesTo(webhooks, { type, aid, sequence: this.#nextSequence(), atMs: this.#nowMs, data });
	}

	/** Increases with time, so that it also does after an older database was restored. */
	#nextSequence(): number {
		this.#sequence = Math.max(this.#sequence + 1, this.#nowMs * 1000);
		return this.#sequence;
	}

	/** Stores the progress, and what it brought. */
	async save(
		brought: Partial<Pick<EvaluationStep, 'visitors' | 'messages' | 'conflictIds'>> = {},
	): Promise<void> {
		const { store, onMessages } = this.#options;
		this.state.savedAtMs = this.#nowMs;
		const step = {
			held: this.#held,
			sequence: this.#sequence,
			state: this.state,
			nowMs: this.#nowMs,
			visitors: [],
			messages: [],
			conflictIds: [],
			...brought,
		};
		await store.transact(this.#account.id, () => saveEvaluation(step));
		this.#held = { ...this.#held, sequence: this.#sequence };
		const { messages = [], visitors = [] } = brought;
		if (messages.length > 0 || visitors.some((visitor) => visitor.messages.length > 0))
			onMessages(this.#account.id);
	}
}
