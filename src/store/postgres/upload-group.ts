import type pg from 'pg';
import { StorageError, type SubscriptionEvent, type Upload, type UploadOutcome } from '../store.ts';
import { accountSchema } from './connection.ts';

/** An upload that waits to be stored. */
export interface WaitingUpload {
	readonly upload: Upload;
	/** By `monotonicMs()`. */
	readonly deadlineMs: number;
	/** Tries to win the request's one decision for the commit; false where the deadline has won it. */
	readonly tryCommit: () => boolean;
	/** Whether the deadline has won. */
	readonly isExpired: () => boolean;
	readonly resolve: (outcome: UploadOutcome | 'expired') => void;
	readonly reject: (error: Error) => void;
}

/** The connection was lost during COMMIT; `transactionId` tells whether the `outcomes` came true. */
export class CommitLostError extends Error {
	readonly transactionId: string;
	readonly outcomes: UploadOutcome[];

	constructor(transactionId: string, outcomes: UploadOutcome[], cause: unknown) {
		super('the connection was lost during COMMIT', { cause });
		this.name = 'CommitLostError';
		this.transactionId = transactionId;
		this.outcomes = outcomes;
	}
}

const columns = 6;

/** PostgreSQL takes at most 65,535 parameters in one statement. */
export const mostRows = Math.floor(65_535 / columns);

/**
 * Stores the uploads of one account in one transaction, in two round trips: BEGIN, the timeout and the rows; then,
 * when every request has decided against its deadline, COMMIT.
 * @param timeoutMs after it the server gives up by itself
 * @returns an outcome for each upload; `again` where one had expired and all was rolled back
 * @throws CommitLostError, StorageError
 */
export async function storeGroup(
	client: pg.PoolClient,
	accountId: number,
	group: readonly WaitingUpload[],
	timeoutMs: number,
	simulate: boolean,
): Promise<UploadOutcome[] | 'again'> {
	const table = `"${accountSchema(accountId)}".subscription_event`;
	const rows = group.flatMap(({ upload }) =>
		upload.events.map((event) => ({ event, receivedAtMs: upload.receivedAtMs })),
	);
	const parameters = rows.flatMap(({ event, receivedAtMs }) => [
		event.tid,
		event.subid,
		event.cid,
		event.evt,
		event.rvn,
		receivedAtMs,
	]);
	const [, , { rows: stored }] = await Promise.all([
		client.query('BEGIN'),
		client.query(`SET LOCAL statement_timeout = ${Math.max(1, Math.ceil(timeoutMs))}`),
		client.query(
			`INSERT INTO ${table} (tid, subid, cid, evt, rvn, received_at) VALUES ${placeholders(rows.length)} ON CONFLICT (tid) DO NOTHING RETURNING tid, pg_current_xact_id()::text AS transaction_id /* store uploads */`,
			parameters,
		),
	]);
	const outcomes = countOutcomes(group, new Set(stored.map((row: { tid: string }) => row.tid)));
	await findConflicts(client, table, group, outcomes);
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
	const transactionId: string | undefined = stored[0]?.transaction_id;
	try {
		await client.query('COMMIT');
	} catch (error) {
		// Where nothing was new, nothing can have been lost.
		if (transactionId === undefined) return outcomes;
		throw new CommitLostError(transactionId, outcomes, error);
	}
	return outcomes;
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

/** Which upload a new tid belongs to: the first of the group that has it. */
function countOutcomes(group: readonly WaitingUpload[], stored: Set<string>): MutableOutcome[] {
	return group.map(({ upload }) => {
		const fresh = upload.events.filter(({ tid }) => stored.delete(tid)).length;
		return { stored: fresh, duplicate: upload.events.length - fresh, conflicts: [] };
	});
}

type MutableOutcome = { stored: number; duplicate: number; conflicts: string[] };

/** Compares the duplicates with what is stored; only where there are any, since it costs a round trip. */
async function findConflicts(
	client: pg.PoolClient,
	table: string,
	group: readonly WaitingUpload[],
	outcomes: readonly MutableOutcome[],
): Promise<void> {
	const duplicates = group.filter((_, index) => (outcomes[index]?.duplicate ?? 0) > 0);
	if (duplicates.length === 0) return;
	const tids = duplicates.flatMap(({ upload }) => upload.events.map(({ tid }) => tid));
	const { rows } = await client.query<SubscriptionEvent>(
		`SELECT tid, subid, cid, evt, rvn FROM ${table} WHERE tid = ANY($1) /* find conflicts */`,
		[tids],
	);
	const storedByTid = new Map(rows.map((row) => [row.tid, row]));
	group.forEach(({ upload }, index) => {
		const outcome = outcomes[index];
		if (!outcome || outcome.duplicate === 0) return;
		const different = upload.events.filter((event) => !isSame(event, storedByTid.get(event.tid)));
		outcome.conflicts = [...new Set(different.map(({ tid }) => tid))];
	});
}

function isSame(event: SubscriptionEvent, stored: SubscriptionEvent | undefined): boolean {
	return (
		stored?.subid === event.subid &&
		stored.cid === event.cid &&
		stored.evt === event.evt &&
		stored.rvn === event.rvn
	);
}
