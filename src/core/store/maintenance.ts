import type { Schemas } from './migrations.ts';

export interface MigrationProgress {
	readonly database: string;
	/** Number of migrations applied; 0 if the schema was the newest. */
	readonly migrations: number;
	/** Number of databases done. */
	readonly done: number;
	readonly total: number;
	/** What the operator should know of what was done. */
	readonly notice?: string | undefined;
}

export interface StoreStatus {
	readonly servers: number;
	/** Of the only server, where there can be only one. */
	readonly url?: string | undefined;
	/** Where people reach the consoles of the servers, without a path, each once. */
	readonly consoleUrls: readonly string[];
	/** When the last `caskade backup` began, ISO 8601. PostgreSQL has backups of its own. */
	readonly lastBackupAt?: string | undefined;
	/** What has changed in how the database sorts text, where something has. */
	readonly collation?: string | undefined;
}

export interface Check {
	readonly check: string;
	readonly ok: boolean;
	/** Whether somebody may want to set something, though nothing is wrong. */
	readonly isNote?: boolean;
	readonly detail: string;
}

/** Accounts' databases as a whole: made, deleted, migrated, copied, checked. For commands, upkeep and tests. */
export interface Maintenance {
	/** The newest that this Caskade knows. */
	readonly schemas: Schemas;
	/**
	 * Removes deleted data of an account from the disk, as far as the engine can.
	 * @param options.rewrite rewrite a small database completely; writes to it wait meanwhile
	 * @throws OperatorError where other processes prevent it
	 */
	purge(accountId: number, options: { rewrite: boolean }): Promise<void>;
	/** Amount of background work waiting in an account, capped at some thousands. Does not migrate its schema. */
	waiting(accountId: number): Promise<number>;
	/**
	 * Creates the database of a new account.
	 * @param ownDatabase address of the account's own database server
	 * @throws OperatorError where that server cannot be used
	 */
	createAccountDatabase(accountId: number, ownDatabase?: string): Promise<void>;
	/**
	 * Deletes the database of an account that servers no longer use. Deleting it twice is no error.
	 * @throws OperatorError where its server cannot be reached
	 */
	deleteAccountDatabase(accountId: number): Promise<void>;
	/** Migrates every database to the newest schema, each in its own transaction, while others stay in use. */
	migrate(progress: (step: MigrationProgress) => void): Promise<void>;
	/** Writes a consistent copy of every database into a new folder, while servers run. */
	backup(folder: string, progress: (step: { database: string; bytes: number }) => void): Promise<void>;
	/** Who serves the store now, and when it was last backed up. */
	status(): Promise<StoreStatus>;
	/** Checks the installation for problems. */
	runChecks(): AsyncIterable<Check>;
	/**
	 * Keeps servers from starting while the content is copied. On engines that cannot, the copy detects changes at its
	 * end.
	 * @returns a function that allows servers again
	 * @throws OperatorError where a server runs
	 */
	blockServers(): () => void;
}
