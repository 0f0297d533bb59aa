import { arrivedBy, type StoredEvent } from '../../../domain/subscription-event.ts';
import { ConcurrentChangeError } from '../../../errors.ts';
import { ask, type Query, type Reading, raw, rowsOf, type Steps, select, sql } from '../../steps.ts';
import { lockVisitors } from '../profiles/stored-profiles.ts';
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
export interface Held {
	readonly holder: string;
	/** The last sequence number used. */
	readonly sequence: number;
	readonly state: EvaluationState;
}

const columns = 'holder, sequence, state';

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
): Steps<Held | undefined> {
	// The clock may have stepped back: then it is held until a time that is too far away.
	const free = isAlone ? '' : 'AND (holder = ? OR held_until < ? OR held_until > ?)';
	const [row] = yield* rowsOf({
		sql: `UPDATE @evaluation SET holder = ?, held_until = ? WHERE name = 'webhooks' ${free} RETURNING ${columns} /* hold evaluation */`,
		values: [holder, untilMs, ...(isAlone ? [] : [holder, nowMs, 2 * untilMs - nowMs])],
	});
	if (row) return toHeld(row);
	const [made] = yield* rowsOf({
		sql: `INSERT INTO @evaluation (name, holder, held_until, sequence, state) ?rows ON CONFLICT (name) DO NOTHING RETURNING ${columns} /* begin evaluation */`,
		rows: [['webhooks', holder, untilMs, 0, JSON.stringify(begin)]],
	});
	return made && toHeld(made);
}

/** The progress of the evaluation; undefined before the first. */
export function* evaluation(): Reading<Held | undefined> {
	const [row] = yield* select`${raw(columns)} FROM @evaluation WHERE name = 'webhooks' /* evaluation */`;
	return row && toHeld(row);
}

function toHeld({ holder, sequence, state }: Readonly<Record<string, unknown>>): Held {
	return { holder: String(holder), sequence: Number(sequence), state: JSON.parse(String(state)) };
}

/** Lets other processes evaluate. */
export function* releaseEvaluation(holder: string): Steps<void> {
	yield* sql`UPDATE @evaluation SET held_until = 0 WHERE name = 'webhooks' AND holder = ${holder} /* release evaluation */`;
}

/** The result for a visitor. */
export interface Evaluated {
	readonly vid: string;
	/** Stored bands and goals; null if the visitor is gone. */
	readonly standing: string | null;
	readonly entered: readonly { readonly segment: string; readonly sequence: number }[];
	readonly left: readonly string[];
	readonly messages: readonly NewMessage[];
}

/** A step of the evaluation, stored at once. */
export interface EvaluationStep {
	readonly held: Held;
	readonly sequence: number;
	readonly state: EvaluationState;
	readonly nowMs: number;
	readonly visitors: readonly Evaluated[];
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
	const { there, left } = yield* ask({
		there: lockVisitors(kept),
		left: sql`DELETE FROM @standing WHERE vid IN ${gone} RETURNING vid /* gone */`,
	});
	const present = new Set([...there, ...left].map(({ vid }) => vid));
	const visitors = step.visitors.filter(({ vid }) => present.has(vid));
	yield [
		{
			sql: 'DELETE FROM @membership WHERE (vid, segment) IN (SELECT column1, column2 FROM (?rows) AS list) /* left */',
			rows: visitors.flatMap(({ vid, left: segments }) => segments.map((segment) => [vid, segment])),
		},
		{
			sql: 'INSERT INTO @membership (vid, segment, since, sequence) ?rows ON CONFLICT (vid, segment) DO NOTHING /* entered */',
			rows: visitors.flatMap(({ vid, entered }) =>
				entered.map(({ segment, sequence: number }) => [vid, segment, nowMs, number]),
			),
		},
		{
			sql: 'INSERT INTO @standing (vid, body) ?rows ON CONFLICT (vid) DO UPDATE SET body = excluded.body /* standing */',
			rows: visitors.flatMap(({ vid, standing }) => (standing === null ? [] : [[vid, standing]])),
		},
		insertMessages([...visitors.flatMap(({ messages }) => messages), ...step.messages], nowMs),
		{
			sql: 'DELETE FROM @conflict WHERE id IN (SELECT CAST(column1 AS bigint) FROM (?rows) AS list) /* told */',
			rows: conflictIds.map((id) => [id]),
		},
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

/** Stores the conflicts of an upload until webhooks are notified. Empty if there are none. */
export function addConflicts(events: readonly StoredEvent[], rows: readonly number[]): Query {
	const [first] = events;
	const tids = [...new Set(rows.map((row) => events[row]?.tid))];
	return {
		sql: 'INSERT INTO @conflict (at, request_id, tids) ?rows /* conflicts */',
		rows: first && tids.length > 0 ? [[first.received_at, first.request_id, JSON.stringify(tids)]] : [],
	};
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
