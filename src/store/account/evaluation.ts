import type { Arrival, SubscriptionEvent } from '../../domain/subscription-event.ts';
import { ConcurrentChangeError } from '../../errors.ts';
import type { Query, Steps } from '../steps.ts';
import { insertMessages, type NewMessage } from './outbox.ts';
import { lockVisitors } from './visitor-log.ts';

/** How far the evaluation of an account's visitors has come, and by what it was done. */
export interface EvaluationState {
	/** When it began. Visitors from before are taken in without a message each. */
	readonly sinceMs: number;
	/** Up to when the log has been followed. */
	readonly logToMs: number;
	readonly savedAtMs: number;
	/** Of the control database that whoever saved this knew. */
	readonly revision: number;
	/** What visitors were compared with last: rules, goals and models. */
	readonly madeFor: string;
	/** When the current sweep over all visitors began; the id of the last one it has come to. */
	readonly sweepAtMs: number;
	readonly sweepAfterId: number;
	readonly isSweepDone: boolean;
	/** A sweep that counts changes instead of telling each; null where the sweep tells each. */
	readonly recount: Recount | null;
}

export interface Recount {
	readonly reason: 'started' | 'changed';
	/** By segment: how many are in it, and how many have come and gone. */
	readonly segments: Readonly<Record<string, SegmentCount>>;
	/** By goal: how many scores have another band. */
	readonly bands: Readonly<Record<string, number>>;
}

export interface SegmentCount {
	readonly members: number;
	readonly entered: number;
	readonly left: number;
}

/** The process that holds an account's evaluation, and where it is. */
export interface Held {
	readonly holder: string;
	/** The last that was given out. */
	readonly sequence: number;
	readonly state: EvaluationState;
}

const columns = 'holder, sequence, state';

/**
 * Lets one process evaluate an account for a while.
 * @param isAlone no other process can, whatever the row says: it is of one that is dead
 * @returns undefined where another does it
 */
export function* holdEvaluation(
	holder: string,
	nowMs: number,
	untilMs: number,
	{ begin, isAlone }: { begin: EvaluationState; isAlone: boolean },
): Steps<Held | undefined> {
	const free = isAlone ? '' : 'AND (holder = ? OR held_until < ?)';
	const [[row] = []] = yield [
		{
			sql: `UPDATE @evaluation SET holder = ?, held_until = ? WHERE name = 'webhooks' ${free} RETURNING ${columns} /* hold evaluation */`,
			values: [holder, untilMs, ...(isAlone ? [] : [holder, nowMs])],
		},
	];
	if (row) return toHeld(row);
	const [[made] = []] = yield [
		{
			sql: `INSERT INTO @evaluation (name, holder, held_until, sequence, state) ?rows ON CONFLICT (name) DO NOTHING RETURNING ${columns} /* begin evaluation */`,
			rows: [['webhooks', holder, untilMs, 0, JSON.stringify(begin)]],
		},
	];
	return made && toHeld(made);
}

/** Where the evaluation is; undefined where there was none yet. */
export function* evaluation(): Steps<Held | undefined> {
	const [[row] = []] = yield [
		{ sql: `SELECT ${columns} FROM @evaluation WHERE name = 'webhooks' /* evaluation */` },
	];
	return row && toHeld(row);
}

function toHeld({ holder, sequence, state }: Readonly<Record<string, unknown>>): Held {
	return { holder: String(holder), sequence: Number(sequence), state: JSON.parse(String(state)) };
}

/** Lets others evaluate. */
export function* releaseEvaluation(holder: string): Steps<void> {
	yield [
		{
			sql: "UPDATE @evaluation SET held_until = 0 WHERE name = 'webhooks' AND holder = ? /* release evaluation */",
			values: [holder],
		},
	];
}

/** What has become of some visitors. */
export interface Evaluated {
	readonly vid: string;
	/** What is stored of bands and goals; null where nothing is kept, because the visitor is gone. */
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
	/** Of no visitor. */
	readonly messages: readonly NewMessage[];
	/** Conflicts that are told of. */
	readonly conflictIds: readonly number[];
}

/**
 * Stores memberships, messages and how far the evaluation has come, all or nothing. A visitor that was erased meanwhile is
 * left out.
 * @throws ConcurrentChangeError where another process has gone on
 */
export function* saveEvaluation(step: EvaluationStep): Steps<void> {
	const { held, sequence, state, nowMs, conflictIds } = step;
	const [[row] = []] = yield [
		{
			sql: "SELECT holder, sequence FROM @evaluation WHERE name = 'webhooks' FOR UPDATE /* save evaluation */",
		},
	];
	if (!row || row.holder !== held.holder || Number(row.sequence) !== held.sequence)
		throw new ConcurrentChangeError('another process evaluates');
	const kept = step.visitors.filter(({ standing }) => standing !== null).map(({ vid }) => vid);
	// Locked, so that no erasure misses what is written here.
	const [there = []] = yield [lockVisitors(kept)];
	const present = new Set(there.map(({ vid }) => vid));
	const visitors = step.visitors.filter(({ vid, standing }) => standing === null || present.has(vid));
	const gone = visitors.filter(({ standing }) => standing === null).map(({ vid }) => vid);
	const left = visitors.flatMap(({ vid, left }) => left.map((segment) => [vid, segment]));
	yield [
		{
			sql: 'DELETE FROM @membership WHERE (vid, segment) IN (SELECT column1, column2 FROM (?rows) AS list) /* left */',
			rows: left,
		},
		{ sql: 'DELETE FROM @standing WHERE vid IN ?list /* gone */', values: [gone] },
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
		{
			sql: "UPDATE @evaluation SET sequence = ?, state = ? WHERE name = 'webhooks' /* save evaluation */",
			values: [sequence, JSON.stringify(state)],
		},
	];
}

/** Removes what webhooks know of a visitor and what waits to be sent of it. */
export function forgetVisitor(vid: string): Query[] {
	return ['membership', 'standing', 'outbox'].map((table) => ({
		sql: `DELETE FROM @${table} WHERE vid = ? /* erase */`,
		values: [vid],
	}));
}

/** An upload that repeated `tid`s with other content. */
export interface Conflict {
	readonly id: number;
	readonly atMs: number;
	readonly requestId: string | null;
	readonly tids: readonly string[];
}

/** Remembers the conflicts of an upload until webhooks are told. Empty where there are none. */
export function addConflicts(
	events: readonly SubscriptionEvent[],
	rows: readonly number[],
	{ receivedAtMs, requestId }: Arrival,
): Query {
	const tids = [...new Set(rows.map((row) => events[row]?.tid))];
	return {
		sql: 'INSERT INTO @conflict (at, request_id, tids) ?rows /* conflicts */',
		rows: tids.length === 0 ? [] : [[receivedAtMs, requestId ?? null, JSON.stringify(tids)]],
	};
}

const maxConflicts = 200;

/** Conflicts that nobody was told of yet, in order of arrival. */
export function* waitingConflicts(): Steps<Conflict[]> {
	const [rows = []] = yield [
		{
			sql: `SELECT id, at, request_id, tids FROM @conflict ORDER BY id LIMIT ${maxConflicts} /* conflicts */`,
		},
	];
	return rows.map((row) => ({
		id: Number(row.id),
		atMs: Number(row.at),
		requestId: row.request_id === null ? null : String(row.request_id),
		tids: JSON.parse(String(row.tids)),
	}));
}
