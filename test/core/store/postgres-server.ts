import { allTests } from '../../at-end.ts';
import { openStore } from '../../whole.ts';
import { createDatabase, type PostgresServer, startPostgres } from './postgres/server.ts';

/** A server that the tests of this process share. */
let server: Promise<PostgresServer> | undefined;

function postgresServer(): Promise<PostgresServer> {
	if (!server) {
		server = startPostgres();
		allTests.after(async () => (await server)?.stop());
	}
	return server;
}

/** The address of a new, empty database on that server. */
export async function freshPostgresDatabase(encoding?: string): Promise<string> {
	return createDatabase(await postgresServer(), { ...(encoding && { encoding }) });
}

/** The address of a new, empty database that sorts as ICU does for a locale. */
export async function freshIcuDatabase(icuLocale: string): Promise<string> {
	return createDatabase(await postgresServer(), { icuLocale });
}

/** Name of a database with the tables that every installation has; created once. */
let template: Promise<string> | undefined;

/** The address of a new database with the tables of an unused installation: quicker than an empty one. */
export async function installedPostgresDatabase(): Promise<string> {
	template ??= makeTemplate();
	return createDatabase(await postgresServer(), { template: await template });
}

async function makeTemplate(): Promise<string> {
	const address = await freshPostgresDatabase();
	const store = await openStore(address);
	// The first account takes over what the creation of an account has left behind.
	await store.createAccountDatabase(1);
	await store.close();
	return new URL(address).pathname.slice(1);
}
