import { existsSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { StoreCapability } from '../../capability.ts';
import { monotonicMs } from '../../clock.ts';
import { OperatorError, reasonOf } from '../../errors.ts';
import { isoTime } from '../../format/iso-time.ts';
import { countWaiting, foldingSchema } from '../account/profiles/folding.ts';
import { type ControlStore, controlStore } from '../control/control-store.ts';
import { ErasureList } from '../erasure-list.ts';
import { lendHandles, openClosing } from '../file-handles.ts';
import type { Check, MigrationProgress, StoreStatus } from '../maintenance.ts';
import { newestSchemas, SchemaTooNewError, SchemaTooOldError } from '../migrations.ts';
import type { ServingReader, ServingWriter, WriterEvents } from '../serving.ts';
import type { Reading, Steps } from '../steps.ts';
import type { OlderSchema, OpenStore, StorePlace } from '../store.ts';
import {
	accountSchema,
	changeMarkOf,
	createAccountFile,
	deleteAccountFile,
	fileAt,
	goneEveryMs,
	logAt,
	lostSince,
	migrateAccountFile,
	type OpenedFiles,
	openAccountFile,
} from './engine/account-file.ts';
import { copyDatabases } from './engine/backup.ts';
import { checkFolder } from './engine/check-folder.ts';
import { checkpointLongLog, emptyLog, emptyLogIfFree, saveRemovedLog } from './engine/checkpoint.ts';
import {
	DataFolder,
	isServed,
	readLine,
	readNotes,
	requireNoOlderServer,
	takeFolder,
	writeLine,
} from './engine/data-folder.ts';
import { fileError } from './engine/file-error.ts';
import {
	BusyError,
	Connection,
	openDatabase,
	undoInMemory,
	withoutWaiting,
} from './engine/sqlite-connection.ts';
import { controlDatabase } from './engine/sqlite-control-database.ts';
import { latestSchema, migrate, schemaVersion } from './engine/sqlite-migrate.ts';
import { runSteps } from './engine/sqlite-run-steps.ts';
import { takeTurn } from './engine/turns.ts';
import { letOthersRun } from './queue/event-loop.ts';
import { SqliteReader } from './queue/sqlite-serving-reader.ts';
import { startServingWriter } from './queue/sqlite-serving-writer.ts';

const busyTimeoutMs = 5000;
const purgeTimeoutMs = 10_000;
/** 4 MiB. Rewriting takes some hundredths of a second, and the account's uploads wait for it. */
const maxRewrittenBytes = 4 * 1024 ** 2;

/** One stage's databases in a folder: `control.sqlite` and `accounts/<n>.sqlite`. */
export class SqliteStore implements OpenStore {
	readonly control: ControlStore;
	readonly schemas = newestSchemas('sqlite');
	readonly now: () => number;
	readonly takesManyServers = false;
	readonly place: StorePlace;
	readonly erasureList: ErasureList;
	readonly #folder: DataFolder;
	readonly #controlFile: DatabaseSync;
	#last: (OpenedFiles & { accountId: number; connection: Connection }) | undefined;
	readonly #sweep: NodeJS.Timeout;
	readonly #keepHandles = lendHandles(() => this.#stopTransacting());

	/** Opens the folder, creates it if it is missing, and migrates the control database if it may. */
	constructor(
		path: string,
		{
			now = Date.now,
			olderSchema = 'migrate',
			erasureList,
			capabilities = [],
		}: {
			now?: (() => number) | undefined;
			olderSchema?: OlderSchema | undefined;
			erasureList?: string | undefined;
			capabilities?: readonly StoreCapability[];
		} = {},
	) {
		this.now = now;
		this.#folder = new DataFolder(path);
		this.place = { database: `sqlite:${path}`, olderSchema, erasureList };
		this.erasureList = new ErasureList(erasureList ?? this.#folder.erasuresPath);
		this.#folder.create();
		this.#controlFile = openControl(this.#folder, olderSchema);
		this.#sweep = setInterval(() => {
			try {
				this.#forgetIfGone();
			} catch {
				// The next transaction meets it again.
			}
		}, goneEveryMs).unref();
		this.control = controlStore(controlDatabase(this.#controlFile), {
			now,
			capabilities,
			liveServers: async () => (isServed(this.#folder) ? 'all' : []),
		});
	}

	/** There is one writer at a time, so a transaction never has to begin anew. */
	async transact<T>(accountId: number, begin: () => Steps<T>): Promise<T> {
		const outcome = await this.#inTurn(accountId, (database) => {
			withoutWaiting(database, () => database.exec('BEGIN IMMEDIATE'));
			return this.#run(accountId, begin());
		});
		if (this.#last) checkpointLongLog(this.#last.connection.database);
		await letOthersRun();
		return outcome;
	}

	async read<T>(accountId: number, reading: Reading<T>): Promise<T> {
		const { database } = this.#transacting(accountId);
		database.exec('PRAGMA query_only = 1');
		database.exec('BEGIN');
		const outcome = this.#run(accountId, reading);
		database.exec('PRAGMA query_only = 0');
		await letOthersRun();
		return outcome;
	}

	/** Runs steps in the transaction that was begun. */
	#run<T>(accountId: number, steps: Steps<T>): T {
		const connection = this.#transacting(accountId);
		try {
			const outcome = runSteps(connection, steps);
			connection.database.exec('COMMIT');
			return outcome;
		} catch (error) {
			// Closing the connection rolls back.
			this.#stopTransacting();
			throw error;
		}
	}

	/** @param attempt throws SQLite's error where another has the write lock */
	#inTurn<T>(accountId: number, attempt: (database: DatabaseSync) => T): Promise<T> {
		return takeTurn(this.#folder.accountPath(accountId), () =>
			attempt(this.#transacting(accountId).database),
		);
	}

	/**
	 * Deleted rows are overwritten in place, but the write-ahead log still has them. Some pages also have remains of
	 * rows that were moved to another page; only a rewrite removes those.
	 */
	async purge(accountId: number, { rewrite }: { rewrite: boolean }): Promise<void> {
		const isSmall = statSync(this.#folder.accountPath(accountId)).size <= maxRewrittenBytes;
		const giveUpAtMs = monotonicMs() + purgeTimeoutMs;
		// In memory, like all that this connection would otherwise write to temporary files.
		if (rewrite && isSmall)
			await this.#inTurn(accountId, (database) => withoutWaiting(database, () => database.exec('VACUUM')));
		await this.#inTurn(accountId, (database) => {
			if (emptyLog(database)) return;
			if (monotonicMs() < giveUpAtMs) throw new BusyError();
			throw new OperatorError(
				'It is deleted, but still in the write-ahead log, because other processes keep reading or writing the database; run the command again.',
			);
		});
	}

	/** Reuses the last transaction's connection if it was to the same account: an import has thousands in a row. */
	#transacting(accountId: number): Connection {
		this.#forgetIfGone();
		if (this.#last?.accountId !== accountId) {
			this.#stopTransacting();
			const path = this.#folder.accountPath(accountId);
			const file = fileAt(path);
			const database = openClosing(() => this.#openAccount(accountId));
			emptyLogIfFree(database);
			undoInMemory(database);
			this.#last = { accountId, connection: new Connection(database), file, log: logAt(path) };
		}
		return this.#last.connection;
	}

	/** What is written to a file that was replaced or deleted would be lost. */
	#forgetIfGone(): void {
		const last = this.#last;
		if (!last) return;
		const lost = lostSince(this.#folder.accountPath(last.accountId), last);
		if (!lost) return;
		if (lost === 'log') saveRemovedLog(last.connection.database);
		this.#stopTransacting();
	}

	/** @returns whether a connection was open */
	#stopTransacting(): boolean {
		const wasOpen = this.#last !== undefined;
		this.#last?.connection.database.close();
		this.#last = undefined;
		return wasOpen;
	}

	async marks(accountIds: readonly number[]): Promise<ReadonlyMap<number, string>> {
		const marks = accountIds.map((id) => [id, changeMarkOf(this.#folder.accountPath(id))] as const);
		return new Map(marks.filter((one): one is readonly [number, string] => one[1] !== undefined));
	}

	async waiting(accountId: number): Promise<number> {
		if (this.#last?.accountId === accountId) return runSteps(this.#last.connection, countWaiting());
		using database = openAccountFile(this.#folder, accountId, { busyTimeoutMs, readOnly: true });
		return schemaVersion(database) < foldingSchema ? 0 : runSteps(new Connection(database), countWaiting());
	}

	startReading(): ServingReader {
		return new SqliteReader(this.#folder);
	}

	#openAccount(accountId: number): DatabaseSync {
		const database = openAccountFile(this.#folder, accountId, { busyTimeoutMs });
		const version = schemaVersion(database);
		if (this.place.olderSchema !== 'migrate' && version < this.schemas.accounts) {
			database.close();
			throw new SchemaTooOldError(`The database of account ${accountId}`, version, this.schemas.accounts);
		}
		migrateAccountFile(this.#folder, database, accountId);
		return database;
	}

	async createAccountDatabase(accountId: number, ownDatabase?: string): Promise<void> {
		if (ownDatabase !== undefined)
			throw new OperatorError(
				"--own-database needs PostgreSQL: a data folder has a file of its own for every account already; move with 'caskade copy'.",
			);
		createAccountFile(this.#folder, accountId);
	}

	/** Connections of others keep the deleted file's bytes on the disk, until they notice; see `goneEveryMs`. */
	async deleteAccountDatabase(accountId: number): Promise<void> {
		this.#stopTransacting();
		deleteAccountFile(this.#folder, accountId);
	}

	async migrate(progress: (step: MigrationProgress) => void): Promise<void> {
		const accounts = await this.control.accounts();
		const failed: string[] = [];
		for (const [index, { id, aid }] of accounts.entries()) {
			let migrations = 0;
			try {
				using database = openAccountFile(this.#folder, id, { busyTimeoutMs });
				migrations = migrateAccountFile(this.#folder, database, id);
			} catch (error) {
				if (error instanceof SchemaTooNewError || error instanceof OperatorError) throw error;
				failed.push(`${aid} (${reasonOf(error)})`);
			}
			progress({ database: aid, migrations, done: index + 1, total: accounts.length });
		}
		if (failed.length > 0)
			throw new OperatorError(
				`All databases have the newest schema except ${failed.join(', ')}; restore a backup of these, and run 'caskade migrate' again.`,
			);
	}

	/**
	 * Checks each account's file, without migrating it: that happens when it is opened. A file that cannot be used does
	 * not prevent serving the others.
	 * @returns the number of accounts
	 */
	async #checkFiles(onError: WriterEvents['onError']): Promise<number> {
		const known = latestSchema('client');
		const accounts = await this.control.accounts();
		for (const { id, aid } of accounts) {
			let version = 0;
			try {
				version = accountSchema(this.#folder, id);
			} catch (error) {
				onError(`account ${aid}`, `${reasonOf(error)}; restore a backup of it`);
			}
			if (version > known) throw new SchemaTooNewError('client', version, known);
		}
		return accounts.length;
	}

	async startWriting(events: WriterEvents): Promise<ServingWriter> {
		const lock = takeFolder(
			this.#folder,
			(folder) =>
				`Another 'caskade serve' runs on ${folder}; stop it first, or give this one a folder of its own with --database.`,
		);
		let accounts: number;
		try {
			checkControlTables(this.#folder);
			accounts = await this.#checkFiles(events.onError);
		} catch (error) {
			lock.release();
			throw error;
		}
		return startServingWriter(this.#folder, lock, events, accounts);
	}

	async backup(target: string, progress: (step: { database: string; bytes: number }) => void): Promise<void> {
		const beganAt = isoTime(this.now());
		copyDatabases(this.#folder, target, ({ database, path }) =>
			progress({ database, bytes: statSync(path).size }),
		);
		writeLine(this.#folder.lastBackupPath, beganAt);
	}

	async status(): Promise<StoreStatus> {
		const servers = isServed(this.#folder) ? 1 : 0;
		const consoleUrl = servers ? readNotes(this.#folder)?.consoleUrl : undefined;
		return {
			servers,
			url: servers ? readLine(this.#folder.addressPath) : undefined,
			consoleUrls: consoleUrl === undefined ? [] : [consoleUrl],
			lastBackupAt: readLine(this.#folder.lastBackupPath),
		};
	}

	runChecks(): AsyncIterable<Check> {
		return checkFolder(this.#folder, this.control, this.now());
	}

	blockServers(): () => void {
		const lock = takeFolder(
			this.#folder,
			(folder) =>
				`A server runs on ${folder}; stop it first, since what arrives meanwhile would not be copied.`,
		);
		return () => lock.release();
	}

	async close(): Promise<void> {
		clearInterval(this.#sweep);
		this.#keepHandles();
		this.#stopTransacting();
		if (this.#controlFile.isOpen) this.#controlFile.close();
	}
}

function openControl(folder: DataFolder, olderSchema: OlderSchema): DatabaseSync {
	let database: DatabaseSync | undefined;
	try {
		if (!existsSync(folder.controlPath)) requireNoAccounts(folder);
		database = openDatabase(folder.controlPath, { busyTimeoutMs, create: true });
		const version = schemaVersion(database);
		const known = newestSchemas('sqlite');
		if (version === 0) requireNoAccounts(folder);
		const isOlder = version > 0 && version < known.control;
		if (isOlder && olderSchema === 'leave') return database;
		if (isOlder) requireNoOlderServer(folder, known);
		if (isOlder && olderSchema === 'refuse')
			throw new SchemaTooOldError(`The control database in ${folder.path}`, version, known.control);
		emptyLogIfFree(database);
		migrate(database, 'control');
		return database;
	} catch (error) {
		database?.close();
		throw fileError(folder.controlPath, error);
	}
}

/** Checks all control tables but that of models, which may be large and without which a server can run. */
function checkControlTables({ controlPath }: DataFolder): void {
	try {
		using database = openDatabase(controlPath, { busyTimeoutMs, readOnly: true });
		const tables = database
			.prepare(
				"SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'model' /* tables to check */",
			)
			.all();
		for (const { name } of tables) {
			if (database.prepare(`PRAGMA quick_check("${name}")`).get()?.quick_check !== 'ok')
				throw new OperatorError(
					`${controlPath} is damaged, in its table ${name}; restore a backup of the data folder.`,
				);
		}
	} catch (error) {
		throw fileError(controlPath, error);
	}
}

/** A new installation has no accounts' files. If there are some, the control database has been lost. */
function requireNoAccounts(folder: DataFolder): void {
	if (existsSync(folder.restoringPath))
		throw new OperatorError(`A restore into ${folder.path} was interrupted; run 'caskade restore' again.`);
	if (folder.accountIds().length > 0)
		throw new OperatorError(
			`${folder.path} has accounts' databases, but its control.sqlite is missing or empty; restore that from a backup, or name another folder.`,
		);
}
