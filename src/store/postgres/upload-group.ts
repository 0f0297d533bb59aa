import type pg from 'pg';
import {
	type StoredEvent,
	type SubscriptionEvent,
	storedEvent,
	storedEventColumns,
	subscriptionEventFields,
} from '../../domain/subscription-event.ts';
import { StorageError } from '../../errors.ts';
import { eventKeys, holdersOf, ownersOf } from '../account/identity-links.ts';
import { joinEvents } from '../account/visitor-log.ts';
import type { Upload, UploadOutcome } from '../store.ts';
import { duplicateRowsOf, outcomeOf } from '../upload-outcome.ts';
import { beginWriting, commit, isRolledBack, together } from './connection.ts';
import { runQuery, runSteps } from './run-steps.ts';

/** An upload that waits to be stored. */
export interface WaitingUpload {
	readonly upload: Upload;
	/** By `monotonicMs()`. */
	readonly deadlineMs: number;
	/** Tries to win the request's one decision for the commit; false where the deadline has won it. */
	readonly tryCommit: () => boolean;
	readonly isCommitting: () => boolean;
	/** Whether the deadline has won. */
	readonly isExpired: () => boolean;
	readonly resolve: (outcome: UploadOutcome | 'expired') => void;
	readonly reject: (error: Error) => void;
}

/** Whether a COMMIT was carried out is not known: whether the `outcomes` came true must be read back. */
export class CommitLostError extends Error {
	readonly outcomes: UploadOutcome[];
	/** Of the group's events, those that are stored if the transaction was committed. */
	readonly fresh: readonly StoredEvent[];

	constructor(outcomes: UploadOutcome[], fresh: readonly StoredEvent[], cause: unknown) {
		super('a COMMIT whose outcome is not known', { cause });
		this.name = 'CommitLostError';
		this.outcomes = outcomes;
		this.fresh = fresh;
	}
}

/** A server answers BEGIN at once, whatever its tables are locked by; one that is silent for so long is gone. */
const silenceMs = 1000;
/** How long after its last deadline a group's server may still be silent before its connection is cut. */
const graceMs = 250;
/** How long a COMMIT may take before its connection is cut and its outcome read back. */
const commitMs = 2000;

const columns = storedEventColumns.length;

/** PostgreSQL takes at most 65,535 parameters in one statement. */
export const maxRows = Math.floor(65_535 / columns);

/**
 * Stores the uploads of one account in one transaction, in two round trips: BEGIN, the timeout and the rows; then,
 * when every request has decided against its deadline, COMMIT.
 * @param timeoutMs after it the server gives up by itself
 * @returns an outcome for each upload; `again` where one had expired and all was rolled back
 * @throws CommitLostError, StorageError
 */
export async function storeGroup(
	client: pg.PoolClient,
	schema: string,
	group: readonly WaitingUpload[],
	timeoutMs: number,
	simulate: boolean,
): Promise<UploadOutcome[] | 'again'> {
	const table = tableOf(schema);
	const rows = group.flatMap(({ upload }) => upload.events.map((event) => storedEvent(event, upload)));
	// Asked in the round trip that stores the rows, under locks that no claim to their keys is made meanwhile.
	const [inserted, holders] = await together([
		insert(client, schema, rows, timeoutMs),
		runQuery(client, schema, holdersOf(rows)),
	]);
	const stored = new Set(inserted);
	const fresh = rows.filter(({ tid }) => stored.has(tid));
	const events = firstOfEach(fresh);
	// Of the events that are stored alone: one that repeats a tid may have another cid.
	const owners = ownersOf(events, holders);
	if (owners.size > 0) await runSteps(client, schema, joinEvents(events, owners));
	const outcomes = await outcomesOf(client, table, group, stored);
	// Asked before any is decided, so that one that has expired does not undo what others were promised.
	if (group.some((waiting) => waiting.isExpired())) {
		await client.query('ROLLBACK');
		return 'again';
	}
	const committing = group.filter((waiting) => waiting.tryCommit());
	if (committing.length < group.length) throw new StorageError('a deadline was decided twice');
	if (simulate) {
		await client.query('ROLLBACK');
		return outcomes;
	}
	try {
		await commit(client, commitMs);
	} catch (error) {
		if (isRolledBack(error)) throw error;
		// Where nothing was new, nothing can have been lost.
		if (fresh.length === 0) return outcomes;
		throw new CommitLostError(outcomes, fresh, error);
	}
	return outcomes;
}

