import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { inBatches } from '../../../src/core/http/batches.ts';
import { selfSignedPair } from '../../../src/core/http/self-signed.ts';
import { createServer } from '../../../src/core/node-http.ts';

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/** A server that handles requests in batches, and a way to connect to it. */
async function serve(t: TestContext, handle: Listener, { isSecure = false, inOneGo = call } = {}) {
	const server = isSecure ? createSecureServer(await selfSignedPair()) : createServer();
	server.on('request', inBatches(server, handle as RequestListener, inOneGo));
	server.listen(0, '127.0.0.1');
	t.after(() => server.close().closeAllConnections());
	await once(server, 'listening');
	const { port } = server.address() as AddressInfo;
	const at = { host: '127.0.0.1', port, rejectUnauthorized: false };
	async function open(): Promise<Socket> {
		const socket = isSecure ? connectTls(at) : connect(at);
		t.after(() => socket.destroy());
		await once(socket, isSecure ? 'secureConnect' : 'connect');
		return socket.setEncoding('latin1');
	}
	return { server, open };
}

const call = (handleAll: () => void) => handleAll();
const requestOf = (path: string) => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`;
/** Answers with the path. */
const echo: Listener = ({ url }, response) => response.end(url);

/** Whether an answer has been given and waits to be sent. */
const isHeld = ({ socket }: IncomingMessage | ServerResponse) =>
	socket !== null && socket.writableCorked > 0 && socket.writableLength > 0;

/** Reads until the answers so far end with a text. */
async function readUntil(socket: Socket, end: string): Promise<string> {
	let received = '';
	while (!received.endsWith(end)) received += (await once(socket, 'data'))[0];
	return received;
}

for (const isSecure of [false, true]) {
	const name = isSecure ? 'HTTPS' : 'HTTP';

	test(`${name}: requests that arrive together are all handled before the first answer is sent`, async (t) => {
		const handled: IncomingMessage[] = [];
		const areHeld: boolean[] = [];
		const { open } = await serve(
			t,
			(request, response) => {
				areHeld.push(...handled.map(isHeld));
				handled.push(request);
				echo(request, response);
			},
			{ isSecure },
		);
		const sockets = [await open(), await open(), await open()];
		// All bytes are at the server before it looks for the first.
		for (const [index, socket] of sockets.entries()) socket.write(requestOf(`/${index}`));
		for (const [index, socket] of sockets.entries()) await readUntil(socket, `/${index}`);
		assert.deepEqual(areHeld, [true, true, true]);
	});

	test(`${name}: answers that become ready together later are sent together`, async (t) => {
		const waiting: ServerResponse[] = [];
		const { open } = await serve(t, (_request, response) => waiting.push(response), { isSecure });
		const [first, second] = [await open(), await open()];
		first.write(requestOf('/1'));
		second.write(requestOf('/2'));
		while (waiting.length < 2) await new Promise(setImmediate);
		for (const response of waiting) response.end('late');
		assert.deepEqual(waiting.map(isHeld), [true, true]);
		await readUntil(first, 'late');
		await readUntil(second, 'late');
	});
}

/** Sends a request on each of many connections, at once. The server has accepted them all before. */
async function sendAtOnce(
	{ server, open }: Awaited<ReturnType<typeof serve>>,
	count: number,
): Promise<Socket[]> {
	const accepted = new Promise<void>((resolve) => {
		let connections = 0;
		server.on('connection', () => {
			if (++connections === count) resolve();
		});
	});
	const sockets = await Promise.all(Array.from({ length: count }, open));
	await accepted;
	for (const [index, socket] of sockets.entries()) socket.write(requestOf(`/${index}`));
	return sockets;
}

test('a batch is limited, and the rest is handled after it', async (t) => {
	const batches: number[] = [];
	let handled = 0;
	const count: Listener = (request, response) => {
		handled++;
		echo(request, response);
	};
	const service = await serve(t, count, {
		inOneGo(handleAll) {
			const before = handled;
			handleAll();
			batches.push(handled - before);
		},
	});
	const sockets = await sendAtOnce(service, 150);
	for (const [index, socket] of sockets.entries()) await readUntil(socket, `/${index}`);
	assert.equal(handled, 150);
	assert.equal(Math.max(...batches), 64);
});

test('closing idle connections sends the answers that are ready', async (t) => {
	const { server, open } = await serve(t, (request, response) => {
		setImmediate(() => {
			echo(request, response);
			server.closeIdleConnections();
		});
	});
	const socket = await open();
	socket.write(requestOf('/last'));
	await readUntil(socket, '/last');
	await once(socket, 'end');
});

test('a request whose connection is gone before its turn is not handled', async (t) => {
	const handled: (string | undefined)[] = [];
	const service = await serve(t, (request, response) => {
		handled.push(request.url);
		echo(request, response);
	});
	let arrived = 0;
	let gone: string | undefined;
	service.server.prependListener('request', ({ url, socket }: IncomingMessage) => {
		if (++arrived < 150) return;
		gone = url;
		socket.destroy();
	});
	const sockets = await sendAtOnce(service, 150);
	for (const [index, socket] of sockets.entries())
		if (`/${index}` !== gone) await readUntil(socket, `/${index}`);
	assert.equal(handled.length, 149);
	assert(!handled.includes(gone));
});

test('several requests of one connection get their answers in order', async (t) => {
	const { open } = await serve(t, echo);
	const socket = await open();
	socket.write(['/1', '/2', '/3'].map(requestOf).join(''));
	const received = await readUntil(socket, '/3');
	assert.deepEqual(received.match(/\/\d(?=HTTP|$)/g), ['/1', '/2', '/3']);
});

test('an answer in pieces, and one that ends its connection, arrive whole', async (t) => {
	const { open } = await serve(t, async (_request, response) => {
		response.writeHead(200, { connection: 'close' });
		response.write('a'.repeat(100_000));
		await new Promise(setImmediate);
		response.write('b'.repeat(100_000));
		response.end('c');
	});
	const socket = await open();
	socket.write(requestOf('/'));
	const received = await readUntil(socket, 'c\r\n0\r\n\r\n');
	assert.equal(received.match(/[ab]{1000}/g)?.length, 200);
	await once(socket, 'end');
});
