import type pg from 'pg';
import { monotonicMs } from '../../../clock.ts';
import { eventKeys } from '../../../domain/ownership.ts';
import { type StoredEvent, type SubscriptionEvent, storedEvent } from '../../../domain/subscription-event.ts';
import { StorageError } from '../../../errors.ts';
import { joinEvents } from '../../account/arriving/visitor-log.ts';
import { holdersOf, ownersOf } from '../../account/owners/identity-links.ts';
import {
	ownersOfSubscriptions,
	subidsOf,
	subscribersIn,
	subscriptionKeys,
} from '../../account/owners/subscription-owners.ts';
import { addConflicts } from '../../account/webhooks/evaluation.ts';
import type { Row } from '../../steps.ts';
import type { UploadOutcome } from '../../store.ts';
import { duplicateRowsOf, firstOfEach, outcomeOf } from '../../upload-outcome.ts';
import { CommitLostError } from '../engine/commit-lost.ts';
import { beginWriting, commitTransaction, isRolledBack, pipeline } from '../engine/connection.ts';
import { runQuery, runSteps } from '../engine/run-steps.ts';
import { eventsOf, insertEvents } from './insert-events.ts';
import { firstHolders } from './key-holders.ts';
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
 * @param schemaOf the schema of an account's events
 */
export function uploadGroups(schemaOf: (accountId: number) => string): WriteKind<WaitingUpload> {
	return {
		maxGroup: 32,
		maxAccounts: 32,
		// Simulated uploads go alone, because they are rolled back.
		fits: (group, { upload }) =>
			!upload.simulate &&
			group.every((other) => !other.upload.simulate) &&
			group.reduce((rows, other) => rows + other.upload.events.length, upload.events.length) <= maxRows,
		acquireWithinMs: (group) => lastDeadlineMs(group) - monotonicMs() + graceMs,
		store: (client, group, committing) => store(client, partsOf(group, schemaOf), group, committing),
	};
}

function lastDeadlineMs(group: readonly WaitingUpload[]): number {
	return Math.max(...group.map(({ deadlineMs }) => deadlineMs));
}

/** The uploads of one account. */
interface Part {
	readonly schema: string;
	readonly uploads: WaitingUpload[];
	readonly events: StoredEvent[];
}

/** In ascending order of account numbers, the order in which all transactions lock. */
function partsOf(group: readonly WaitingUpload[], schemaOf: (accountId: number) => string): Part[] {
	const parts = new Map<number, Part>();
	for (const waiting of group) {
		const { accountId, upload } = waiting;
		let part = parts.get(accountId);
		if (!part) {
			part = { schema: schemaOf(accountId), uploads: [], events: [] };
			parts.set(accountId, part);
		}
		part.uploads.push(waiting);
		for (const event of upload.events) part.events.push(storedEvent(event, upload));
	}
	return [...parts].sort(([a], [b]) => a - b).map(([, part]) => part);
}

