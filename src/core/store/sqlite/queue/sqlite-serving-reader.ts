import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { monotonicMs } from '../../../clock.ts';
import type { CaskScope } from '../../../domain/cask-scope.ts';
import type { Participant } from '../../../domain/ownership.ts';
import type { Profile } from '../../../domain/profile.ts';
import { participantIn, participantSql } from '../../account/reading/persons.ts';
import { type Receipt, receiptColumns, toReceipt } from '../../account/reading/stored-receipts.ts';
import { lendHandles, openClosing } from '../../file-handles.ts';
import type { NumberedProfile, ServingReader } from '../../serving.ts';
import type { Row } from '../../steps.ts';
import {
	fileAt,
	goneEveryMs,
	logAt,
	lostSince,
	migrateAccountFile,
	type OpenedFiles,
	openAccountFile,
} from '../engine/account-file.ts';
import type { DataFolder } from '../engine/data-folder.ts';
import { Connection } from '../engine/sqlite-connection.ts';
import { latestSchema, schemaVersion } from '../engine/sqlite-migrate.ts';

/** Accounts whose databases stay open for reading: two file handles each, and up to 16 MiB of page cache. */
const maxOpen = 64;
const cacheKiB = 16 * 1024;
/**
 * How long an open file counts as the one at its path. Checking costs a third of a read. Reads of a file that has just
 * been replaced are stale for at most this time.
 */
const sameForMs = 100;
/** In WAL mode readers wait for nobody, except for a database that is just being created. */
const busyTimeoutMs = 1000;

const participantOf = (scope: CaskScope) => participantSql(scope, (name) => name, '?1');
const participants = { vid: participantOf('vid'), sid: participantOf('sid') };

interface OpenAccount extends OpenedFiles {
	readonly connection: Connection;
	readonly examineAtMs: number;
}

/** Reads on the serving thread: a look-up of some microseconds costs less than passing it to another thread. */
export class SqliteReader implements ServingReader {
	readonly #folder: DataFolder;
	readonly #sweep: NodeJS.Timeout;
	readonly #keepHandles = lendHandles(() => this.#closeOldest());
	/** Least recently used first. */
	readonly #open = new Map<number, OpenAccount>();
	/** During `inOneState`: connections with a transaction, which it ends. */
	#begun: Map<number, Connection> | undefined;

	constructor(folder: DataFolder) {
		this.#folder = folder;
		this.#sweep = setInterval(() => this.#closeGone(), goneEveryMs).unref();
	}

	visitor(accountId: number, vid: string): Profile | null {
		return this.#profile(accountId, 'SELECT profile FROM visitor WHERE vid = ? /* read visitor */', vid);
	}

	/** Visits of visitors who are being erased are not found. */
	visit(accountId: number, sid: string): Profile | null {
		return this.#profile(
			accountId,
			'SELECT profile FROM visit WHERE sid = ? AND EXISTS (SELECT 1 FROM visitor WHERE visitor.vid = visit.vid) /* read visit */',
			sid,
		);
	}

	#profile(accountId: number, sql: string, name: string): Profile | null {
		const row = this.#run(accountId, sql, (statement) => statement.get(name));
		return row ? JSON.parse(row.profile as string) : null;
	}

	participant(accountId: number, scope: CaskScope, subject: string): Participant | null {
		return participantIn(this.#rows(accountId, participants[scope], [subject])[0] as Row | undefined);
	}

	latest(
		accountId: number,
		scope: CaskScope,
		{ beforeId, limit }: { beforeId: number; limit: number },
	): NumberedProfile[] {
		const table = scope === 'vid' ? 'visitor' : 'visit';
		const sql = `SELECT id, profile FROM ${table} WHERE id < ? ORDER BY id DESC LIMIT ? /* latest */`;
		return this.#rows(accountId, sql, [beforeId, limit]).map(({ id, profile }) => ({
			id: Number(id),
			profile: JSON.parse(String(profile)),
		}));
	}

	receipts(accountId: number, tids: readonly string[]): Receipt[] {
		const sql = `SELECT ${receiptColumns} FROM json_each(?) AS asked CROSS JOIN subscription_event AS event ON event.tid = asked.value /* receipts */`;
		return this.#rows(accountId, sql, [JSON.stringify(tids)]).map(toReceipt);
	}

	/** SQLite locks and unlocks the file for each transaction, which costs as much as a look-up. */
	inOneState(readAll: () => void): void {
		const begun = new Map<number, Connection>();
		this.#begun = begun;
		try {
			readAll();
		} finally {
			this.#begun = undefined;
			for (const [accountId, connection] of begun) this.#commit(accountId, connection);
		}
	}

	#commit(accountId: number, connection: Connection): void {
		try {
			connection.statement('COMMIT').run();
		} catch {
			this.#close(accountId);
		}
	}

	#rows(accountId: number, sql: string, values: readonly (string | number)[]) {
		return this.#run(accountId, sql, (statement) => statement.all(...values));
	}

	#run<Result>(accountId: number, sql: string, run: (statement: StatementSync) => Result): Result {
		const begun = this.#begun?.get(accountId);
		const connection = begun ?? this.#connection(accountId);
		try {
			if (this.#begun && !begun) {
				connection.statement('BEGIN').run();
				this.#begun.set(accountId, connection);
			}
			return run(connection.statement(sql));
		} catch (error) {
			// Reopened after a failure, because the file may be repaired meanwhile.
			this.#close(accountId);
			throw error;
		}
	}

	#connection(accountId: number): Connection {
		const nowMs = monotonicMs();
		const known = this.#open.get(accountId);
		this.#open.delete(accountId);
		const open = known && nowMs < known.examineAtMs ? known : this.#examine(accountId, known, nowMs);
		this.#open.set(accountId, open);
		return open.connection;
	}

	#examine(accountId: number, known: OpenAccount | undefined, nowMs: number): OpenAccount {
		const path = this.#folder.accountPath(accountId);
		const examineAtMs = nowMs + sameForMs;
		if (known && !lostSince(path, known)) return { ...known, examineAtMs };
		known?.connection.database.close();
		const file = fileAt(path);
		return { connection: this.#openConnection(accountId), file, log: logAt(path), examineAtMs };
	}

	#openConnection(accountId: number): Connection {
		if (this.#open.size >= maxOpen) this.#closeOldest();
		return new Connection(openClosing(() => this.#openFile(accountId)));
	}

	#closeOldest(): boolean {
		const [accountId] = this.#open.keys();
		return accountId !== undefined && this.#close(accountId);
	}

	/** @returns whether it was open */
	#close(accountId: number): boolean {
		this.#begun?.delete(accountId);
		this.#open.get(accountId)?.connection.database.close();
		return this.#open.delete(accountId);
	}

	#openFile(accountId: number): DatabaseSync {
		const open = () => openAccountFile(this.#folder, accountId, { busyTimeoutMs, readOnly: true, cacheKiB });
		const database = open();
		if (schemaVersion(database) === latestSchema('client')) return database;
		database.close();
		using older = openAccountFile(this.#folder, accountId, { busyTimeoutMs });
		migrateAccountFile(this.#folder, older, accountId);
		return open();
	}

	#closeGone(): void {
		for (const [accountId, opened] of this.#open)
			if (lostSince(this.#folder.accountPath(accountId), opened)) this.#close(accountId);
	}

	async close(): Promise<void> {
		clearInterval(this.#sweep);
		this.#keepHandles();
		for (const { connection } of this.#open.values()) connection.database.close();
		this.#open.clear();
	}
}
