import type { KeyUse } from '../../../domain/api-key.ts';
import type { ArrivingHit, StoredHit } from '../../../domain/hit.ts';
import type { Owner } from '../../../domain/ownership.ts';
import type { QuotaHolding, QuotaSettlement } from '../../../domain/quota-lease.ts';
import {
	type StoredEvent,
	type SubscriptionEvent,
	storedEventColumns,
	subscriptionEventFields,
} from '../../../domain/subscription-event.ts';
import { joinNamedEvents, storeHits } from '../../account/arriving/visitor-log.ts';
import { holdersOf, ownersOf } from '../../account/owners/identity-links.ts';
import { ownersOfSubscriptions, subidsOf, subscribersIn } from '../../account/owners/subscription-owners.ts';
import { addConflicts } from '../../account/webhooks/evaluation.ts';
import { recordKeyUses } from '../../control/key-uses.ts';
import { settleQuotas } from '../../control/quota-leases.ts';
import type { Steps } from '../../steps.ts';
import type { UploadOutcome } from '../../store.ts';
import { duplicateRowsOf, firstOfEach, outcomeOf } from '../../upload-outcome.ts';
import type { Connection } from '../engine/connection.ts';
import { runSteps } from '../engine/run-steps.ts';
import { type PackedUpload, UnpackedUpload } from './packed-events.ts';
import { addRecentHits } from './recent-hits.ts';

/**
 * A hit as sent to the writer thread. Its body is JSON already: it is stored in that form, and copied faster than an
 * object.
 */
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
	let sql = insertStatements.get(rows);
	if (!sql) {
		const values = Array.from({ length: rows }, () => row).join(', ');
		sql = `INSERT INTO subscription_event (${columns}) VALUES ${values} ON CONFLICT (tid) DO NOTHING`;
		insertStatements.set(rows, sql);
	}
	return sql;
}

/** The outcome of an upload with repeated events. @param fresh the tids that are new */
function findRepeats(
	connection: Connection,
	events: readonly SubscriptionEvent[],
	fresh: ReadonlySet<string>,
): UploadOutcome {
	const select = connection.statement(
		`SELECT ${subscriptionEventFields.join(', ')} FROM subscription_event WHERE tid = ? /* find conflicts */`,
	);
	return outcomeOf(
		events,
		duplicateRowsOf(events, new Set(fresh)),
		(tid) => select.get(tid) as SubscriptionEvent | undefined,
	);
}

function lastEventId(connection: Connection): number {
	const row = connection.statement('SELECT max(id) AS id FROM subscription_event /* last event */').get();
	return Number(row?.id ?? 0);
}

function tidsAfter(connection: Connection, lastId: number): Set<string> {
	const select = connection.statement('SELECT tid FROM subscription_event WHERE id > ? /* new tids */');
	return new Set(select.all(lastId).map(({ tid }) => String(tid)));
}

/** Whom the events of an upload belong to, by what was stored before. */
interface Joinable {
	/** See `firstOfEach`. */
	readonly events: readonly StoredEvent[];
	readonly owners: ReadonlyMap<string, Owner>;
	readonly subscribers: ReadonlyMap<string, string>;
}

/** Nothing if no visitor has shown a tid or cid, which is cheap to find out. */
function findOwners(connection: Connection, upload: UnpackedUpload): Joinable | undefined {
	if (!connection.statement('SELECT 1 FROM claim LIMIT 1 /* any claims */').get()) return undefined;
	return runSteps(connection, ownersAmong(upload.storedEvents()));
}

function* ownersAmong(uploaded: readonly StoredEvent[]): Steps<Joinable> {
	const events = firstOfEach(uploaded);
	const [holders = [], subscriptions = []] = yield [
		holdersOf(events),
		ownersOfSubscriptions(subidsOf(events)),
	];
	return { events, owners: ownersOf(events, holders), subscribers: subscribersIn(subscriptions) };
}

function* rememberConflicts(...conflicts: Parameters<typeof addConflicts>): Steps<void> {
	yield [addConflicts(...conflicts)];
}

/** The writer thread's commands in an account's database. */
export const clientCommands = {
	/**
	 * Stores the events that are new, each with the visitor whom it names. The unique index on tid decides which are new.
	 */
	storeSubscriptionEvents(connection: Connection, input: PackedUpload): CommandResult<UploadOutcome> {
		const upload = new UnpackedUpload(input);
		const { total } = upload;
		const lastId = lastEventId(connection);
		const joinable = findOwners(connection, upload);
		const ownerOf = (tid: string) => joinable?.owners.get(tid);
		let stored = 0;
		for (let from = 0; from < total; from += rowsPerInsert) {
			const rows = Math.min(rowsPerInsert, total - from);
			const parameters = upload.parameters(from, rows, ownerOf);
			stored += Number(connection.statement(insertStatement(rows)).run(...parameters).changes);
		}
		const fresh = stored < total ? tidsAfter(connection, lastId) : undefined;
		if (joinable && stored > 0) {
			const { events, owners, subscribers } = joinable;
			const added = fresh ? events.filter(({ tid }) => fresh.has(tid)) : events;
			runSteps(connection, joinNamedEvents(added, owners, subscribers));
		}
		const value = fresh
			? findRepeats(connection, upload.events(), fresh)
			: { stored, duplicateRows: [], conflictingRows: [] };
		if (input.tellsConflicts && value.conflictingRows.length > 0)
			runSteps(connection, rememberConflicts(upload.events(), value.conflictingRows, input));
		return { value, keep: !input.simulate };
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

	recordKeyUses(connection: Connection, uses: readonly KeyUse[]): CommandResult<null> {
		runSteps(connection, recordKeyUses(uses));
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
