import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { StoreCapability } from '../capability.ts';
import { OperatorError } from '../errors.ts';
import type { OlderSchema, OpenStore } from './store.ts';

export interface StageChoice {
	/** A valid `--stage`; undefined for the deployment without a path prefix. */
	readonly stage?: string | undefined;
}

export interface OpenOptions extends StageChoice {
	readonly olderSchema?: OlderSchema | undefined;
	/** Refuse a place without data instead of beginning some there: its name may be mistyped. */
	readonly mustExist?: boolean;
	/** How many connections to PostgreSQL this process may open; by default as many as are useful and allowed. */
	readonly connections?: number | undefined;
	/** Refuse a server that allows too few connections to serve. */
	readonly serves?: boolean;
	/** Host and port by which this process reaches a cluster's node, by host and port by which the nodes do. */
	readonly nodeAddress?: Readonly<Record<string, string>> | undefined;
	/** See `StorePlace`. */
	readonly erasureList?: string | undefined;
	/** Milliseconds since 1970, for tests; by default the store's own clock. */
	readonly now?: () => number;
	/** What keeps something there besides the core. */
	readonly capabilities?: readonly StoreCapability[];
}

/** The data folder of an address; undefined where it is a server's. */
export function dataFolderAt(address: string, stage?: string): string | undefined {
	const [, folder] = /^sqlite:(.+)$/.exec(address) ?? [];
	return folder !== undefined && stage !== undefined ? join(folder, 'stages', stage) : folder;
}

/**
 * Opens the databases at a `--database` address.
 * @param options.stage a separate deployment at that address: a subfolder, or schemas with its name
 * @param address `sqlite:FOLDER` or `postgres://user:password@host:port/database`
 * @throws OperatorError where the address is of an unknown kind
 */
export async function openDatabases(
	address: string,
	{ mustExist = false, ...options }: OpenOptions = {},
): Promise<OpenStore> {
	const { stage, now, olderSchema, erasureList, capabilities = [] } = options;
	const folder = dataFolderAt(address, stage);
	if (folder !== undefined) {
		const { SqliteStore } = await import('./sqlite/sqlite-store.ts');
		if (mustExist && !existsSync(join(folder, 'control.sqlite')))
			throw new OperatorError(
				`There is no data in ${resolve(folder)}; name the data folder with --database sqlite:FOLDER, or CASKADE_DATABASE. 'caskade account create' and 'caskade serve' create one.`,
			);
		return new SqliteStore(folder, { now, olderSchema, erasureList, capabilities });
	}
	const [, scheme] = /^([a-z]+):.+$/.exec(address) ?? [];
	if ((scheme === 'postgres' || scheme === 'postgresql') && URL.canParse(address)) {
		const { PostgresStore } = await import('./postgres/postgres-store.ts');
		return PostgresStore.open(address, { ...options, mustExist });
	}
	throw new OperatorError(
		`'${scheme ?? address}' is not a database address; write sqlite:FOLDER or postgres://….`,
	);
}
