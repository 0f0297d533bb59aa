import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { CaskScope } from '../../access/cask.ts';
import { openClosing } from '../../file-handles.ts';
import type { Profile } from '../../visitors/profile.ts';
import { type NumberedProfile, type ServingReader, StorageError } from '../store.ts';
import { Connection } from './commands.ts';
import { openDatabase } from './connection.ts';
import type { DataFolder } from './data-folder.ts';
import { latestSchema, migrateFile, schemaVersion } from './migrate.ts';

/** Accounts whose databases are kept open for reading: two file handles each, and up to 16 MiB of page cache. */
const mostOpen = 64;
const cacheKiB = 16 * 1024;
/** In the write-ahead log's mode a reader waits for nobody, but for a database that is just being made. */
const busyTimeoutMs = 1000;

/** Reads on the serving thread: a look-up of some microseconds costs less than handing it to another thread. */
export class SqliteReader implements ServingReader {
	readonly #folder: DataFolder;
	/** In order of use: the first was used longest ago. */
	readonly #open = new Map<number, Connection>();

	constructor(folder: DataFolder) {
		this.#folder = folder;
	}

	visitor(accountId: number, vid: string): Profile | null {
		return this.#profile(accountId, 'SELECT profile FROM visitor WHERE vid = ? /* read visitor */', vid);
	}

	visit(accountId: number, sid: string): Profile | null {
		return this.#profile(accountId, 'SELECT profile FROM visit WHERE sid = ? /* read visit */', sid);
	}

	#profile(accountId: number, sql: string, name: string): Profile | null {
		const row = this.#connection(accountId).statement(sql).get(name);
		return row ? JSON.parse(String(row.profile)) : null;
	}

	latest(
		accountId: number,
		scope: CaskScope,
		{ beforeId, limit }: { beforeId: number; limit: number },
	): NumberedProfile[] {
		const table = scope === 'vid' ? 'visitor' : 'visit';
		const sql = `SELECT id, profile FROM ${table} WHERE id < ? ORDER BY id DESC LIMIT ? /* latest */`;
		const rows = this.#connection(accountId).statement(sql).all(beforeId, limit);
		return rows.map(({ id, profile }) => ({ id: Number(id), profile: JSON.parse(String(profile)) }));
	}

	#connection(accountId: number): Connection {
		let connection = this.#open.get(accountId);
		if (connection) this.#open.delete(accountId);
		else connection = this.#openConnection(accountId);
		this.#open.set(accountId, connection);
		return connection;
	}

	#openConnection(accountId: number): Connection {
		const path = this.#folder.accountPath(accountId);
		if (!existsSync(path)) throw new StorageError(`the file of account ${accountId} is missing`);
		if (this.#open.size >= mostOpen) this.#closeOldest();
		return new Connection(
			openClosing(
				() => this.#openFile(path),
				() => this.#closeOldest(),
			),
		);
	}

	#closeOldest(): boolean {
		const [oldest] = this.#open;
		if (!oldest) return false;
		const [accountId, { database }] = oldest;
		database.close();
		return this.#open.delete(accountId);
	}

	#openFile(path: string): DatabaseSync {
		const open = () => openDatabase(path, { busyTimeoutMs, readOnly: true, cacheKiB });
		const database = open();
		try {
			if (schemaVersion(database) === latestSchema('client')) return database;
			migrateFile(path, busyTimeoutMs);
		} catch (error) {
			database.close();
			throw error;
		}
		database.close();
		return open();
	}

	async close(): Promise<void> {
		for (const connection of this.#open.values()) connection.database.close();
		this.#open.clear();
	}
}