/**
 * Finds out whether a transaction whose COMMIT was never answered has stored its events: tries to store them again,
 * which waits until that transaction is decided, and undoes it. Neither a crash nor a failover of the server in
 * between can mislead this, as they can a look at the transaction's number, which may be given to another then.
 */
export async function isStored(
	client: pg.PoolClient,
	schema: string,
	fresh: readonly StoredEvent[],
	timeoutMs: number,
): Promise<boolean> {
	const missing = await insert(client, schema, fresh, timeoutMs);
	await client.query('ROLLBACK');
	return missing.length === 0;
}

/** Begins a transaction, locks keys, and stores what is new. @returns the tids that were */
async function insert(
	client: pg.PoolClient,
	schema: string,
	rows: readonly StoredEvent[],
	timeoutMs: number,
): Promise<string[]> {
	const text = `INSERT INTO ${tableOf(schema)} (${storedEventColumns.join(', ')}) VALUES ${placeholders(rows.length)} ON CONFLICT (tid) DO NOTHING RETURNING tid /* store uploads */`;
	const values = rows.flatMap((row) => storedEventColumns.map((column) => row[column]));
	const minMs = Math.max(1, Math.ceil(timeoutMs));
	const [, , , inserted] = await together([
		client.query(limited(beginWriting, silenceMs)),
		client.query(limited(`SET LOCAL statement_timeout = ${minMs}`, silenceMs)),
		runQuery(client, schema, { lock: 'shared', keys: eventKeys(rows) }),
		client.query<{ tid: string }>(limited(text, minMs + graceMs, values)),
	]);
	return inserted.rows.map(({ tid }) => tid);
}

/** A statement whose connection is cut when it is not answered in time. */
function limited(text: string, query_timeout: number, values?: unknown[]): pg.QueryConfig {
	const statement = { text, query_timeout };
	return values ? { ...statement, values } : statement;
}

/** Events as they were stored: of several with the same tid the first. */
function firstOfEach(fresh: readonly StoredEvent[]): StoredEvent[] {
	const rows = new Map<string, StoredEvent>();
	for (const row of fresh) if (!rows.has(row.tid)) rows.set(row.tid, row);
	return [...rows.values()];
}

function tableOf(schema: string): string {
	return `"${schema}".subscription_event`;
}

const placeholderTexts = new Map<number, string>();

function placeholders(rows: number): string {
	let text = placeholderTexts.get(rows);
	if (text === undefined) {
		text = Array.from({ length: rows }, (_, row) => {
			const numbers = Array.from({ length: columns }, (_, column) => `$${row * columns + column + 1}`);
			return `(${numbers.join(', ')})`;
		}).join(', ');
		// Groups have few different sizes; should they not, the map must not grow for ever.
		if (placeholderTexts.size > 500) placeholderTexts.clear();
		placeholderTexts.set(rows, text);
	}
	return text;
}

/**
 * The outcome of each upload. A new tid belongs to the first of the group that has it. Repeats are compared with what is
 * stored; only where there are any, since it costs a round trip.
 */
async function outcomesOf(
	client: pg.PoolClient,
	table: string,
	group: readonly WaitingUpload[],
	tids: ReadonlySet<string>,
): Promise<UploadOutcome[]> {
	const fresh = new Set(tids);
	const counted = group.map(({ upload: { events } }) => ({ events, rows: duplicateRowsOf(events, fresh) }));
	const repeated = counted.flatMap(({ events, rows }) => rows.map((row) => events[row]?.tid));
	const stored = new Map<string, SubscriptionEvent>();
	if (repeated.length > 0) {
		const found = await client.query<SubscriptionEvent>(
			`SELECT ${subscriptionEventFields.join(', ')} FROM ${table} WHERE tid = ANY($1) /* find conflicts */`,
			[repeated],
		);
		for (const row of found.rows) stored.set(row.tid, row);
	}
	return counted.map(({ events, rows }) => outcomeOf(events, rows, (tid) => stored.get(tid)));
}
