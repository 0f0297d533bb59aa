import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { test } from 'node:test';
import { selfSignedPair } from '../../../src/core/http/self-signed.ts';
import { appOver, type TestApp } from '../../faulty-store.ts';
import { answerToWriter, connectTo, uploadHead } from '../../raw-http.ts';
import { event } from '../../support.ts';

/** What a server answers while it drains, by the head of the request. */
const requestsOf = ({ aid, key }: TestApp): [status: number, request: string][] => {
	const upload = (body: string, headers: Record<string, string | number> = {}) =>
		uploadHead({ 'x-api-key': key, 'content-length': body.length, ...headers }) + body;
	const get = (target: string, method = 'GET') => `${method} ${target} HTTP/1.1\r\nhost: a\r\n\r\n`;
	return [
		[201, upload(JSON.stringify({ aid, data: [event()] }))],
		[200, get('/healthz')],
		[503, get('/readyz')],
		[204, get('/hit', 'OPTIONS')],
		[400, upload('no JSON')],
		[400, upload(JSON.stringify({ aid: 'c-a-nobody', data: [event()] }))],
		[400, upload(JSON.stringify({ aid, data: [{}] }))],
		[403, upload('{}', { 'x-api-key': 'wrong' })],
		[403, get('/subscription', 'OPTIONS')],
		[415, upload('{}', { 'content-type': 'image/png' })],
		[413, upload('{}', { 'content-length': 300_000 })],
		[
			413,
			`${uploadHead({ 'x-api-key': key, 'transfer-encoding': 'chunked' })}${'40001\r\n'}${'x'.repeat(0x40001)}`,
		],
		[404, get('/nothing')],
		[405, get('/hit')],
		[401, get('/visscores')],
		[400, get('/%ZZ')],
		[400, get('/hit.gif')],
		[400, 'GET /healthz HTTP/1.1\r\n\r\n'],
		[400, 'no HTTP\r\n\r\n'],
		[404, get('a:1', 'CONNECT')],
		[431, get(`/${'x'.repeat(17_000)}`)],
	];
};

test('every answer of a draining server announces that it closes the connection', async (t) => {
	const draining = await appOver(t, {}, { isDraining: () => true });
	const url = await draining.app.listen({ host: '127.0.0.1', port: 0 });
	for (const [status, request] of requestsOf(draining)) {
		const connection = await connectTo(t, url);
		connection.send(request);
		const answer = await connection.answer();
		assert.equal(answer.status, status, request.slice(0, 200));
		assert.equal(answer.headers.get('connection'), 'close', request.slice(0, 200));
		await connection.closed;
	}
});

test('a client that is refused while sending its body gets the answer before the connection closes', async (t) => {
	for (const isDraining of [true, false]) {
		const { app, key } = await appOver(t, {}, { isDraining: () => isDraining });
		const url = await app.listen({ host: '127.0.0.1', port: 0 });
		for (const [status, bytes, headers] of [
			[403, 200_000, { 'x-api-key': 'wrong', 'content-length': 200_000 }],
			[403, 600_000, { 'x-api-key': 'wrong', 'content-length': 600_000 }],
			[413, 600_000, { 'x-api-key': key, 'content-length': 600_000 }],
			[415, 200_000, { 'x-api-key': key, 'content-length': 200_000, 'content-type': 'image/png' }],
		] as const) {
			const head = uploadHead({ ...headers, connection: 'close' });
			const answer = await answerToWriter(t, url, head, bytes);
			assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `), `${status} of ${bytes}`);
			assert.match(answer, /^connection: close\r$/im);
		}
	}
});

test('who takes longer than a second to send what is too large, as over a slow line, gets the answer, too', async (t) => {
	const { app, key } = await appOver(t, {});
	const url = await app.listen({ host: '127.0.0.1', port: 0 });
	const head = uploadHead({ 'x-api-key': key, 'content-length': 600_000 });
	const beganMs = performance.now();
	assert.match(await answerToWriter(t, url, head, 600_000, { pauseMs: 75 }), /^HTTP\/1.1 413 /);
	assert.ok(performance.now() - beganMs > 1000);
});

test('HTTP/2: a draining server sends GOAWAY on every connection', async (t) => {
	const { app } = await appOver(t, {}, { isDraining: () => true, tls: { pair: await selfSignedPair() } });
	const address = await app.listen({ host: '127.0.0.1', port: 0 });
	for (const headers of [
		{ ':path': '/healthz' },
		{ ':path': '/nothing' },
		{ ':path': '/%ZZ' },
		{ ':path': '/hit', ':method': 'BREW' },
		{ ':path': '/hit', 'x-large': 'x'.repeat(17_000) },
		{ ':method': 'CONNECT', ':authority': 'a:1' },
	]) {
		const session = connectHttp2(address.replace('http:', 'https:'), { rejectUnauthorized: false });
		t.after(() => session.destroy());
		const goaway = once(session, 'goaway');
		const stream = session.request(headers, { endStream: true });
		const [answer] = await once(stream, 'response');
		assert.ok(answer['x-request-id']);
		assert.equal((await goaway)[0], 0, JSON.stringify(headers).slice(0, 100));
		stream.resume();
		await once(stream, 'close');
	}
});
