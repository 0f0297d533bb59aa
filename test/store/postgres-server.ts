import { after } from 'node:test';
import { createDatabase, type PostgresServer, startPostgres } from './postgres/server.ts';

/** For the tests of one file. */
let server: Promise<PostgresServer> | undefined;

// Registered here, since a hook registered inside a test would end with that test.
after(async () => (await server)?.stop());

function postgresServer(): Promise<PostgresServer> {
	server ??= startPostgres();
	return server;
}

/** The address of a new, empty database on that server. */
export async function freshPostgresDatabase(encoding?: string): Promise<string> {
	return createDatabase(await postgresServer(), encoding);
}
