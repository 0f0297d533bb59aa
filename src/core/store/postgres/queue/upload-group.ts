import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import { monotonicMs } from '../../../clock.ts';
import { type StoredEvent, uploadedEvent } from '../../../domain/subscription-event.ts';
import { StorageError } from '../../../errors.ts';
import {
	type ArrivingEvents,
	followInserted,
	type InsertedEvents,
	type UploadOutcome,
} from '../../account/arriving/arriving-events.ts';
import { type AccountTables, isHere, type TablesOf } from '../engine/account-tables.ts';
import { CommitLostError } from '../engine/commit-lost.ts';
import { beginWriting, commitTransaction, isRolledBack } from '../engine/postgres-connection.ts';
import { storeTogether } from '../engine/postgres-run-steps.ts';
import { type Insertion, insertUploads, isRepeat } from './insert-events.ts';
import type { WriteKind } from './postgres-write-queue.ts';
import type { WaitingUpload } from './waiting-upload.ts';

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

/** How long an account is expected to do again what it did. */
const expectedMs = 60_000;

/** Accounts that have done something of late. */
type OfLate = LRUCache<number, true>;
const ofLate = (): OfLate => new LRUCache({ max: 10_000, ttl: expectedMs, perf: { now: monotonicMs } });

/** What the uploads of accounts have shown. */
interface SeenAccounts {
	/** A transaction of other accounts takes all events for new, and fails where one is not. */
	readonly repeating: OfLate;
	readonly joining: OfLate;
	/** Accounts do not lose all of their visitors again. If one does, it costs a look-up. */
	readonly withKeys: Set<number>;
}

/**
 * Stores uploads in one transaction and two round trips: BEGIN, the timeout and the rows; then, when every request has
 * decided against its deadline, COMMIT.
 * @param tablesOf an account's tables, as this server has them
 */
export function uploadGroups(tablesOf: TablesOf): WriteKind<WaitingUpload> {
	const seen = { repeating: ofLate(), joining: ofLate(), withKeys: new Set<number>() };
	return {
		maxGroup: 32,
		maxAccounts: 32,
		// Two that join events would leave nearly every subscription to the background, since neither has its lock alone.
		isAlone: (accountId) => seen.joining.has(accountId),
		// Simulated uploads go alone, because they are rolled back.
		fits: (group, { upload }) =>
			!upload.simulate &&
			group.every((other) => !other.upload.simulate) &&
			group.reduce((rows, other) => rows + other.upload.events.length, upload.events.length) <= maxRows,
		acquireWithinMs: (group) => lastDeadlineMs(group) - monotonicMs() + graceMs,
		store: (client, group, committing) =>
			store(client, { parts: partsOf(group, tablesOf, seen), group, seen }, committing),
	};
}

function lastDeadlineMs(group: readonly WaitingUpload[]): number {
	return Math.max(...group.map(({ deadlineMs }) => deadlineMs));
}

/** The uploads of one account. */
interface Part {
	readonly accountId: number;
	readonly insertion: Omit<Insertion, 'isHere'>;
	readonly tables: AccountTables;
	readonly waiting: readonly WaitingUpload[];
	readonly uploads: readonly ArrivingEvents[];
	readonly events: readonly StoredEvent[];
}

/** In ascending order of account numbers, the order in which all transactions lock. */
function partsOf(
	group: readonly WaitingUpload[],
	tablesOf: TablesOf,
	{ repeating, joining, withKeys }: SeenAccounts,
): Part[] {
	const ofAccounts = [...Map.groupBy(group, ({ accountId }) => accountId)].sort(([a], [b]) => a - b);
	return ofAccounts.map(([accountId, waiting]) => {
		const uploads = waiting.map(({ upload }) => ({
			size: upload.events.length,
			events: upload.events.map((event) => uploadedEvent(event, upload)),
			keepsConflicts: upload.keepsConflicts,
		}));
		const events = uploads.flatMap((upload) => upload.events);
		const mayRepeat = repeating.has(accountId) || group.some(({ upload }) => upload.simulate);
		const insertion = { mayRepeat, mayJoin: joining.has(accountId), hasKeys: withKeys.has(accountId) };
		return { accountId, insertion, tables: tablesOf(accountId), waiting, uploads, events };
	});
}

interface StoringGroup {
	readonly parts: readonly Part[];
	readonly group: readonly WaitingUpload[];
	readonly seen: SeenAccounts;
}

async function store(
	client: pg.PoolClient,
	{ parts, group, seen: { repeating, joining, withKeys } }: StoringGroup,
	committing: () => void,
): Promise<(() => void) | 'again'> {
	const timeoutMs = lastDeadlineMs(group) - monotonicMs();
	const storing = storeTogether(
		client,
		() => begin(client, timeoutMs, parts.length > 1 ? `; SET LOCAL lock_timeout = ${lockMs}` : ''),
		parts.map(({ accountId, tables, uploads, events, insertion }) => ({
			tables,
			insert: insertUploads(events, { ...insertion, isHere: isHere(client, tables) }),
			follow(inserted: InsertedEvents) {
				if (inserted.hasKeys) withKeys.add(accountId);
				if (inserted.owners.size + inserted.subscribers.size > 0) joining.set(accountId, true);
				return followInserted(uploads, inserted);
			},
		})),
		wholeMs(timeoutMs) + graceMs,
	);
	const outcomes = await storing.catch((error) => {
		const repeated = isRepeat(error) ? repeatedIn(parts, error) : [];
		if (repeated.length === 0) throw error;
		for (const { accountId } of repeated) repeating.set(accountId, true);
		return undefined;
	});
	if (outcomes === undefined) {
		await client.query('ROLLBACK');
		return 'again';
	}
	for (const [index, { accountId }] of parts.entries())
		if (outcomes[index]?.some(({ duplicateRows }) => duplicateRows.length > 0))
			repeating.set(accountId, true);
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

/** Who repeated an event: whose table the error names, as far as it does. */
function repeatedIn(parts: readonly Part[], error: { readonly schema?: string }): readonly Part[] {
	const taken = parts.filter(({ insertion }) => !insertion.mayRepeat);
	const named = taken.filter(({ tables }) => tables.schema === error.schema);
	return named.length > 0 ? named : taken;
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
	const [fresh] = await storeTogether(
		client,
		() => begin(client, timeoutMs),
		[
			{
				tables,
				insert: insertUploads(events, {
					isHere: isHere(client, tables),
					mayRepeat: true,
					mayJoin: false,
					hasKeys: false,
				}),
				// biome-ignore lint/correctness/useYield: nothing follows
				*follow(inserted: InsertedEvents) {
					return inserted.fresh;
				},
			},
		],
		wholeMs(timeoutMs) + graceMs,
	);
	await client.query('ROLLBACK');
	return fresh !== undefined && fresh !== 'all' && fresh.size === 0;
}