async function store(
	client: pg.PoolClient,
	parts: readonly Part[],
	group: readonly WaitingUpload[],
	committing: () => void,
): Promise<(() => void) | 'again'> {
	const timeoutMs = lastDeadlineMs(group) - monotonicMs();
	const [, ...found] = await pipeline(client, () => [
		begin(client, timeoutMs, parts.length > 1 ? `; SET LOCAL lock_timeout = ${lockMs}` : ''),
		...parts.map(({ schema, events }) => insert(client, schema, events, timeoutMs)),
	]);
	const fresh: { schema: string; events: readonly StoredEvent[] }[] = [];
	const answers: (() => void)[] = [];
	for (const [index, { schema, uploads, events }] of parts.entries()) {
		const { inserted, holders, subscriptions } = found[index] as Inserted;
		const stored = inserted === 'all' ? events : events.filter(({ tid }) => inserted.has(tid));
		if (stored.length > 0) fresh.push({ schema, events: stored });
		// Only stored events count: an event that repeats a tid may have another cid.
		const subscribers = subscribersIn(subscriptions);
		if (holders?.length !== 0 || subscribers.size > 0)
			await join(client, schema, stored, { holders, subscribers });
		const outcomes =
			inserted === 'all' ? uploads.map(allNew) : await outcomesOf(client, schema, uploads, inserted);
		await rememberConflicts(client, schema, uploads, outcomes);
		answers.push(() => {
			uploads.forEach(({ resolve }, place) => {
				resolve(outcomes[place] as UploadOutcome);
			});
		});
	}
	const answer = () => {
		for (const one of answers) one();
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
		const [some] = fresh;
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

interface Inserted {
	/** The new tids, or 'all'. */
	readonly inserted: ReadonlySet<string> | 'all';
	/** Who holds keys of the events; null where that still has to be read. */
	readonly holders: Awaited<ReturnType<typeof firstHolders>>;
	/** The owners of the events' subscriptions. */
	readonly subscriptions: readonly Row[];
}

/** In one round trip, stores the events that are new. Locks keep visitors from showing the events' keys meanwhile. */
async function insert(
	client: pg.PoolClient,
	schema: string,
	events: readonly StoredEvent[],
	timeoutMs: number,
): Promise<Inserted> {
	const keys = eventKeys(events);
	const [, , inserted, holders, subscriptions] = await pipeline(client, () => [
		runQuery(client, schema, { lock: 'shared', keys }),
		runQuery(client, schema, { lock: 'shared', keys: subscriptionKeys(events) }),
		insertEvents(client, schema, events, wholeMs(timeoutMs) + graceMs),
		firstHolders(client, schema, keys),
		runQuery(client, schema, ownersOfSubscriptions(subidsOf(events))),
	]);
	return { inserted, holders, subscriptions };
}

async function join(
	client: pg.PoolClient,
	schema: string,
	stored: readonly StoredEvent[],
	{ holders, subscribers }: Pick<Inserted, 'holders'> & { subscribers: ReadonlyMap<string, string> },
): Promise<void> {
	const events = firstOfEach(stored);
	const owners = ownersOf(events, holders ?? (await runQuery(client, schema, holdersOf(events))));
	if (owners.size + subscribers.size > 0)
		await runSteps(client, schema, joinEvents(events, owners, subscribers));
}

async function rememberConflicts(
	client: pg.PoolClient,
	schema: string,
	uploads: readonly WaitingUpload[],
	outcomes: readonly UploadOutcome[],
): Promise<void> {
	for (const [index, { upload }] of uploads.entries()) {
		const { conflictingRows } = outcomes[index] as UploadOutcome;
		if (upload.tellsConflicts && conflictingRows.length > 0)
			await runQuery(client, schema, addConflicts(upload.events, conflictingRows, upload));
	}
}

function allNew({ upload }: WaitingUpload): UploadOutcome {
	return { stored: upload.events.length, duplicateRows: [], conflictingRows: [] };
}

/**
 * The outcome of each upload. A new tid belongs to the first upload of the group that has it. Repeats are compared with
 * what is stored. This costs a round trip, so it happens only if there are any.
 */
async function outcomesOf(
	client: pg.PoolClient,
	schema: string,
	uploads: readonly WaitingUpload[],
	tids: ReadonlySet<string>,
): Promise<UploadOutcome[]> {
	const fresh = new Set(tids);
	const counted = uploads.map(({ upload: { events } }) => ({ events, rows: duplicateRowsOf(events, fresh) }));
	const repeated = counted.flatMap(({ events, rows }) =>
		rows.map((row) => (events[row] as SubscriptionEvent).tid),
	);
	const stored = new Map<string, SubscriptionEvent>();
	for (const row of await runQuery(client, schema, eventsOf(repeated)))
		stored.set(String(row.tid), row as unknown as SubscriptionEvent);
	return counted.map(({ events, rows }) => outcomeOf(events, rows, (tid) => stored.get(tid)));
}

/**
 * Whether a transaction whose COMMIT was never answered has stored its events. Tries to store them again, which waits
 * until that transaction is decided, and rolls back. Neither a crash nor a failover in between can mislead this; the
 * transaction's number could, because it may be reused after them.
 */
async function isStored(
	client: pg.PoolClient,
	{ schema, events }: { readonly schema: string; readonly events: readonly StoredEvent[] },
	timeoutMs: number,
): Promise<boolean> {
	const [, { inserted }] = await pipeline(client, () => [
		begin(client, timeoutMs),
		insert(client, schema, events, timeoutMs),
	]);
	await client.query('ROLLBACK');
	return inserted !== 'all' && inserted.size === 0;
}
