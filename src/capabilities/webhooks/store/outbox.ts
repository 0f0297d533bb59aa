import { isoTime } from '../../../core/format/iso-time.ts';
import {
	type Query,
	type Reading,
	type Row,
	raw,
	rowsOf,
	type Steps,
	select,
	sql,
	values,
} from '../../../core/store/steps.ts';
import type { MessageType } from '../domain/webhook.ts';

/** A process that has taken a message sends it within this time, or another one does. */
export const messageLeaseMs = 30_000;

export interface NewMessage {
	readonly webhook: string;
	readonly sequence: number;
	readonly type: MessageType;
	/** The visitor it is about; erasing the visitor deletes it. */
	readonly vid: string | null;
	/** JSON, as sent. */
	readonly body: string;
}

/** A message to send now. */
export interface DueMessage {
	readonly webhook: string;
	readonly sequence: number;
	readonly body: string;
	readonly createdAtMs: number;
	/** Including this one. */
	readonly attempts: number;
}

/** The outcome of an attempt. */
export interface DeliveryAttempt {
	readonly webhook: string;
	readonly sequence: number;
	readonly atMs: number;
	/** The answer's status; null if there was none. */
	readonly status: number | null;
	/** Why it failed; null if it was delivered. */
	readonly problem: string | null;
	/** When the next attempt is due; null if there is none. */
	readonly dueAtMs: number | null;
}

/** A message as commands show it. Times are ISO 8601, UTC. */
export interface Delivery {
	readonly id: string;
	readonly webhook: string;
	readonly type: string;
	readonly createdAt: string;
	readonly state: 'delivered' | 'waiting' | 'failed';
	readonly attempts: number;
	readonly attemptedAt: string | null;
	readonly status: number | null;
	readonly problem: string | null;
	readonly nextAttemptAt: string | null;
}

/** The id that receivers see; the same for every attempt. */
export function messageId({ webhook, sequence }: Pick<NewMessage, 'webhook' | 'sequence'>): string {
	return `msg_${webhook.replace(/^wh_/, '')}_${sequence}`;
}

/** Adds messages, which are due at once. @param done.attempts how often they were attempted */
export function insertMessages(
	messages: readonly NewMessage[],
	nowMs: number,
	done: { readonly attempts: number } = { attempts: 0 },
): Query {
	const rows = messages.map(({ webhook, sequence, type, vid, body }) => [
		...[webhook, sequence, type, vid, body],
		...[nowMs, nowMs, done.attempts],
	]);
	return sql`INSERT INTO @outbox (webhook, sequence, type, vid, body, created_at, due_at, attempts) ${values(rows)} /* add messages */`;
}

/**
 * Takes due messages of a webhook. Until `leaseMs` no other process takes them; if this one dies, another one takes
 * them then.
 */
export function* takeDue(
	webhook: string,
	{ nowMs, leaseMs, limit }: { nowMs: number; leaseMs: number; limit: number },
): Steps<DueMessage[]> {
	const rows =
		yield* sql`UPDATE @outbox SET due_at = ${leaseMs}, attempts = attempts + 1, problem = NULL WHERE webhook = ${webhook} AND sequence IN (SELECT sequence FROM @outbox WHERE webhook = ${webhook} AND due_at <= ${nowMs} ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED) RETURNING sequence, body, created_at, attempts /* take due */`;
	return rows
		.map((row) => ({
			webhook,
			sequence: Number(row.sequence),
			body: String(row.body),
			createdAtMs: Number(row.created_at),
			attempts: Number(row.attempts),
		}))
		.sort((a, b) => a.sequence - b.sequence);
}

/** Until when a message about a visitor may be under way: a process has taken it, and not stored the outcome. 0 if none is. */
export function* messagesUnderWay(vid: string): Reading<number> {
	return underWayUntil(
		yield* select`due_at, attempts, problem FROM @outbox WHERE vid = ${vid} /* messages about */`,
	);
}

/** Deletes the messages, and gives what `underWayUntil` asks for. */
export function deleteMessagesAbout(vid: string): Query {
	return sql`DELETE FROM @outbox WHERE vid = ${vid} RETURNING due_at, attempts, problem /* erase */`;
}

/** Until when one of these messages may be under way; 0 if none is. */
export function underWayUntil(messages: readonly Row[]): number {
	const taken = messages.filter(({ attempts, problem }) => Number(attempts) > 0 && problem === null);
	return Math.max(0, ...taken.map(({ due_at }) => Number(due_at)));
}

/** Stores the outcomes of attempts. Ignores messages that were erased meanwhile. */
export function* saveAttempts(attempts: readonly DeliveryAttempt[]): Steps<void> {
	const rows = attempts.map(({ webhook, sequence, atMs, status, problem, dueAtMs }) => [
		...[webhook, sequence, atMs, status, problem, dueAtMs],
		problem === null ? atMs : null,
	]);
	yield* sql`UPDATE @outbox AS outbox SET
				attempted_at = CAST(done.column3 AS bigint), status = CAST(done.column4 AS bigint), problem = CAST(done.column5 AS text),
				due_at = CAST(done.column6 AS bigint), delivered_at = CAST(done.column7 AS bigint)
				FROM (${values(rows)}) AS done WHERE outbox.webhook = done.column1 AND outbox.sequence = CAST(done.column2 AS bigint) /* save attempts */`;
}

