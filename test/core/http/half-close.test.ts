import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { type TestContext, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { connectTo, uploadHead } from '../../raw-http.ts';
import { openAccount } from '../../shared-server.ts';
import { browserUserAgent, event, type ServedAccount, startService } from '../../support.ts';

const tlsOptions = (url: string) => ({
	host: '127.0.0.1',
	port: Number(new URL(url).port),
	rejectUnauthorized: false,
	// Else this end would close the connection as soon as it has ended its half.
	allowHalfOpen: true,
});

/** What a client that sends a request and then closes its half of the connection gets. */
async function askOverTls(t: TestContext, url: string, request: string): Promise<string> {
	const socket = connectTls({ ...tlsOptions(url) });
	t.after(() => socket.destroy());
	await once(socket, 'secureConnect');
	let answer = '';
	socket.setEncoding('latin1').on('data', (text) => {
		answer += text;
	});
	socket.end(request);
	await once(socket, 'end');
	return answer;
}

async function askPlainly(t: TestContext, url: string, request: string): Promise<string> {
	const connection = await connectTo(t, url);
	connection.send(request);
	connection.end();
	const { status, body } = await connection.answer();
	await connection.closed;
	return `HTTP/1.1 ${status} ${body}`;
}

const requestsOf = ({ aid, key }: ServedAccount): [request: string, answer: RegExp][] => {
	const upload = JSON.stringify({ aid, data: [event()] });
	const hit = JSON.stringify({ aid });
	const hitHead = `POST /hit?include=scores HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\nuser-agent: ${browserUserAgent}`;
	const large = 'x'.repeat(17_000);
	return [
		['GET /readyz HTTP/1.1\r\nhost: a\r\n\r\n', /^HTTP\/1.1 200 .*"ready"/s],
		[uploadHead({ 'x-api-key': key, 'content-length': upload.length }) + upload, /^HTTP\/1.1 201 /],
		[`${hitHead}\r\ncontent-length: ${hit.length}\r\n\r\n${hit}`, /^HTTP\/1.1 200 .*"scores":/s],
		[`${hitHead}\r\ncontent-length: ${hit.length + 1}\r\n\r\n${hit}`, /^HTTP\/1.1 400 /],
		[
			`${hitHead}\r\ntransfer-encoding: chunked\r\n\r\n${large.length.toString(16)}\r\n${large}\r\n0\r\n\r\n`,
			/^HTTP\/1.1 413 /,
		],
	];
};

for (const [name, selfSigned, ask] of [
	['HTTP', false, askPlainly],
	['HTTPS', true, askOverTls],
] as const)
	test(`${name}: a client that half-closes after its request gets its answer`, async (t) => {
		const service = await startService(t, { selfSigned });
		for (const [request, answer] of requestsOf(service))
			assert.match(await ask(t, service.url, request), answer, request);
		assert.equal((await service.stored()).length, 1);
	});

test('HTTPS: an answer to a request that breaks is sent whole, however much comes behind', async (t) => {
	const { url } = await startService(t, { selfSigned: true });
	const large = 'x'.repeat(88_000);
	const head = 'POST /hit HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n';
	const broken = `${head}${large.length.toString(16)}\r\n${large}\r\nnot a length\r\n`;
	for (let number = 0; number < 20; number++)
		assert.match(await askOverTls(t, url, broken + 'y'.repeat(number * 1000)), /^HTTP\/1.1 4/);
});

test('the same for several requests on one connection', async (t) => {
	const service = await openAccount();
	const connection = await connectTo(t, service.url);
	const requests = [...requestsOf(service).slice(0, 3), ...requestsOf(service).slice(0, 3)];
	connection.send(requests.map(([request]) => request).join(''));
	connection.end();
	for (const [request, answer] of requests) {
		const { status, body } = await connection.answer();
		assert.match(`HTTP/1.1 ${status} ${body}`, answer, request);
	}
	await connection.closed;
});

test('a half-close without a request closes the connection', async (t) => {
	const { url } = await openAccount();
	for (const sent of ['', 'GET / HTTP/1.1\r\n']) {
		const connection = await connectTo(t, url);
		connection.send(sent);
		connection.end();
		await connection.closed;
	}
});

test('HTTP/2 has no half-close: closing within a request closes the connection, answered or not', async (t) => {
	const service = await startService(t, { selfSigned: true });
	for (const key of [service.key, 'wrong']) {
		const socket = connectTls({ ...tlsOptions(service.url), ALPNProtocols: ['h2'] });
		t.after(() => socket.destroy());
		await once(socket, 'secureConnect');
		const session = connectHttp2(service.url, { createConnection: () => socket });
		session.on('error', () => {});
		await once(session, 'connect');
		const stream = session.request({
			':method': 'POST',
			':path': '/subscription',
			expect: '100-continue',
			'x-api-key': key,
			'content-type': 'application/json',
			'content-length': 100,
		});
		stream.on('error', () => {});
		await once(stream, key === 'wrong' ? 'response' : 'continue');
		socket.end();
		await once(session, 'close');
	}
	assert.deepEqual(await service.stored(), []);
});

test('HTTP/2: closing without a request closes the connection', async (t) => {
	const { url } = await startService(t, { selfSigned: true });
	for (const sent of ['', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0']) {
		const socket = connectTls({ ...tlsOptions(url), ALPNProtocols: ['h2'] });
		t.after(() => socket.destroy());
		await once(socket, 'secureConnect');
		socket.resume();
		socket.end(sent);
		await once(socket, 'close');
	}
});
