import type { BenchmarkName, Options } from './options.ts';
import type { PostgresServer } from './postgres-server.ts';
import type { Caskade } from './servers.ts';
import type { Row } from './table.ts';

/** Passed to every benchmark. */
export interface BenchContext {
	readonly options: Options;
	/** The service on SQLite. */
	readonly caskade: Caskade;
	/** Starts a PostgreSQL server when the first benchmark asks for it. */
	readonly onPostgres: () => Promise<OnPostgres>;
	/** Prints a progress message. */
	readonly progress: (text: string) => void;
	/** Peak throughput of uploads, if the benchmark `thirty` has measured it. */
	peakPerSecond?: number;
}

/** The service on PostgreSQL. */
export interface OnPostgres {
	readonly server: PostgresServer;
	readonly caskade: Caskade;
}

/** A benchmark that `--only` can select. It yields one or more rows of the table. */
export interface Benchmark {
	readonly name: BenchmarkName;
	/** @throws Error if the answers or the stored rows are not those expected */
	measure(bench: BenchContext): Promise<BenchmarkResult>;
}

export interface BenchmarkResult {
	readonly rows: readonly Row[];
	/** Results of checks, and details that do not fit into a row. */
	readonly notes: readonly string[];
}
