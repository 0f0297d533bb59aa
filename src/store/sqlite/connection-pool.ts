import { existsSync } from 'node:fs';
import { Connection } from './commands.ts';
import { openDatabase } from './connection.ts';
import type { DataFolder } from './data-folder.ts';
import { controlDatabaseId } from './messages.ts';
import { migrate } from './migrate.ts';

/**
 * Pages kept between transactions. Few: after a transaction that has split a page, SQLite looks through all of them,
 * which costs a hit more than reading a page again from the system's cache does.
 */
const cacheKiB = 2 * 1024;
/** Pages of one transaction that stay in memory until COMMIT; those beyond may be written more than once. */
const spillKiB = 16 * 1024;

/**
 * The writer thread's open connections: the control database's, and those of the accounts used most recently.
 * Bounded, because each costs three file handles and memory for pages.
 */
export class ConnectionPool {
	readonly #folder: DataFolder;
	readonly #most: number;
	/** In order of use: the first was used longest ago. */
	readonly #open = new Map<number, Connection>();

	constructor(folder: DataFolder, most: number) {
		this.#folder = folder;
		this.#most = most;
	}

	/** @throws where the file is missing (an empty one in its place would hide a loss) or cannot be opened */
	get(databaseId: number): Connection {
		let connection = this.#open.get(databaseId);
		if (connection) this.#open.delete(databaseId);
		else connection = this.#openConnection(databaseId);
		this.#open.set(databaseId, connection);
		return connection;
	}

	#openConnection(databaseId: number): Connection {
		const isControl = databaseId === controlDatabaseId;
		const path = this.path(databaseId);
		if (!existsSync(path)) throw new Error(`the file of database ${databaseId} is missing`);
		for (const oldest of this.#open.keys()) {
			if (this.#open.size < this.#most) break;
			if (oldest !== controlDatabaseId) this.close(oldest);
		}
		// Never waits for a lock: the other accounts would wait with it.
		const database = openDatabase(path, { busyTimeoutMs: 0, cacheKiB, spillKiB, autoCheckpoint: false });
		try {
			migrate(database, isControl ? 'control' : 'client');
		} catch (error) {
			database.close();
			throw error;
		}
		return new Connection(database);
	}

	path(databaseId: number): string {
		return databaseId === controlDatabaseId ? this.#folder.controlPath : this.#folder.accountPath(databaseId);
	}

	close(databaseId: number): void {
		this.#open.get(databaseId)?.database.close();
		this.#open.delete(databaseId);
	}

	closeAll(): void {
		for (const databaseId of [...this.#open.keys()]) this.close(databaseId);
	}
}
