import type { QuotaSettlement } from '../../../domain/quota-lease.ts';
import { noSharedKeys } from '../../../domain/shared-key.ts';
import type { ArrivingHit, StoredHit } from '../../../domain/stored-hit.ts';
import {
	type Arrival,
	arrivalValues,
	eventFrom,
	type StoredEvent,
	type SubscriptionEvent,
	storedEvent,
	storedEventColumns,
	subscriptionEventFields,
	type UploadedEvent,
	uploadedEvent,
	valuesOf,
} from '../../../domain/subscription-event.ts';
import {
	type ArrivingEvents,
	askOwners,
	findOwners,
	firstOfEach,
	type InsertedEvents,
	insertEvents,
	insertTold,
	type Owners,
	ownersAmong,
	ownersToStore,
	storeEvents,
	type UploadOutcome,
} from '../../account/arriving/arriving-events.ts';
import { storeHits } from '../../account/arriving/hits.ts';
import { keysOfEvents, sharedAmong, someShared } from '../../account/owners/shared-keys.ts';
import { settleQuotas } from '../../control/quota-leases.ts';
import { recordCounts } from '../../control/request-counts.ts';
import { ask, type Steps, select, sql, type Value } from '../../steps.ts';
import type { Connection } from '../engine/sqlite-connection.ts';
import { addRecentHits } from './recent-hits.ts';

/** An upload as sent to the writer thread. One string is copied faster than 30 objects. */
export interface PackedUpload extends Arrival {
	/**
	 * JSON: the values of the events one after another, in the order of their fields. It is parsed into what an INSERT takes, at a
	 * fraction of what objects cost.
	 */
	readonly text: string;
	/** When each event happened; null where it did not tell. Absent where none did. */
	readonly timesMs?: readonly (number | null)[];
	readonly simulate: boolean;
	readonly keepsConflicts?: boolean;
}

/** A hit as sent to the writer thread. Its body is stored as JSON, too. */
export type PackedHit = Omit<ArrivingHit, 'body' | 'text'> & { readonly text: string };

/** Rows of one INSERT. Limits the number of different statements where a plan allows large requests. */
const rowsPerInsert = 100;

const fieldCount = subscriptionEventFields.length;
const arrivalColumns = storedEventColumns.slice(fieldCount);
const ownerColumns = ['vid', 'named'];

const insertStatements = new Map<number, string>();

/**
 * Inserts rows of so many columns: the fields, and the owner where somebody has one. The values of the arrival, which all rows
 * share, are in front. SQLite binds numbered parameters (?1) at twice the cost of unnumbered ones.
 */
function insertStatement(columns: number, rows: number): string {
	return insertStatements.getOrInsertComputed(columns * (rowsPerInsert + 1) + rows, () => {
		const names = [...subscriptionEventFields, ...ownerColumns].slice(0, columns);
		const row = `(${names.map(() => '?').join(', ')})`;
		const values = Array.from({ length: rows }, () => row).join(', ');
		const selected = [...arrivalColumns.map(() => '?'), ...names.map((_, index) => `column${index + 1}`)];
		return `INSERT OR FAIL INTO subscription_event (${[...arrivalColumns, ...names].join(', ')}) SELECT ${selected.join(', ')} FROM (VALUES ${values}) WHERE true ON CONFLICT (tid) DO NOTHING`;
	});
}

/** An upload in the writer thread. Objects of its events are only made where something is to be known of them. */
class UnpackedUpload implements ArrivingEvents {
	readonly size: number;
	readonly keepsConflicts: boolean | undefined;
	readonly values: readonly Value[];
	readonly #packed: PackedUpload;
	#events: readonly StoredEvent[] | undefined;

	constructor(packed: PackedUpload) {
		this.values = JSON.parse(packed.text);
		this.size = this.values.length / fieldCount;
		this.keepsConflicts = packed.keepsConflicts;
		this.#packed = packed;
	}

	get events(): readonly StoredEvent[] {
		this.#events ??= Array.from({ length: this.size }, (_, row) =>
			storedEvent(eventFrom(this.values, row * fieldCount), this.#packed),
		);
		return this.#events;
	}
}

