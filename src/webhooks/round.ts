import type { Profile } from '../domain/profile.ts';
import type { Standing } from '../domain/standing.ts';
import { wants } from '../domain/webhook.ts';
import { isoTime } from '../format/iso-time.ts';
import type { GoalScore, VisitorScorer } from '../scoring/serve/visitor-scorer.ts';
import { heldOutOf } from '../segments/held-out.ts';
import { readScores } from '../segments/matching.ts';
import { type JoinedPerson, personsOf } from '../store/account/reading/persons.ts';
import {
	type Evaluated,
	type EvaluationState,
	type EvaluationStep,
	type Held,
	type Recount,
	saveEvaluation,
	waitingConflicts,
} from '../store/account/webhooks/evaluation.ts';
import type { NewMessage } from '../store/account/webhooks/outbox.ts';
import {
	changedSince,
	customerIdsOf,
	type EvaluatedVisitor,
	evaluatedPage,
	evaluatedVisitors,
	evaluatedWithoutVisitor,
} from '../store/account/webhooks/standings.ts';
import type { KnownAccount } from '../store/control/control-store.ts';
import type { ServingStore } from '../store/serving.ts';
import type { Reading } from '../store/steps.ts';
import type { Store } from '../store/store.ts';
import { type Change, type ChangeMode, compareVisitor } from './comparison.ts';
import { dataOf, messagesTo } from './message.ts';
import { pruneOldMessages } from './old-messages.ts';
import { begunAgain, recounted, summaryOf } from './recount.ts';
import { bodyOf } from './standing.ts';

/** Interval between the starts of two sweeps over all visitors. */
export const sweepEveryMs = 600_000;
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

/** Whether rules or webhooks read scores. */
export function needsScores({ segments, webhooks }: KnownAccount): boolean {
	return readScores(segments) || webhooks.some((webhook) => wants(webhook, 'score.band.changed'));
}

/** The work of one process on an account that it holds. */
export class Round {
	readonly #options: EvaluatorOptions;
	readonly #account: KnownAccount;
	readonly #needsScores: boolean;
	#held: Held;
	#sequence: number;
	state: EvaluationState;
	/** Whether this round has swept some visitors. */
	hasSwept = false;

	constructor(options: EvaluatorOptions, account: KnownAccount, held: Held, state: EvaluationState) {
		this.#options = options;
		this.#account = account;
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
	async recount(madeFor: string, reason: Recount['reason'], nowMs: number): Promise<void> {
		const { state } = this;
		this.state = {
			...state,
			madeFor,
			...(reason === 'started' && { sinceMs: nowMs, logToMs: nowMs }),
			sweepAtMs: nowMs,
			sweepAfterId: 0,
			isSweepDone: false,
			recount: begunAgain(state.recount, reason),
		};
		await this.save([], nowMs);
	}

	/** Stores messages about uploads that conflicted with stored events. */
	async saveConflictMessages(nowMs: number): Promise<void> {
		const { store } = this.#options;
		const conflicts = await store.read(this.#account.id, waitingConflicts());
		if (conflicts.length === 0) return;
		const messages = conflicts.flatMap(({ atMs, requestId, tids }) =>
			this.#messages('subscription.conflict', { requestId, tids, receivedAt: isoTime(atMs) }, nowMs),
		);
		await this.save([], nowMs, { messages, conflictIds: conflicts.map(({ id }) => id) });
	}

	#read<T>(reading: Reading<T>): Promise<T> {
		return this.#options.store.read(this.#account.id, reading);
	}

	/** Evaluates visitors with new log entries. @returns whether all were evaluated */
	async followLog(seen: Map<string, number>, isOver: () => boolean): Promise<boolean> {
		for (let windowMs = minWindowMs; ; ) {
			const nowMs = Math.floor(this.#options.store.now());
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
				await this.#evaluate(visitors, 'send', nowMs);
				for (const [vid, atMs] of some) seen.set(vid, atMs);
				if (isOver()) return false;
			}
			this.state = { ...this.state, logToMs: Math.min(untilMs, nowMs) };
			if (seen.size > maxSeen) seen.clear();
			if (untilMs >= nowMs) {
				for (const [vid, atMs] of seen) if (atMs < fromMs) seen.delete(vid);
				return true;
			}
			if (isOver()) return false;
			windowMs = changed.size < fewVisitors ? 2 * windowMs : minWindowMs;
		}
	}

	/** Continues the sweep over all visitors, or starts one when it is due. */
	async sweep(isOver: () => boolean): Promise<void> {
		const nowMs = Math.floor(this.#options.store.now());
		if (this.state.isSweepDone) {
			if (Math.abs(nowMs - this.state.sweepAtMs) < sweepEveryMs) return;
			await pruneOldMessages(this.#options.store, this.#account.id, nowMs);
			this.state = { ...this.state, sweepAtMs: nowMs, sweepAfterId: 0, isSweepDone: false };
		}
		this.hasSwept = true;
		while (!this.state.isSweepDone && !isOver()) await this.#sweepPage(nowMs);
	}

	async #sweepPage(nowMs: number): Promise<void> {
		const mode = this.state.recount ? 'count' : 'send';
		const { visitors, lastId } = await this.#read(evaluatedPage(this.state.sweepAfterId, maxVisitors));
		this.state = { ...this.state, sweepAfterId: lastId ?? this.state.sweepAfterId };
		if (visitors.length > 0) {
			await this.#evaluate(visitors, mode, nowMs);
			return;
		}
		const gone = await this.#read(evaluatedWithoutVisitor(maxVisitors));
		if (gone.length > 0) await this.#evaluate(gone, mode, nowMs);
		else await this.#endSweep(nowMs);
	}

	async #endSweep(nowMs: number): Promise<void> {
		const { recount } = this.state;
		this.state = { ...this.state, isSweepDone: true, recount: null };
		if (!recount) return;
		const messages = this.#messages('segments.recomputed', summaryOf(recount), nowMs);
		await this.save([], nowMs, { messages });
	}

	async #evaluate(visitors: readonly EvaluatedVisitor[], mode: ChangeMode, nowMs: number): Promise<void> {
		const changes: Change[] = [];
		const { experiments } = this.#account;
		const persons =
			experiments.length === 0
				? new Map<string, JoinedPerson>()
				: await this.#read(personsOf(visitors.map(({ vid }) => vid)));
		for (const visitor of visitors) {
			const person = persons.get(visitor.vid)?.person ?? visitor.vid;
			const { change, standings } = await compareVisitor(visitor, {
				account: this.#account,
				state: this.state,
				mode,
				nowMs,
				heldOut: heldOutOf(experiments, person, nowMs),
				scoresOf: (profile) => this.#scoresOf(profile),
			});
			if (mode === 'count' && standings) this.#count(...standings);
			if (change) changes.push(change);
		}
		if (changes.length === 0) return;
		const notified = changes.filter(({ transitions }) => transitions.length > 0).map(({ vid }) => vid);
		const withCids = this.#account.webhooks.some(({ withCid }) => withCid);
		const cids = withCids ? await this.#read(customerIdsOf(notified)) : new Map<string, string>();
		await this.save(
			changes.map((change) => this.#toEvaluated(change, cids.get(change.vid) ?? null, nowMs)),
			nowMs,
		);
	}

	#scoresOf(profile: Profile): readonly GoalScore[] | Promise<readonly GoalScore[]> {
		return this.#needsScores ? this.#options.scorer.scores(this.#account, 'vid', profile, false) : [];
	}

