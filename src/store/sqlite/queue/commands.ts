import type { ArrivingHit, StoredHit } from '../../../domain/hit.ts';
import type { QuotaHolding, QuotaSettlement } from '../../../domain/quota-lease.ts';
import {
	type Arrival,
	type StoredEvent,
	type SubscriptionEvent,
	storedEvent,
	storedEventColumns,
} from '../../../domain/subscription-event.ts';
import {
	findOwners,
	firstOfEach,
	type Inserted,
	type Owners,
	storeEvents,
	type UploadOutcome,
} from '../../account/arriving/events.ts';
import { storeHits } from '../../account/arriving/hits.ts';
import { settleQuotas } from '../../control/quota-leases.ts';
import { type RequestCounts, recordCounts } from '../../control/request-counts.ts';
import type { Steps, Value } from '../../steps.ts';
import type { Connection } from '../engine/connection.ts';
import { runSteps } from '../engine/run-steps.ts';
import { addRecentHits } from './recent-hits.ts';

/** An upload as sent to the writer thread, its events as JSON: one string is copied faster than 30 objects. */
export interface PackedUpload extends Arrival {
	readonly text: string;
	readonly simulate: boolean;
	readonly tellsConflicts?: boolean;
}

/** A hit as sent to the writer thread. Its body is stored as JSON, too. */
export type PackedHit = Omit<ArrivingHit, 'body' | 'text'> & { readonly text: string };

/** A command's result. `keep: false` rolls back what it wrote, and the value still goes to the caller. */
export interface CommandResult<Value> {
	readonly value: Value;
	readonly keep: boolean;
}

/** Rows of one INSERT. Limits the number of different statements where a plan allows large requests. */
const rowsPerInsert = 100;

const insertStatements = new Map<number, string>();
const insertedColumns = [...storedEventColumns, 'vid', 'named'];
const columns = insertedColumns.join(', ');
const row = `(${insertedColumns.map(() => '?').join(', ')})`;

/**
 * `INSERT … VALUES` for a number of rows. SQLite binds numbered parameters (?1) at twice the cost of unnumbered ones.
 */
function insertStatement(rows: number): string {
	return insertStatements.getOrInsertComputed(rows, () => {
		const values = Array.from({ length: rows }, () => row).join(', ');
		return `INSERT INTO subscription_event (${columns}) VALUES ${values} ON CONFLICT (tid) DO NOTHING`;
	});
}

function lastEventId(connection: Connection): number {
	const row = connection.statement('SELECT max(id) AS id FROM subscription_event /* last event */').get();
	return Number(row?.id ?? 0);
}

function tidsAfter(connection: Connection, lastId: number): Set<string> {
	const select = connection.statement('SELECT tid FROM subscription_event WHERE id > ? /* new tids */');
	return new Set(select.all(lastId).map(({ tid }) => String(tid)));
}

/** Inserts the events that are new, each with the visitor whom it names. The unique index on `tid` decides which are new. */
function* insertUpload(connection: Connection, events: readonly StoredEvent[]): Steps<Inserted> {
	const lastId = lastEventId(connection);
	const isShown = connection.statement('SELECT 1 FROM claim LIMIT 1 /* any claims */').get() !== undefined;
	const { owners, subscribers } = isShown ? yield* findOwners(firstOfEach(events)) : noOwners;
	// Looking a `tid` up hashes it, which would be a tenth of the cost of an upload.
	const ownerOf = owners.size > 0 ? (tid: string) => owners.get(tid) : () => undefined;
	let stored = 0;
	for (let from = 0; from < events.length; from += rowsPerInsert) {
		const rows = events.slice(from, from + rowsPerInsert);
		const parameters: Value[] = [];
		for (const event of rows) {
			for (const column of storedEventColumns) parameters.push(event[column]);
			const owner = ownerOf(event.tid);
			parameters.push(owner?.vid ?? null, owner?.named ?? 0);
		}
		stored += Number(connection.statement(insertStatement(rows.length)).run(...parameters).changes);
	}
	const fresh = stored < events.length ? tidsAfter(connection, lastId) : 'all';
	return { fresh, owners, subscribers, isNamed: true };
}

/** Until a visitor has shown a `tid` or `cid`, which is cheap to find out. */
const noOwners: Owners = { owners: new Map(), subscribers: new Map() };

/** The writer thread's commands in an account's database. */
export const clientCommands = {
	storeSubscriptionEvents(connection: Connection, packed: PackedUpload): CommandResult<UploadOutcome> {
		const { text, simulate, tellsConflicts } = packed;
		const events = (JSON.parse(text) as SubscriptionEvent[]).map((event) => storedEvent(event, packed));
		const [value] = runSteps(
			connection,
			storeEvents([{ size: events.length, events, tellsConflicts }], () => insertUpload(connection, events)),
		);
		return { value: value as UploadOutcome, keep: !simulate };
	},

	storeHit(connection: Connection, packed: PackedHit): CommandResult<StoredHit> {
		const hit = { ...packed, body: JSON.parse(packed.text) };
		const [stored] = runSteps(connection, storeHits([hit], addRecentHits));
		return { value: stored as StoredHit, keep: true };
	},
};

/** The writer thread's commands in the control database. */
export const controlCommands = {
	settleQuotas(
		connection: Connection,
		input: { serverId: string; settlements: readonly QuotaSettlement[] },
	): CommandResult<(QuotaHolding | null)[]> {
		return { value: runSteps(connection, settleQuotas(input.serverId, input.settlements)), keep: true };
	},

	recordCounts(connection: Connection, counts: RequestCounts): CommandResult<null> {
		runSteps(connection, recordCounts(counts));
		return { value: null, keep: true };
	},

	/** Forfeits the leases of earlier servers, which are dead: nobody may use the rest of their leases. */
	forfeitLeases(connection: Connection, _input: null): CommandResult<null> {
		connection.statement('DELETE FROM quota_lease /* forfeit leases */').run();
		return { value: null, keep: true };
	},

	/** Performs a real, durable write, to prove that the store works. */
	probe(connection: Connection, input: { atMs: number }): CommandResult<null> {
		connection.statement('UPDATE probe SET at = ? /* probe */').run(input.atMs);
		return { value: null, keep: true };
	},
};

export type ClientCommands = typeof clientCommands;
export type ControlCommands = typeof controlCommands;
