import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { assertRefused, caskade, ServeProcess } from '../../../process.ts';
import { addClient, browserUserAgent, event, serveAt } from '../../../support.ts';
import { openStore } from '../../../whole.ts';
import { freshPostgresDatabase } from '../postgres-server.ts';
import { becomes, sessionOn } from './service.ts';

interface Limited {
	/** The database's address as a role that may open few connections. */
	readonly address: string;
	/** Opens connections of the same role. */
	readonly occupy: (count: number) => Promise<pg.Client[]>;
	readonly aid: string;
	readonly key: string;
}

async function limitedRole(t: TestContext, limit: number): Promise<Limited> {
	const admin = await freshPostgresDatabase();
	const session = await sessionOn(t, admin);
	const role = `few_${randomBytes(4).toString('hex')}`;
	const url = new URL(admin);
	await session.query(`CREATE ROLE ${role} LOGIN PASSWORD 'few' CONNECTION LIMIT ${limit}`);
	await session.query(`ALTER DATABASE ${url.pathname.slice(1)} OWNER TO ${role}`);
	url.username = role;
	url.password = 'few';
	const address = url.href;
	const store = await openStore(address);
	const { aid, key } = await addClient(store);
	await store.close();
	const occupy = (count: number) =>
		Promise.all(
			Array.from({ length: count }, async () => {
				const client = new pg.Client({ connectionString: address });
				client.on('error', () => {});
				await client.connect();
				t.after(() => client.end());
				return client;
			}),
		);
	return { address, occupy, aid, key };
}

test('a server that may open too few connections is refused with the sum', async (t) => {
	const { address, occupy } = await limitedRole(t, 20);
	await occupy(4);
	const ended = await caskade(['serve', '--port', '0', '--database', address]);
	assertRefused(
		ended,
		/^caskade: A server needs 18 connections to the database at \S+, and the CONNECTION LIMIT of the role few_\w+ allows 20, of which 4 are in use: raise it to at least 22, 28 for full speed\.\n$/,
	);
});

test('a server takes as few connections as it may open, and never more than it was told', async (t) => {
	for (const [limit, connections, expected] of [
		[40, undefined, 24],
		[23, undefined, 21],
		[40, 18, 18],
	] as const) {
		const { address, aid, key } = await limitedRole(t, limit);
		const session = await sessionOn(t, address);
		const told = connections === undefined ? [] : ['--connections', `${connections}`];
		await using server = await ServeProcess.start(['--database', address, ...told]);
		const most = await mostWhile(session, async () => {
			for (let round = 0; round < 3; round++)
				await Promise.all(
					Array.from({ length: 60 }, async (_, index) => {
						const headers = { 'content-type': 'application/json', 'user-agent': browserUserAgent };
						const send = (path: string, body?: object) =>
							fetch(`${server.url}${path}`, {
								...(body && { method: 'POST', body: JSON.stringify(body) }),
								headers: path.startsWith('/hit') ? headers : { ...headers, 'x-api-key': key },
							}).then((answer) => answer.json());
						const tid = `T-${round}-${index}`;
						await send('/subscription', { aid, data: [event({ tid })] });
						await Promise.all([
							send('/hit?include=scores', { aid, events: [{ name: 'sale', tid }] }),
							send(`/subscription/${tid}?aid=${aid}`),
							send('/usage'),
						]);
					}),
				);
		});
		assert.ok(most <= expected && most > expected / 3, `${most} connections where ${expected} are allowed`);
		t.diagnostic(`${most} of ${expected} connections`);
	}
});

/** The most connections that others have to the session's database while something runs. */
async function mostWhile(session: pg.Client, work: () => Promise<void>): Promise<number> {
	let most = 0;
	let isOver = false;
	const ended = work().finally(() => {
		isOver = true;
	});
	while (!isOver) {
		const { rows } = await session.query(
			'SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
		);
		most = Math.max(most, rows[0].count);
	}
	await ended;
	return most;
}

test('while the database refuses connections, requests get 503 and /readyz too; then all is well again', async (t) => {
	const { address, occupy, aid, key } = await limitedRole(t, 24);
	const server = await serveAt(address);
	t.after(() => server.stop());
	const upload = () =>
		fetch(`${server.url}/subscription`, {
			method: 'POST',
			headers: { 'content-type': 'application/json', 'x-api-key': key },
			body: JSON.stringify({ aid, data: [event()] }),
		});
	const hit = () =>
		fetch(`${server.url}/hit`, {
			method: 'POST',
			headers: { 'content-type': 'application/json', 'user-agent': browserUserAgent },
			body: JSON.stringify({ aid }),
		});
	const others: pg.Client[] = [];
	for (let isFull = false; !isFull; )
		await occupy(1).then(
			(more) => others.push(...more),
			() => {
				isFull = true;
			},
		);
	for (const send of [upload, hit]) {
		const answer = await send();
		assert.equal(answer.status, 503, await answer.clone().text());
		assert.equal(answer.headers.get('retry-after'), '1');
	}
	await becomes('not ready', 2500, async () => (await fetch(`${server.url}/readyz`)).status === 503);
	for (const other of others) await other.end();
	await becomes('ready', 2500, async () => (await fetch(`${server.url}/readyz`)).status === 200);
	assert.equal((await upload()).status, 201);
	assert.equal((await hit()).status, 200);
});

test('an address may name the socket of a server on the same machine', async (t) => {
	const url = new URL(await freshPostgresDatabase());
	const session = await sessionOn(t, url.href);
	const [shown] = (await session.query('SHOW unix_socket_directories')).rows;
	const [folder] = String(shown?.unix_socket_directories).split(', ');
	url.search = `?host=${folder}`;
	const store = await openStore(url.href);
	t.after(() => store.close());
	const { aid, key } = await addClient(store);
	await using server = await ServeProcess.start(['--database', url.href]);
	const upload = await fetch(`${server.url}/subscription`, {
		method: 'POST',
		headers: { 'content-type': 'application/json', 'x-api-key': key },
		body: JSON.stringify({ aid, data: [event()] }),
	});
	assert.equal(upload.status, 201);
	const { rows } = await session.query(
		"SELECT count(*)::int AS clients FROM pg_stat_activity WHERE application_name = 'caskade' AND datname = current_database() AND client_addr IS NULL",
	);
	assert.ok(rows[0].clients > 0);
});
