import type pg from 'pg';
import { monotonicMs } from '../../../clock.ts';
import { type StoredEvent, uploadedEvent } from '../../../domain/subscription-event.ts';
import { StorageError } from '../../../errors.ts';
import { type Arriving, storeEvents, type UploadOutcome } from '../../account/arriving/events.ts';
import { type AccountTables, isHere, type TablesOf } from '../engine/account-tables.ts';
import { CommitLostError } from '../engine/commit-lost.ts';
import { beginWriting, commitTransaction, isRolledBack } from '../engine/connection.ts';
import { runTogether } from '../engine/run-steps.ts';
import { insertUploads } from './insert-events.ts';
import type { WaitingUpload } from './waiting-upload.ts';
import type { WriteKind } from './write-queue.ts';

/** For all uploads of a transaction. Citus takes no more in one statement, where each value is a parameter. */
const maxRows = 10_000;
/** A server answers BEGIN at once, even if tables are locked. One that is silent for this long is gone. */
const silenceMs = 1000;
/** How long after a group's last deadline its server may be silent before the connection is cut. */
const graceMs = 250;
/**
 * How long uploads of several accounts wait for a lock, so that a locked account delays the others only for a moment.
 */
const lockMs = 400;
/** How long a COMMIT may take before its connection is cut and its outcome is read back. */
const commitMs = 2000;

/**
 * Stores uploads in one transaction and two round trips: BEGIN, the timeout and the rows; then, when every request has
 * decided against its deadline, COMMIT.
 * @param tablesOf an account's tables, as this server has them
 */
export function uploadGroups(tablesOf: TablesOf): WriteKind<WaitingUpload> {
	return {
		maxGroup: 32,
		maxAccounts: 32,
		// Simulated uploads go alone, because they are rolled back.
		fits: (group, { upload }) =>
			!upload.simulate &&
			group.every((other) => !other.upload.simulate) &&
			group.reduce((rows, other) => rows + other.upload.events.length, upload.events.length) <= maxRows,
		acquireWithinMs: (group) => lastDeadlineMs(group) - monotonicMs() + graceMs,
		store: (client, group, committing) => store(client, partsOf(group, tablesOf), group, committing),
	};
}

function lastDeadlineMs(group: readonly WaitingUpload[]): number {
	return Math.max(...group.map(({ deadlineMs }) => deadlineMs));
}

/** The uploads of one account. */
interface Part {
	readonly tables: AccountTables;
	readonly waiting: readonly WaitingUpload[];
	readonly uploads: readonly Arriving[];
	readonly events: readonly StoredEvent[];
}

/** In ascending order of account numbers, the order in which all transactions lock. */
function partsOf(group: readonly WaitingUpload[], tablesOf: TablesOf): Part[] {
	const ofAccounts = [...Map.groupBy(group, ({ accountId }) => accountId)].sort(([a], [b]) => a - b);
	return ofAccounts.map(([accountId, waiting]) => {
		const uploads = waiting.map(({ upload }) => ({
			size: upload.events.length,
			events: upload.events.map((event) => uploadedEvent(event, upload)),
			tellsConflicts: upload.tellsConflicts,
		}));
		const events = uploads.flatMap((upload) => upload.events);
		return { tables: tablesOf(accountId), waiting, uploads, events };
	});
}

async function store(
	client: pg.PoolClient,
	parts: readonly Part[],
	group: readonly WaitingUpload[],
	committing: () => void,
): Promise<(() => void) | 'again'> {
	const timeoutMs = lastDeadlineMs(group) - monotonicMs();
	const outcomes = await runTogether(
		client,
		() => begin(client, timeoutMs, parts.length > 1 ? `; SET LOCAL lock_timeout = ${lockMs}` : ''),
		parts.map(({ tables, uploads, events }) => ({
			tables,
			steps: storeEvents(uploads, () => insertUploads(events, isHere(client, tables))),
		})),
		wholeMs(timeoutMs) + graceMs,
	);
	const answer = () => {
		for (const [index, { waiting }] of parts.entries())
			for (const [place, { resolve }] of waiting.entries())
				resolve(outcomes[index]?.[place] as UploadOutcome);
	};
	// Checked before any request decides, so that an expired one does not undo what others were promised.
	if (group.some((waiting) => waiting.isExpired())) {
		await client.query('ROLLBACK');
		return 'again';
	}
	const decided = group.filter((waiting) => waiting.tryCommit());
	if (decided.length < group.length) throw new StorageError('a deadline was decided twice');
	if (group.some(({ upload }) => upload.simulate)) {
		await client.query('ROLLBACK');
		return answer;
	}
	committing();
	try {
		await commitTransaction(client, commitMs);
	} catch (error) {
		if (isRolledBack(error)) throw error;
		const some = parts.find((_, index) => outcomes[index]?.some(({ stored }) => stored > 0));
		// If nothing was new, nothing can be lost.
		if (some) throw new CommitLostError(answer, (other, ms) => isStored(other, some, ms), error);
	}
	return answer;
}

function begin(client: pg.PoolClient, timeoutMs: number, more = ''): Promise<unknown> {
	const text = `${beginWriting}; SET LOCAL statement_timeout = ${wholeMs(timeoutMs)}${more}`;
	const statement = { text, query_timeout: silenceMs };
	return client.query(statement);
}

function wholeMs(ms: number): number {
	return Math.max(1, Math.ceil(ms));
}

/**
 * Whether a transaction whose COMMIT was never answered has stored its events. Tries to store them again, which waits
 * until that transaction is decided, and rolls back. Neither a crash nor a failover in between can mislead this; the
 * transaction's number could, because it may be reused after them.
 */
async function isStored(
	client: pg.PoolClient,
	{ tables, events }: Part,
	timeoutMs: number,
): Promise<boolean> {
	const steps = insertUploads(events, isHere(client, tables));
	const [inserted] = await runTogether(
		client,
		() => begin(client, timeoutMs),
		[{ tables, steps }],
		wholeMs(timeoutMs) + graceMs,
	);
	await client.query('ROLLBACK');
	return inserted?.fresh !== 'all' && inserted?.fresh.size === 0;
}