	#count(before: Standing, after: Standing): void {
		const { recount } = this.state;
		if (recount) this.state = { ...this.state, recount: recounted(recount, before, after) };
	}

	/** Numbers the changes, equally in memberships and messages. */
	#toEvaluated(
		{ vid, before, after, isGone, transitions }: Change,
		cid: string | null,
		nowMs: number,
	): Evaluated {
		const sequences = new Map<string, number>();
		const messages = transitions.flatMap((transition) => {
			const sequence = this.#nextSequence(nowMs);
			if (transition.type === 'segment.entered') sequences.set(transition.segment, sequence);
			return messagesTo(this.#account.webhooks, {
				type: transition.type,
				aid: this.#account.aid,
				sequence,
				atMs: nowMs,
				subject: { vid, cid },
				data: dataOf(this.#account, transition, nowMs),
			});
		});
		return {
			vid,
			standing: isGone ? null : bodyOf(after),
			entered: [...after.segments]
				.filter((segment) => !before.segments.has(segment))
				.map((segment) => ({ segment, sequence: sequences.get(segment) ?? this.#nextSequence(nowMs) })),
			left: [...before.segments].filter((segment) => !after.segments.has(segment)),
			messages,
		};
	}

	#messages(
		type: 'subscription.conflict' | 'segments.recomputed',
		data: object,
		nowMs: number,
	): NewMessage[] {
		return messagesTo(this.#account.webhooks, {
			type,
			aid: this.#account.aid,
			sequence: this.#nextSequence(nowMs),
			atMs: nowMs,
			data: data as Readonly<Record<string, unknown>>,
		});
	}

	/** Increases with time, so that it also does after an older database was restored. */
	#nextSequence(nowMs: number): number {
		this.#sequence = Math.max(this.#sequence + 1, nowMs * 1000);
		return this.#sequence;
	}

	async save(
		visitors: readonly Evaluated[],
		nowMs: number,
		others: Partial<Pick<EvaluationStep, 'messages' | 'conflictIds'>> = {},
	): Promise<void> {
		const { store, onMessages } = this.#options;
		const state = { ...this.state, savedAtMs: nowMs };
		const step = {
			held: this.#held,
			sequence: this.#sequence,
			state,
			nowMs,
			visitors,
			messages: [],
			conflictIds: [],
			...others,
		};
		await store.transact(this.#account.id, () => saveEvaluation(step));
		this.#held = { ...this.#held, sequence: this.#sequence };
		this.state = state;
		if (step.messages.length > 0 || visitors.some(({ messages }) => messages.length > 0))
			onMessages(this.#account.id);
	}
}
