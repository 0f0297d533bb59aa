import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { readTls } from '../../../src/core/http/https.ts';
import { eventually } from '../../eventually.ts';
import { appOver } from '../../faulty-store.ts';

const stalledMs = 800;

/** A server that closes connections without progress after less time. */
async function listening(
	t: TestContext,
	isSecure: boolean,
): Promise<{ port: number; open: () => Promise<number> }> {
	const { app } = await appOver(t, {}, { tls: isSecure ? await readTls({ selfSigned: true }) : undefined });
	const server = app.server as Server;
	assert.equal(server.timeout, 192_000);
	server.timeout = stalledMs;
	await app.listen({ host: '127.0.0.1', port: 0 });
	const { port } = server.address() as { port: number };
	const open = () =>
		new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)));
	return { port, open };
}

async function connected(t: TestContext, port: number, isSecure: boolean): Promise<Socket> {
	const options = { host: '127.0.0.1', port, rejectUnauthorized: false };
	const socket = isSecure ? connectTls(options) : connect(options);
	t.after(() => socket.destroy());
	socket.on('error', () => {});
	await once(socket, isSecure ? 'secureConnect' : 'connect');
	return socket;
}

/** Answers of 1.5 MB: more than the system keeps for a client. */
const requests = 'GET /docs/api/swagger-ui-bundle.js HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(20);

for (const isSecure of [false, true])
	test(`${isSecure ? 'HTTPS' : 'HTTP'}: a client that never reads its answers is ended, one that reads slowly is not`, async (t) => {
		const { port, open } = await listening(t, isSecure);
		const stalled = await connected(t, port, isSecure);
		stalled.pause().write(requests);
		await eventually('the connection is closed', async () => (await open()) === 0, 2000);
		const slow = await connected(t, port, isSecure);
		slow.write(requests);
		let bytes = 0;
		slow.on('data', (chunk: Buffer) => {
			bytes += chunk.length;
		});
		for (let part = 0; part < 12; part++) {
			slow.pause();
			await delay(stalledMs / 8);
			slow.resume();
			await delay(10);
		}
		await eventually('all answers', () => bytes > 25_000_000, 5000);
		slow.destroy();
	});

test('HTTP/2: a connection that is idle for less than 72 s stays open', async (t) => {
	const { port, open } = await listening(t, true);
	const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
	t.after(() => session.destroy());
	await once(session, 'connect');
	await delay(stalledMs * 2);
	assert.equal(await open(), 1);
	const [headers] = await once(session.request({ ':path': '/healthz' }).resume(), 'response');
	assert.equal(headers[':status'], 200);
	session.destroy();
});