/** The values of events, for the writer thread. */
export function packEvents(events: readonly SubscriptionEvent[]): string {
	const values: Value[] = [];
	for (const event of events) values.push(...valuesOf(event));
	return JSON.stringify(values);
}

/** When the events happened; undefined where none tells. */
export function packTimes(events: readonly UploadedEvent[]): { timesMs?: readonly (number | null)[] } {
	if (!events.some(({ atMs }) => atMs !== undefined)) return {};
	return { timesMs: events.map(({ atMs = null }) => atMs) };
}

/** Stores an upload of which some events tell when they happened. It takes a wider row than all others. */
function* storeTold(packed: PackedUpload, timesMs: readonly (number | null)[]): Steps<UploadOutcome> {
	const { size, events: told, keepsConflicts } = new UnpackedUpload(packed);
	const events = told.map((event, row) => {
		const atMs = timesMs[row] ?? null;
		return atMs === null ? event : uploadedEvent({ ...event, atMs }, packed);
	});
	const [outcome] = yield* storeEvents([{ size, events, keepsConflicts }], () =>
		insertTold(events, function* () {
			const keyed = firstOfEach(events);
			const { rows, some, ...found } = yield* ask({
				rows: insertEvents(events),
				some: someShared(),
				...askOwners(keyed),
			});
			const fresh = new Set(rows.map(({ tid }) => String(tid)));
			const shared = yield* sharedAmong(some, () => keysOfEvents(events));
			return { ...ownersAmong(keyed, found), fresh, shared };
		}),
	);
	return outcome as UploadOutcome;
}

/** Inserts the events that are new, each with the visitor whom it names. The unique index on `tid` decides which are new. */
function* insertUpload(
	connection: Connection,
	upload: UnpackedUpload,
	arrival: Arrival,
): Steps<InsertedEvents> {
	const known = connection.statement(anythingKnown).get();
	const found = known?.claims ? yield* findOwners(firstOfEach(upload.events)) : noOwners;
	const owned = known?.claims ? ownersToStore(firstOfEach(upload.events), found) : found.owners;
	const shared = known?.shared
		? yield* sharedAmong(yield* someShared(), () => keysOfEvents(upload.events))
		: noSharedKeys;
	let values = upload.values;
	let columns = fieldCount;
	if (owned.size > 0) {
		columns += ownerColumns.length;
		values = upload.events.flatMap((event) => {
			const owner = owned.get(event.tid);
			return [...valuesOf(event), owner?.vid ?? null, owner?.named ?? 0];
		});
	}
	const common = arrivalValues(arrival);
	let stored = 0;
	let lastId = 0;
	for (let from = 0; from < upload.size; from += rowsPerInsert) {
		const rows = Math.min(rowsPerInsert, upload.size - from);
		const own = rows === upload.size ? values : values.slice(from * columns, (from + rows) * columns);
		const { changes, lastInsertRowid } = connection
			.statement(insertStatement(columns, rows))
			.run(...common, ...own);
		// New rows are numbered one after another, and what was there before has lower numbers.
		if (stored === 0) lastId = Number(lastInsertRowid) - Number(changes);
		stored += Number(changes);
	}
	if (stored === upload.size) return { ...found, shared, owned, fresh: 'all' };
	const added =
		stored === 0 ? [] : yield* select`tid FROM @subscription_event WHERE id > ${lastId} /* new tids */`;
	const fresh = new Set(added.map(({ tid }) => String(tid)));
	return { ...found, shared, owned, fresh };
}

/** Of the keys of an upload nothing is known until a visitor has shown a `tid` or `cid`, or too many share one: cheap to find out. */
const anythingKnown =
	'SELECT EXISTS (SELECT 1 FROM claim) AS claims, EXISTS (SELECT 1 FROM shared_key) AS shared /* anything known */';
const noOwners: Owners = { owners: new Map(), subscribers: new Map(), isAnothers: () => false };

/** The writer thread's commands: the first two in an account's database, the others in the control database. */
export const commands = {
	*storeSubscriptionEvents(packed: PackedUpload, connection: Connection): Steps<UploadOutcome> {
		if (packed.timesMs) return yield* storeTold(packed, packed.timesMs);
		const upload = new UnpackedUpload(packed);
		const [outcome] = yield* storeEvents([upload], () => insertUpload(connection, upload, packed));
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
