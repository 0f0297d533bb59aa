import { type PostgresServer, startPostgres } from './store/postgres/server.ts';

let server: PostgresServer | undefined;

/** One server for all test files of a run; a file that runs by itself starts its own. */
export async function globalSetup(): Promise<void> {
	server = await startPostgres();
	process.env.TEST_DATABASE_URL = server.url;
}

export async function globalTeardown(): Promise<void> {
	await server?.stop();
}
