import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { openStore } from '../../../src/store/open.ts';
import { assertRefused, caskade } from '../../process.ts';
import { addClient, browserUserAgent, event, serveAt } from '../../support.ts';
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
		/^caskade: A server needs 18 connections to the database at \S+, and the CONNECTION LIMIT of the role few_\w+ allows 20, of which 4 are in use: raise it to at least 22, 40 for full speed\.\n$/,
	);
});

test('a server takes as few connections as it may open, and never more than it was told', async (t) => {
	const { address } = await limitedRole(t, 30);
	for (const [connections, expected] of [
		[undefined, 27],
		[18, 18],
	] as const) {
		const store = await openStore(address, { connections, serves: true });
		assert.equal(store.place.connections, expected);
		await store.close();
	}
});

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
