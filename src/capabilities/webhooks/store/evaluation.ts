import { arrivedBy } from '../../../core/domain/subscription-event.ts';
import { ConcurrentChangeError } from '../../../core/errors.ts';
import { lockVisitors } from '../../../core/store/account/profiles/stored-profiles.ts';
import {
	ask,
	type Query,
	type Reading,
	raw,
	type Steps,
	select,
	sql,
	values,
} from '../../../core/store/steps.ts';
import { insertMessages, type NewMessage } from './outbox.ts';

/** The progress of evaluating an account's visitors, and what it was based on. */
export interface EvaluationState {
	/** When evaluation began. Visitors from before are added without a message each. */
	readonly sinceMs: number;
	/** The log has been followed up to this moment. */
	readonly logToMs: number;
	readonly savedAtMs: number;
	/** The revision of the control database that this was based on. */
	readonly revision: number;
	/** Identifies the rules, goals and models that visitors were last compared with. */
	readonly madeFor: string;
	/** When the current sweep over all visitors began, and the id of the last visitor it has reached. */
	readonly sweepAtMs: number;
	readonly sweepAfterId: number;
	readonly isSweepDone: boolean;
	/** A sweep that counts changes instead of sending each; null if each is sent. */
	readonly recount: Recount | null;
}

export interface Recount {
	readonly reason: 'started' | 'changed';
	/** By segment: the number of members, and how many entered and left. */
	readonly segments: readonly (readonly [segment: string, count: SegmentCount])[];
	/** By goal: how many scores changed their band. */
	readonly bands: readonly (readonly [goal: string, changed: number])[];
}

export interface SegmentCount {
	readonly members: number;
	readonly entered: number;
	readonly left: number;
}

/** The process that holds an account's evaluation, and its progress. */
export interface HeldEvaluation {
	readonly holder: string;
	/** The last sequence number used. */
	readonly sequence: number;
	readonly state: EvaluationState;
}

const columns = raw('holder, sequence, state');

/**
 * Lets one process evaluate an account for a while.
 * @param isAlone whether no other process can evaluate it, so that a stored holder must be dead
 * @returns undefined if another process holds it
 */
export function* holdEvaluation(
	holder: string,
	nowMs: number,
	untilMs: number,
	{ begin, isAlone }: { begin: EvaluationState; isAlone: boolean },
): Steps<HeldEvaluation | undefined> {
	// The clock may have stepped back: then it is held until a time that is too far away.
	const [row] =
		yield* sql`UPDATE @evaluation SET holder = ${holder}, held_until = ${untilMs} WHERE name = 'webhooks' AND (${raw(isAlone ? '1 = 1' : '1 = 0')} OR holder = ${holder} OR held_until < ${nowMs} OR held_until > ${2 * untilMs - nowMs}) RETURNING ${columns} /* hold evaluation */`;
	if (row) return toHeld(row);
	const begun = [['webhooks', holder, untilMs, 0, JSON.stringify(begin)]];
	const [made] =
		yield* sql`INSERT INTO @evaluation (name, holder, held_until, sequence, state) ${values(begun)} ON CONFLICT (name) DO NOTHING RETURNING ${columns} /* begin evaluation */`;
	return made && toHeld(made);
}

/** The progress of the evaluation; undefined before the first. */
export function* evaluation(): Reading<HeldEvaluation | undefined> {
	const [row] = yield* select`${columns} FROM @evaluation WHERE name = 'webhooks' /* evaluation */`;
	return row && toHeld(row);
}

function toHeld({ holder, sequence, state }: Readonly<Record<string, unknown>>): HeldEvaluation {
	return { holder: String(holder), sequence: Number(sequence), state: JSON.parse(String(state)) };
}

/** Lets other processes evaluate. */
export function* releaseEvaluation(holder: string): Steps<void> {
	yield* sql`UPDATE @evaluation SET held_until = 0 WHERE name = 'webhooks' AND holder = ${holder} /* release evaluation */`;
}

/** The result for a visitor. */
export interface EvaluationResult {
	readonly vid: string;
	/** Stored bands and goals; null if the visitor is gone. */
	readonly standing: string | null;
	readonly entered: readonly { readonly segment: string; readonly sequence: number }[];
	readonly left: readonly string[];
	readonly messages: readonly NewMessage[];
}

