import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2';
import { type TestContext, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { startService } from '../../support.ts';

async function http2To(t: TestContext, url: string): Promise<ClientHttp2Session> {
	const session = connectHttp2(url, { rejectUnauthorized: false });
	session.on('error', () => {});
	t.after(() => session.destroy());
	await once(session, 'connect');
	return session;
}

async function answerOf(stream: ClientHttp2Stream): Promise<{ status: number; id: unknown; body: string }> {
	stream.on('error', () => {});
	const [headers] = await once(stream, 'response');
	let body = '';
	stream.setEncoding('utf8').on('data', (text) => {
		body += text;
	});
	await once(stream, 'end');
	return { status: headers[':status'], id: headers['x-request-id'], body };
}

test('headers over 16 KiB: 431, as over HTTP/1.1, and the connection stays open', async (t) => {
	const { url } = await startService(t, { selfSigned: true });
	const session = await http2To(t, url);
	for (const headers of [
		{ ':path': '/healthz', 'x-large': 'x'.repeat(17_000) },
		{ ':path': `/${'x'.repeat(17_000)}` },
		{
			':path': '/healthz',
			...Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`x-${n}`, 'y'.repeat(200)])),
		},
		{ ':path': '/hit', ':method': 'POST', 'x-large': 'x'.repeat(17_000), expect: '100-continue' },
	]) {
		const { status, id, body } = await answerOf(session.request(headers, { endStream: true }));
		assert.equal(status, 431);
		assert.equal(body, '{"message":"Request header fields too large.","validationErrors":null}');
		assert.match(String(id), /^[0-9a-f-]{36}$/);
	}
	const within = session.request({ ':path': '/healthz', 'x-large': 'x'.repeat(15_000) });
	assert.equal((await answerOf(within)).status, 200);
});

test('an answer without a body ends the stream, although nobody reads the body of the request', async (t) => {
	const { url } = await startService(t, { selfSigned: true });
	const session = await http2To(t, url);
	for (const [method, path, status] of [
		['OPTIONS', '/hit', 204],
		['HEAD', '/healthz', 200],
	] as const) {
		const stream = session.request({ ':method': method, ':path': path }, { endStream: false });
		const closed = once(stream, 'close');
		stream.end(Buffer.alloc(100_000));
		assert.equal((await answerOf(stream)).status, status);
		await closed;
		assert.equal(stream.rstCode, 0);
	}
});

test('a request whose body does not end times out after two minutes, however much is still arriving', async (t) => {
	const service = await startService(t, { selfSigned: true });
	const session = await http2To(t, service.url);
	t.mock.timers.enable({ apis: ['setTimeout'] });
	for (const length of [{}, { 'content-length': 1000 }]) {
		const stream = session.request({
			':method': 'POST',
			':path': '/hit',
			'content-type': 'application/json',
			expect: '100-continue',
			...length,
		});
		const answer = answerOf(stream);
		await once(stream, 'continue');
		stream.write('{"aid":');
		t.mock.timers.tick(119_000);
		stream.write('"c-a-');
		await new Promise((resolve) => setImmediate(resolve));
		t.mock.timers.tick(1000);
		const { status, id, body } = await answer;
		assert.equal(status, 408);
		assert.equal(body, '{"message":"Request timeout.","validationErrors":null}');
		assert.match(String(id), /^[0-9a-f-]{36}$/);
		t.mock.timers.tick(1000);
		await once(stream, 'close');
	}
	assert.equal((await answerOf(session.request({ ':path': '/healthz' }))).status, 200);
});

test('a connection has at most 128 concurrent streams', async (t) => {
	const service = await startService(t, { selfSigned: true });
	const session = await http2To(t, service.url);
	if (session.remoteSettings.maxConcurrentStreams !== 128) await once(session, 'remoteSettings');
	assert.equal(session.remoteSettings.maxConcurrentStreams, 128);
});

/** RFC 9113, 4.1. */
function frame(type: number, flags: number, streamId: number, payload: Uint8Array): Buffer {
	const head = Buffer.alloc(9);
	head.writeUIntBE(payload.length, 0, 3);
	head.writeUInt8(type, 3);
	head.writeUInt8(flags, 4);
	head.writeUInt32BE(streamId, 5);
	return Buffer.concat([head, payload]);
}

test('a connection that keeps resetting streams is closed, others are not', async (t) => {
	const { url } = await startService(t, { selfSigned: true });
	const port = Number(new URL(url).port);
	const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['h2'] });
	t.after(() => socket.destroy());
	socket.on('error', () => {});
	await once(socket, 'secureConnect');
	socket.resume();
	socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
	socket.write(frame(4, 0, 0, Buffer.alloc(0)));
	// GET, /, https; the authority is `a`.
	const headers = Buffer.from([0x82, 0x84, 0x87, 0x41, 1, 0x61]);
	for (let stream = 1; stream < 4000; stream += 2)
		socket.write(
			Buffer.concat([frame(1, 5, stream, headers), frame(3, 0, stream, Buffer.from([0, 0, 0, 8]))]),
		);
	await once(socket, 'close');
	assert.equal((await answerOf((await http2To(t, url)).request({ ':path': '/healthz' }))).status, 200);
});
