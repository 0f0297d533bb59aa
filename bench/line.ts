import type { LineName, Options } from './options.ts';
import type { PostgresServer } from './postgres-server.ts';
import type { Caskade } from './servers.ts';
import type { Row } from './table.ts';

/** What the lines of the table share. */
export interface Bench {
	readonly options: Options;
	/** On SQLite. */
	readonly caskade: Caskade;
	/** Starts a PostgreSQL server when the first line asks for it. */
	readonly onPostgres: () => Promise<OnPostgres>;
	/** Says how far it is. */
	readonly progress: (text: string) => void;
	/** Large uploads per second under full load, once that is measured. */
	peakPerSecond?: number;
}

/** The service on PostgreSQL. */
export interface OnPostgres {
	readonly server: PostgresServer;
	readonly caskade: Caskade;
}

/** One `--only` of the bench; may give several rows. */
export interface Line {
	readonly name: LineName;
	/** @throws Error where what was measured is not what it should be */
	measure(bench: Bench): Promise<LineResult>;
}

export interface LineResult {
	readonly rows: readonly Row[];
	/** What was checked, and what the rows have no room for. */
	readonly notes: readonly string[];
}