/** A step of the evaluation, stored at once. */
export interface EvaluationStep {
	readonly held: HeldEvaluation;
	readonly sequence: number;
	readonly state: EvaluationState;
	readonly nowMs: number;
	readonly visitors: readonly EvaluationResult[];
	/** Messages that are not about a visitor. */
	readonly messages: readonly NewMessage[];
	/** Conflicts that have become messages. */
	readonly conflictIds: readonly number[];
}

/**
 * Stores memberships, messages and the progress, all or nothing. Ignores visitors who were erased meanwhile.
 * @throws ConcurrentChangeError where another process has continued
 */
export function* saveEvaluation(step: EvaluationStep): Steps<void> {
	const { held, sequence, state, nowMs, conflictIds } = step;
	const [row] =
		yield* sql`SELECT holder, sequence FROM @evaluation WHERE name = 'webhooks' FOR UPDATE /* save evaluation */`;
	if (!row || row.holder !== held.holder || Number(row.sequence) !== held.sequence)
		throw new ConcurrentChangeError('another process evaluates');
	const [gone, kept] = [true, false].map((isGone) =>
		step.visitors.filter(({ standing }) => (standing === null) === isGone).map(({ vid }) => vid),
	) as [string[], string[]];
	// Locked or deleted here, so that no erasure misses what is written here.
	const { there, removed } = yield* ask({
		there: lockVisitors(kept),
		removed: sql`DELETE FROM @standing WHERE vid IN ${gone} RETURNING vid /* gone */`,
	});
	const present = new Set([...there, ...removed].map(({ vid }) => vid));
	const visitors = step.visitors.filter(({ vid }) => present.has(vid));
	const leftNow = visitors.flatMap(({ vid, left }) => left.map((segment) => [vid, segment]));
	const enteredNow = visitors.flatMap(({ vid, entered }) =>
		entered.map((membership) => [vid, membership.segment, nowMs, membership.sequence]),
	);
	const standings = visitors.flatMap(({ vid, standing }) => (standing === null ? [] : [[vid, standing]]));
	yield [
		sql`DELETE FROM @membership WHERE (vid, segment) IN (SELECT column1, column2 FROM (${values(leftNow)}) AS list) /* left */`,
		sql`INSERT INTO @membership (vid, segment, since, sequence) ${values(enteredNow)} ON CONFLICT (vid, segment) DO NOTHING /* entered */`,
		sql`INSERT INTO @standing (vid, body) ${values(standings)} ON CONFLICT (vid) DO UPDATE SET body = excluded.body /* standing */`,
		insertMessages([...visitors.flatMap(({ messages }) => messages), ...step.messages], nowMs),
		sql`DELETE FROM @conflict WHERE id IN (SELECT CAST(column1 AS bigint) FROM (${values(conflictIds.map((id) => [id]))}) AS list) /* told */`,
		sql`UPDATE @evaluation SET sequence = ${sequence}, state = ${JSON.stringify(state)} WHERE name = 'webhooks' /* save evaluation */`,
	];
}

/** Deletes what webhooks know about a visitor. */
export function forgetVisitor(vid: string): Query[] {
	return ['membership', 'standing', 'served_score'].map(
		(table) => sql`DELETE FROM @${raw(table)} WHERE vid = ${vid} /* erase */`,
	);
}

/** An upload that repeated `tid`s with different content. */
export interface Conflict {
	readonly id: number;
	readonly atMs: number;
	readonly requestId: string | null;
	readonly tids: readonly string[];
}

const maxConflicts = 200;

/** Conflicts without a message so far, in order of arrival. */
export function* waitingConflicts(): Reading<Conflict[]> {
	const rows =
		yield* select`id, at, request_id, tids FROM @conflict ORDER BY id LIMIT ${raw(maxConflicts)} /* conflicts */`;
	return rows.map((row) => ({
		id: Number(row.id),
		atMs: Number(row.at),
		requestId: arrivedBy(row.request_id).requestId,
		tids: JSON.parse(String(row.tids)),
	}));
}
