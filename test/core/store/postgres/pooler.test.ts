import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from '../../../free-port.ts';
import { assertRefused, caskade } from '../../../process.ts';
import { addClient, browserUserAgent, event, serveAt, temporaryFolder } from '../../../support.ts';
import { openStore } from '../../../whole.ts';
import { freshPostgresDatabase } from '../postgres-server.ts';

const pgbouncer = '/usr/sbin/pgbouncer';
const skip = existsSync(pgbouncer) ? false : `there is no ${pgbouncer}: apt-get install pgbouncer`;

/** Starts PgBouncer in front of a database. @returns the database's address through it */
async function startPooler(
	t: TestContext,
	address: string,
	mode: 'session' | 'transaction',
): Promise<string> {
	const { hostname, port, pathname, username, password } = new URL(address);
	const folder = temporaryFolder(t);
	// It refuses to run as root, too, and reads these files as somebody else.
	chmodSync(folder, 0o755);
	const ownPort = await freePort();
	const file = join(folder, 'pgbouncer.ini');
	const name = pathname.slice(1);
	writeFileSync(join(folder, 'users.txt'), `"${username}" "${password}"\n`);
	writeFileSync(
		file,
		[
			'[databases]',
			`${name} = host=${hostname} port=${port} dbname=${name} user=${username} password=${password}`,
			'[pgbouncer]',
			...['listen_addr = 127.0.0.1', `listen_port = ${ownPort}`, 'unix_socket_dir ='],
			...['auth_type = plain', `auth_file = ${join(folder, 'users.txt')}`],
			...[`pool_mode = ${mode}`, 'default_pool_size = 40', 'max_client_conn = 200'],
		].join('\n'),
	);
	const as = userInfo().uid === 0 ? { uid: 65534, gid: 65534 } : {};
	const child = spawn(pgbouncer, ['--quiet', file], { stdio: 'ignore', ...as });
	t.after(() => child.kill('SIGKILL'));
	const url = new URL(address);
	url.host = `127.0.0.1:${ownPort}`;
	for (let attempts = 0; ; attempts++) {
		const client = new pg.Client({ connectionString: url.href });
		try {
			await client.connect();
			await client.end();
			return url.href;
		} catch (error) {
			if (attempts === 50) throw error;
			await delay(100);
		}
	}
}

suite('PgBouncer', { skip }, () => {
	test('in transaction mode is recognised by serve and doctor', async (t) => {
		const direct = await freshPostgresDatabase();
		await (await openStore(direct)).close();
		const address = await startPooler(t, direct, 'transaction');
		const sentence =
			/A pooler in transaction mode is in front of the database at postgres:\/\/127\.0\.0\.1:\d+\/\w+, and Caskade needs sessions: set pool_mode = session for this database, or name the PostgreSQL server itself\./;
		assertRefused(await caskade(['serve', '--port', '0', '--database', address]), sentence);
		const { code, stdout } = await caskade(['doctor', '--database', address]);
		assert.equal(code, 1);
		assert.match(stdout, sentence);
	});

	test('in session mode serves everything', async (t) => {
		const address = await startPooler(t, await freshPostgresDatabase(), 'session');
		const store = await openStore(address);
		const { aid, key } = await addClient(store);
		await store.close();
		const server = await serveAt(address);
		t.after(() => server.stop());
		const post = (path: string, body: unknown, headers: Record<string, string>) =>
			fetch(`${server.url}${path}`, {
				method: 'POST',
				headers: { 'content-type': 'application/json', ...headers },
				body: JSON.stringify(body),
			});
		const uploads = Array.from({ length: 30 }, () =>
			post('/subscription', { aid, data: [event()] }, { 'x-api-key': key }),
		);
		for (const { status } of await Promise.all(uploads)) assert.equal(status, 201);
		const hit = await post('/hit', { aid }, { 'user-agent': browserUserAgent });
		assert.equal(hit.status, 200);
		const { cask } = (await hit.json()) as { cask: string };
		assert.equal((await fetch(`${server.url}/visscores?cask=${cask}`)).status, 200);
		assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
		const { code, stdout } = await caskade(['doctor', '--database', address]);
		assert.equal(code, 0, stdout);
	});
});
