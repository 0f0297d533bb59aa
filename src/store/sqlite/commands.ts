import type { ArrivingHit, StoredHit } from '../../domain/hit.ts';
import type { QuotaHolding, QuotaSettlement } from '../../domain/quota-lease.ts';
import type { StoredEvent, SubscriptionEvent } from '../../domain/subscription-event.ts';
import { holdersOf, ownersOf } from '../account/identity-links.ts';
import { joinEvents, storeHits } from '../account/visitor-log.ts';
import { settleQuotas } from '../control/quota-leases.ts';
import type { UploadOutcome } from '../store.ts';
import { duplicateRowsOf, outcomeOf } from '../upload-outcome.ts';
import type { Connection } from './connection.ts';
import { runSteps } from './run-steps.ts';

/** What a command gives back; `keep: false` undoes what it wrote (the answer stands). */
export interface CommandResult<Value> {
	readonly value: Value;
	readonly keep: boolean;
}

/** Subscription events as they cross to the writer thread: one string is copied faster than 150. */
export interface PackedEvents {
	/** tid, subid, cid (empty: none), evt, rvn of each event in turn, separated by U+001F, which no field may contain. */
	readonly fields: string;
	readonly receivedAtMs: number;
	readonly simulate: boolean;
}

export const fieldSeparator = '\u001f';

const fieldsPerEvent = 5;
/** Rows of one INSERT; keeps the number of different statements small where a plan allows large requests. */
const rowsPerInsert = 100;

const insertStatements = new Map<number, string>();

/** `INSERT … VALUES` for so many rows. Nameless parameters: SQLite binds numbered ones (?1) at twice the cost. */
function insertStatement(rows: number): string {
	let sql = insertStatements.get(rows);
	if (!sql) {
		const values = Array.from({ length: rows }, () => '(?, ?, ?, ?, ?, ?)').join(', ');
		sql = `INSERT INTO subscription_event (tid, subid, cid, evt, rvn, received_at) VALUES ${values} ON CONFLICT (tid) DO NOTHING`;
		insertStatements.set(rows, sql);
	}
	return sql;
}

/** The outcome of an upload that holds repeats. */
function findRepeats(connection: Connection, fields: readonly string[], lastId: number): UploadOutcome {
	const events = unpackEvents(fields);
	const fresh = connection
		.statement('SELECT tid FROM subscription_event WHERE id > ? /* new tids */')
		.all(lastId)
		.map(({ tid }) => String(tid));
	const select = connection.statement(
		'SELECT tid, subid, cid, evt, rvn FROM subscription_event WHERE tid = ? /* find conflicts */',
	);
	return outcomeOf(
		events,
		duplicateRowsOf(events, new Set(fresh)),
		(tid) => select.get(tid) as SubscriptionEvent | undefined,
	);
}

type Fields = [tid: string, subid: string, cid: string, evt: string, rvn: string];

function unpackEvents(fields: readonly string[]): SubscriptionEvent[] {
	return Array.from({ length: fields.length / fieldsPerEvent }, (_, row) => {
		const at = row * fieldsPerEvent;
		const [tid, subid, cid, evt, rvn] = fields.slice(at, at + fieldsPerEvent) as Fields;
		return { tid, subid, cid: cid || null, evt, rvn: Number(rvn) };
	});
}

function lastEventId(connection: Connection): number {
	const row = connection.statement('SELECT max(id) AS id FROM subscription_event /* last event */').get();
	return Number(row?.id ?? 0);
}

/** Joins the events that have just been stored. Cheap where no visitor has shown a tid or cid yet. */
function joinEventsAfter(connection: Connection, lastId: number): void {
	if (!connection.statement('SELECT 1 FROM claim LIMIT 1 /* any claims */').get()) return;
	const events = connection
		.statement(
			'SELECT tid, subid, cid, evt, rvn, received_at FROM subscription_event WHERE id > ? /* new events */',
		)
		.all(lastId) as unknown as StoredEvent[];
	runSteps(connection, joinOwned(events));
}

function* joinOwned(events: readonly StoredEvent[]): ReturnType<typeof joinEvents> {
	const [holders = []] = yield [holdersOf(events)];
	yield* joinEvents(events, ownersOf(events, holders));
}

/** What the writer thread can do in an account's database. */
export const clientCommands = {
	/** Stores what is not stored yet. The unique index on tid decides which that is. */
	storeSubscriptionEvents(connection: Connection, input: PackedEvents): CommandResult<UploadOutcome> {
		const fields = input.fields.split(fieldSeparator);
		const total = fields.length / fieldsPerEvent;
		const lastId = lastEventId(connection);
		let stored = 0;
		for (let from = 0; from < total; from += rowsPerInsert) {
			const rows = Math.min(rowsPerInsert, total - from);
			const parameters: (string | number | null)[] = [];
			for (let at = from * fieldsPerEvent; at < (from + rows) * fieldsPerEvent; at += fieldsPerEvent) {
				parameters.push(
					fields[at] as string,
					fields[at + 1] as string,
					fields[at + 2] || null,
					fields[at + 3] as string,
					Number(fields[at + 4]),
					input.receivedAtMs,
				);
			}
			stored += Number(connection.statement(insertStatement(rows)).run(...parameters).changes);
		}
		if (stored > 0) joinEventsAfter(connection, lastId);
		const value =
			stored < total
				? findRepeats(connection, fields, lastId)
				: { stored, duplicateRows: [], conflictingRows: [] };
		return { value, keep: !input.simulate };
	},

	storeHit(connection: Connection, hit: ArrivingHit): CommandResult<StoredHit> {
		const [stored] = runSteps(connection, storeHits([hit]));
		return { value: stored as StoredHit, keep: true };
	},
};

/** What the writer thread can do in the control database. */
export const controlCommands = {
	settleQuotas(
		connection: Connection,
		input: { serverId: string; settlements: readonly QuotaSettlement[] },
	): CommandResult<(QuotaHolding | null)[]> {
		return { value: runSteps(connection, settleQuotas(input.serverId, input.settlements)), keep: true };
	},

	/** Earlier servers are dead: what they have leased and not used stays leased, and nobody may use it. */
	forfeitLeases(connection: Connection, _input: null): CommandResult<null> {
		connection.statement('DELETE FROM quota_lease /* forfeit leases */').run();
		return { value: null, keep: true };
	},

	/** A real, durable write, to know that the store works. */
	probe(connection: Connection, input: { atMs: number }): CommandResult<null> {
		connection.statement('UPDATE probe SET at = ? /* probe */').run(input.atMs);
		return { value: null, keep: true };
	},
};

export type ClientCommands = typeof clientCommands;
export type ControlCommands = typeof controlCommands;
