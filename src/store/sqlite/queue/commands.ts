import type { ArrivingHit, StoredHit } from '../../../domain/hit.ts';
import type { QuotaSettlement } from '../../../domain/quota-lease.ts';
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
import { recordCounts } from '../../control/request-counts.ts';
import { ask, type Steps, select, sql, type Value } from '../../steps.ts';
import type { Connection } from '../engine/connection.ts';
import { addRecentHits } from './recent-hits.ts';

/** An upload as sent to the writer thread, its events as JSON: one string is copied faster than 30 objects. */
export interface PackedUpload extends Arrival {
	readonly text: string;
	readonly simulate: boolean;
	readonly tellsConflicts?: boolean;
}

/** A hit as sent to the writer thread. Its body is stored as JSON, too. */
export type PackedHit = Omit<ArrivingHit, 'body' | 'text'> & { readonly text: string };

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

/** Inserts the events that are new, each with the visitor whom it names. The unique index on `tid` decides which are new. */
function* insertUpload(connection: Connection, events: readonly StoredEvent[]): Steps<Inserted> {
	const { before, claims } = yield* ask({
		before: select`max(id) AS id FROM @subscription_event /* last event */`,
		claims: select`1 AS one FROM @claim LIMIT 1 /* any claims */`,
	});
	const { owners, subscribers } = claims.length > 0 ? yield* findOwners(firstOfEach(events)) : noOwners;
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
	if (stored === events.length) return { fresh: 'all', owners, subscribers, isNamed: true };
	const lastId = before[0]?.id ?? 0;
	const added = yield* select`tid FROM @subscription_event WHERE id > ${lastId} /* new tids */`;
	const fresh = new Set(added.map(({ tid }) => String(tid)));
	return { fresh, owners, subscribers, isNamed: true };
}

/** Until a visitor has shown a `tid` or `cid`, which is cheap to find out. */
const noOwners: Owners = { owners: new Map(), subscribers: new Map() };

/** The writer thread's commands: the first two in an account's database, the others in the control database. */
export const commands = {
	*storeSubscriptionEvents(packed: PackedUpload, connection: Connection): Steps<UploadOutcome> {
		const { text, tellsConflicts } = packed;
		const events = (JSON.parse(text) as SubscriptionEvent[]).map((event) => storedEvent(event, packed));
		const arriving = { size: events.length, events, tellsConflicts };
		const [outcome] = yield* storeEvents([arriving], () => insertUpload(connection, events));
		return outcome as UploadOutcome;
	},

	*storeHit(packed: PackedHit): Steps<StoredHit> {
		const [stored] = yield* storeHits([{ ...packed, body: JSON.parse(packed.text) }], addRecentHits);
		return stored as StoredHit;
	},

	settleQuotas: (input: { serverId: string; settlements: readonly QuotaSettlement[] }) =>
		settleQuotas(input.serverId, input.settlements),

	recordCounts,

	/** Forfeits the leases of earlier servers, which are dead: nobody may use the rest of their leases. */
	*forfeitLeases(_input: null): Steps<void> {
		yield* sql`DELETE FROM @quota_lease /* forfeit leases */`;
	},

	/** Performs a real, durable write, to prove that the store works. */
	*probe({ atMs }: { atMs: number }): Steps<void> {
		yield* sql`UPDATE @probe SET at = ${atMs} /* probe */`;
	},
};

export type CommandName = keyof typeof commands;
export type CommandInput<Name extends CommandName> = Parameters<(typeof commands)[Name]>[0];
export type CommandOutcome<Name extends CommandName> =
	ReturnType<(typeof commands)[Name]> extends Steps<infer Outcome> ? Outcome : never;