/** Returns messages that were taken and not sent. */
export function* giveBack(messages: readonly DueMessage[], nowMs: number): Steps<void> {
	const rows = messages.map(({ webhook, sequence }) => [webhook, sequence]);
	yield* sql`UPDATE @outbox AS outbox SET due_at = ${nowMs}, attempts = attempts - 1
				FROM (${values(rows)}) AS taken WHERE outbox.webhook = taken.column1 AND outbox.sequence = CAST(taken.column2 AS bigint) AND outbox.due_at IS NOT NULL /* give back */`;
}

/** How many messages wait to be delivered. */
export function* countMessages(): Reading<number> {
	const [row] = yield* select`count(*) AS number FROM @outbox WHERE due_at IS NOT NULL /* count messages */`;
	return Number(row?.number);
}

/** When the next message of each webhook is due, by its id. Webhooks without messages are left out. */
export function* nextDue(webhooks: readonly string[]): Reading<Map<string, number>> {
	const rows =
		yield* select`key, (SELECT min(due_at) FROM @outbox AS outbox WHERE outbox.webhook = list.key AND due_at IS NOT NULL) AS due_at FROM ${webhooks} AS list /* next due */`;
	return new Map(
		rows.flatMap(({ key, due_at }) => (due_at === null ? [] : [[String(key), Number(due_at)] as const])),
	);
}

/** Rows per transaction of whatever changes many. */
const pageRows = 500;

/** Deletes messages older than a moment. @returns how many; 0 at the end */
export function* pruneMessages(beforeMs: number): Steps<number> {
	const rows =
		yield* sql`DELETE FROM @outbox WHERE (webhook, sequence) IN (SELECT webhook, sequence FROM @outbox WHERE created_at < ${beforeMs} ORDER BY created_at LIMIT ${raw(pageRows)}) RETURNING sequence /* prune messages */`;
	return rows.length;
}

/** Messages, latest first. @param filter.webhook only of this webhook */
export function* deliveries(filter: {
	readonly webhook: string | undefined;
	readonly failed: boolean;
	readonly limit: number;
}): Reading<Delivery[]> {
	const conditions = [
		...(filter.webhook === undefined ? [] : ['webhook = ?']),
		...(filter.failed ? ['delivered_at IS NULL AND attempted_at IS NOT NULL'] : []),
	];
	const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
	const rows = yield* rowsOf([
		{
			sql: `SELECT webhook, sequence, type, created_at, due_at, attempts, attempted_at, delivered_at, status, problem FROM @outbox ${where} ORDER BY created_at DESC, sequence DESC, webhook LIMIT ? /* deliveries */`,
			values: [...(filter.webhook === undefined ? [] : [filter.webhook]), filter.limit],
		},
	]);
	return rows.map(toDelivery);
}

function toDelivery(row: Row): Delivery {
	const state = row.delivered_at !== null ? 'delivered' : row.due_at !== null ? 'waiting' : 'failed';
	return {
		id: messageId({ webhook: String(row.webhook), sequence: Number(row.sequence) }),
		webhook: String(row.webhook),
		type: String(row.type),
		createdAt: isoTime(Number(row.created_at)),
		state,
		attempts: Number(row.attempts),
		attemptedAt: isoTime(numberOrNull(row.attempted_at)),
		status: numberOrNull(row.status),
		problem: row.problem === null ? null : String(row.problem),
		nextAttemptAt: isoTime(numberOrNull(row.due_at)),
	};
}

function numberOrNull(value: Row[string] | undefined): number | null {
	return value === null || value === undefined ? null : Number(value);
}

/**
 * Queues a page of the messages since a moment again, delivered or not, in the order of their sequence.
 * @returns their number, and the last sequence; undefined at the end
 */
export function* replayPage(
	webhook: string,
	{ sinceMs, nowMs, after }: { sinceMs: number; nowMs: number; after: number },
): Steps<{ count: number; last: number | undefined }> {
	const rows =
		yield* sql`UPDATE @outbox SET due_at = ${nowMs}, delivered_at = NULL, attempts = 0 WHERE webhook = ${webhook} AND sequence IN (SELECT sequence FROM @outbox WHERE webhook = ${webhook} AND sequence > ${after} AND created_at >= ${sinceMs} ORDER BY sequence LIMIT ${raw(pageRows)}) RETURNING sequence /* replay */`;
	const last = Math.max(...rows.map(({ sequence }) => Number(sequence)));
	return { count: rows.length, last: rows.length === pageRows ? last : undefined };
}

/** Deletes a page of a webhook's messages. @returns how many; 0 at the end */
export function* deletePage(webhook: string): Steps<number> {
	const rows =
		yield* sql`DELETE FROM @outbox WHERE webhook = ${webhook} AND sequence IN (SELECT sequence FROM @outbox WHERE webhook = ${webhook} ORDER BY sequence LIMIT ${raw(pageRows)}) RETURNING sequence /* delete messages */`;
	return rows.length;
}
