import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { UsagePlan } from '../../../src/core/domain/usage-plan.ts';
import { selfSignedPair } from '../../../src/core/http/self-signed.ts';
import type { RunningServer } from '../../../src/core/serve-store.ts';
import { subscriptionEvents } from '../../../src/core/store/account/reading/stored-events.ts';
import type { OpenStore } from '../../../src/core/store/store.ts';
import { eventually } from '../../eventually.ts';
import { assertRefused, caskadeWithin, ServeProcess, TestProcess, withinASecond } from '../../process.ts';
import { serveHere } from '../../serve-here.ts';
import { addClient, event, serveAt, temporaryFolder } from '../../support.ts';
import { openStore } from '../../whole.ts';

interface TlsService {
	readonly server: RunningServer;
	readonly store: OpenStore;
	readonly aid: string;
	readonly key: string;
	readonly logged: string[];
	readonly certFile: string;
	readonly keyFile: string;
	stored(): Promise<string[]>;
}

/** A server that ends TLS itself, with a certificate in files. */
async function startTls(t: TestContext, plan: Partial<UsagePlan> = {}): Promise<TlsService> {
	const folder = temporaryFolder(t);
	const address = `sqlite:${join(folder, 'data')}`;
	const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
	await writePair(certFile, keyFile);
	const store = await openStore(address);
	const { aid, key } = await addClient(store, { plan });
	const logged: string[] = [];
	const server = await serveAt(address, { tlsCert: certFile, tlsKey: keyFile }, logged);
	t.after(async () => {
		await server.stop();
		await store.close();
	});
	return {
		server,
		store,
		aid,
		key,
		logged,
		certFile,
		keyFile,
		async stored() {
			const { id } = await store.control.account(aid);
			const events = await Array.fromAsync(subscriptionEvents(store, id));
			return events.map(({ tid }) => tid);
		},
	};
}

async function writePair(certFile: string, keyFile: string): Promise<void> {
	const { cert, key } = await selfSignedPair();
	writeFileSync(certFile, cert);
	writeFileSync(keyFile, key);
}

/** What curl says of a request: the answers with their headers, as they came. */
async function curl(args: readonly string[], input = ''): Promise<string> {
	await using process = new TestProcess('curl', ['-sSik', '--max-time', '20', ...args]);
	process.child.stdin?.end(input);
	const { stdout, stderr, code } = await process.ended;
	assert.equal(code, 0, stderr);
	return stdout;
}

const uploadArgs = ({ server, key }: TlsService) => [
	...['-H', `x-api-key: ${key}`, '-H', 'content-type: application/json', `${server.url}/subscription`],
];

/** An HTTP/2 connection of its own. */
async function http2To(t: TestContext, { server }: TlsService): Promise<ClientHttp2Session> {
	const session = connectHttp2(server.url, { rejectUnauthorized: false });
	session.on('error', () => {});
	t.after(() => session.destroy());
	await once(session, 'connect');
	return session;
}

interface Http2Answer {
	readonly status: number;
	readonly headers: Record<string, unknown>;
	readonly body: string;
}

/** Begins an upload; `answer` is there when all of it is. */
function beginUpload(
	session: ClientHttp2Session,
	key: string,
	headers: Record<string, string | number> = {},
) {
	const stream = session.request({
		':method': 'POST',
		':path': '/subscription',
		'x-api-key': key,
		'content-type': 'application/json',
		...headers,
	});
	stream.on('error', () => {});
	const answer = (async (): Promise<Http2Answer> => {
		const [received] = await once(stream, 'response');
		let body = '';
		stream.setEncoding('utf8').on('data', (text) => {
			body += text;
		});
		await once(stream, 'end');
		return { status: received[':status'], headers: received, body };
	})();
	return { stream, answer };
}

const versions = [
	{ flag: '--http1.1', name: 'HTTP/1.1' },
	{ flag: '--http2', name: 'HTTP/2' },
] as const;

for (const { flag, name } of versions) {
	test(`${name}: an upload is stored, and a wrong key is refused`, async (t) => {
		const service = await startTls(t);
		const { tid } = event();
		const body = JSON.stringify({ aid: service.aid, data: [event({ tid })] });
		const answer = await curl([flag, ...uploadArgs(service), '-d', body]);
		assert.match(answer, new RegExp(`^${name} 201 `));
		assert.match(answer, /^x-request-id: [0-9a-f-]{36}\r$/m);
		assert.deepEqual(await service.stored(), [tid]);
		const refused = await curl([flag, ...uploadArgs({ ...service, key: 'wrong' }), '-d', body]);
		assert.match(refused, /^HTTP\/[\d.]+ 403 /);
		assert.match(refused, /\r\n\r\n\{"message":"Forbidden","validationErrors":null\}$/);
	});

	test(`${name}: 100 Continue is sent only when the body is needed`, async (t) => {
		const service = await startTls(t);
		const body = JSON.stringify({ aid: service.aid, data: [event()] });
		const expect = ['-H', 'expect: 100-continue', '-d', body];
		assert.match(
			await curl([flag, ...uploadArgs(service), ...expect]),
			/^HTTP\/[\d.]+ 100 .*\r\n\r\nHTTP\/[\d.]+ 201 /s,
		);
		assert.match(
			await curl([flag, ...uploadArgs({ ...service, key: 'wrong' }), ...expect]),
			/^HTTP\/[\d.]+ 403 /,
		);
	});

	test(`${name}: a body that is too large is answered, with and without a content-length`, async (t) => {
		const service = await startTls(t);
		const large = 'x'.repeat(600_000);
		const known = await curl([flag, ...uploadArgs(service), '-H', 'expect:', '--data-binary', '@-'], large);
		assert.match(known, /HTTP\/[\d.]+ 413 /);
		const chunked = [flag, ...uploadArgs(service), '-H', 'expect:', '-X', 'POST', '-T', '-'];
		assert.match(await curl(chunked, large), /HTTP\/[\d.]+ 413 /);
	});
}

test('HTTP/2: a body that does not arrive in time is answered with 504, and its connection stays open', async (t) => {
	const service = await startTls(t, { timeoutMs: 300 });
	const session = await http2To(t, service);
	const slow = beginUpload(session, service.key);
	slow.stream.write('{"aid":');
	const late = await slow.answer;
	assert.deepEqual([late.status, late.body], [504, '{"message":"Endpoint request timed out"}']);
	await eventually('it is closed', () => slow.stream.closed || slow.stream.destroyed);
	assert.equal(slow.stream.rstCode, constants.NGHTTP2_NO_ERROR);
	const next = beginUpload(session, service.key);
	next.stream.end(JSON.stringify({ aid: service.aid, data: [event({ tid: 'next' })] }));
	assert.equal((await next.answer).status, 201);
	assert.deepEqual(await service.stored(), ['next']);
});

test('HTTP/2: an aborted upload stores nothing and does not affect others', async (t) => {
	const service = await startTls(t);
	const session = await http2To(t, service);
	const body = JSON.stringify({ aid: service.aid, data: [event()] });
	const broken = beginUpload(session, service.key, { 'content-length': body.length });
	broken.answer.catch(() => {});
	broken.stream.write(body.slice(0, -1));
	await delay(100);
	broken.stream.close(constants.NGHTTP2_CANCEL);
	const next = beginUpload(session, service.key);
	next.stream.end(JSON.stringify({ aid: service.aid, data: [event({ tid: 'next' })] }));
	assert.equal((await next.answer).status, 201);
	assert.deepEqual(await service.stored(), ['next']);
	assert.equal(service.logged.filter((line) => /"level":"(error|fatal)"/.test(line)).length, 0);
});

test('HTTP/2: a stopping server answers the requests in flight, and idle connections do not delay it', async (t) => {
	const service = await startTls(t);
	const [busy, idle] = [await http2To(t, service), await http2To(t, service)];
	const mute = connectTcp(Number(new URL(service.server.url).port), '127.0.0.1');
	t.after(() => mute.destroy());
	const upload = beginUpload(busy, service.key, { expect: '100-continue' });
	await once(upload.stream, 'continue');
	const idleClosed = once(idle, 'close');
	const stopped = service.server.stop();
	await idleClosed;
	upload.stream.end(JSON.stringify({ aid: service.aid, data: [event({ tid: 'in flight' })] }));
	assert.equal((await upload.answer).status, 201);
	mute.destroy();
	await stopped;
	assert.deepEqual(await service.stored(), ['in flight']);
});

test('neither a missing body nor an endless handshake delays a stopping server', async (t) => {
	const service = await startTls(t, { timeoutMs: 300 });
	const session = await http2To(t, service);
	const upload = beginUpload(session, service.key, { expect: '100-continue' });
	await once(upload.stream, 'continue');
	const mute = connectTcp(Number(new URL(service.server.url).port), '127.0.0.1');
	mute.on('error', () => {});
	await once(mute, 'connect');
	const answer = upload.answer;
	await service.server.stop();
	assert.equal((await answer).status, 504);
});

/** A connection by TLS, as a client keeps it open. */
async function tlsTo(t: TestContext, { server }: TlsService): Promise<TLSSocket> {
	const { port } = new URL(server.url);
	const socket = connectTls({ host: '127.0.0.1', port: Number(port), rejectUnauthorized: false });
	t.after(() => socket.destroy());
	await once(socket, 'secureConnect');
	return socket;
}

async function fingerprint(t: TestContext, service: TlsService): Promise<string> {
	const socket = await tlsTo(t, service);
	const { fingerprint256 } = socket.getPeerCertificate();
	socket.destroy();
	return fingerprint256;
}

async function getOver(socket: TLSSocket): Promise<string> {
	socket.write('GET /healthz HTTP/1.1\r\nhost: caskade.test\r\n\r\n');
	return String((await once(socket, 'data'))[0]).split('\r\n', 1)[0] as string;
}

test('a new certificate is used while open connections continue', async (t) => {
	const service = await startTls(t);
	const [kept, session] = [await tlsTo(t, service), await http2To(t, service)];
	assert.equal(await getOver(kept), 'HTTP/1.1 200 OK');
	const before = await fingerprint(t, service);
	await writePair(service.certFile, service.keyFile);
	await eventually('the new certificate is served', async () => (await fingerprint(t, service)) !== before);
	assert.ok(service.logged.some((line) => line.includes('"certificate reloaded"')));
	assert.equal(await getOver(kept), 'HTTP/1.1 200 OK');
	const upload = beginUpload(session, service.key);
	upload.stream.end(JSON.stringify({ aid: service.aid, data: [event()] }));
	assert.equal((await upload.answer).status, 201);
	// The new one serves both versions, and no older TLS than the first.
	for (const { flag } of versions) await curl([flag, `${service.server.url}/healthz`]);
	await assertTls11Refused(service);
});

test('a pair that does not match, or is missing, is logged once, and the old one stays', async (t) => {
	const service = await startTls(t);
	const before = await fingerprint(t, service);
	writeFileSync(service.keyFile, (await selfSignedPair()).key);
	const errors = () => service.logged.filter((line) => line.includes('"certificate not reloaded'));
	await eventually('it is logged', () => errors().length > 0);
	renameSync(service.keyFile, `${service.keyFile}.away`);
	await eventually('it is logged', () => errors().some((line) => line.includes('ENOENT')));
	await delay(1200);
	assert.equal(errors().length, 2);
	assert.equal(await fingerprint(t, service), before);
	await writePair(service.certFile, service.keyFile);
	await eventually('the new certificate is served', async () => (await fingerprint(t, service)) !== before);
});

test('files behind swapped symbolic links, like mounted secrets, are reloaded', async (t) => {
	const folder = temporaryFolder(t);
	for (const version of ['first', 'second']) {
		mkdirSync(join(folder, version));
		await writePair(join(folder, version, 'tls.crt'), join(folder, version, 'tls.key'));
	}
	symlinkSync('first', join(folder, 'now'));
	for (const name of ['tls.crt', 'tls.key']) symlinkSync(join('now', name), join(folder, name));
	await using server = await serveHere([
		...['--database', `sqlite:${join(folder, 'data')}`],
		...['--tls-cert', join(folder, 'tls.crt'), '--tls-key', join(folder, 'tls.key')],
	]);
	assert.match(server.url, /^https:/);
	symlinkSync('second', join(folder, 'next'));
	renameSync(join(folder, 'next'), join(folder, 'now'));
	await eventually('it is logged', () =>
		server.logged.some((line) => line.includes('"certificate reloaded"')),
	);
});

async function assertTls11Refused({ server }: Pick<TlsService, 'server'>): Promise<void> {
	const args = ['-sSk', '--ciphers', 'DEFAULT@SECLEVEL=0', '--tls-max', '1.1', `${server.url}/healthz`];
	const { code, stderr } = await new TestProcess('curl', args).ended;
	assert.equal(code, 35);
	assert.match(stderr, /protocol version/);
}

test('TLS 1.2 and 1.3 are accepted, TLS 1.1 is refused', async (t) => {
	const service = await startTls(t);
	for (const version of ['1.2', '1.3'])
		await curl([`--tlsv${version}`, '--tls-max', version, `${service.server.url}/healthz`]);
	await assertTls11Refused(service);
});

test('suites of TLS 1.2 without authenticated encryption are refused, and so is a new handshake on an open connection', async (t) => {
	const { server } = await startTls(t);
	const port = Number(new URL(server.url).port);
	const connectWith = async (ciphers: string) => {
		const socket = connectTls({ port, rejectUnauthorized: false, maxVersion: 'TLSv1.2', ciphers });
		t.after(() => socket.destroy());
		await once(socket, 'secureConnect');
		return socket;
	};
	await assert.rejects(connectWith('ECDHE-RSA-AES128-SHA:ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA384'));
	const socket = await connectWith('ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256');
	const renegotiated = new Promise<Error | null>((resolve) => {
		socket.on('error', resolve);
		socket.renegotiate({ rejectUnauthorized: false }, resolve);
	});
	assert.match(String(await renegotiated), /renegotiation|alert|reset|disconnected/i);
});

test('plain HTTP and noise on the port get no answer, and the server keeps running', async (t) => {
	const service = await startTls(t);
	for (const text of ['GET / HTTP/1.1\r\nhost: x\r\n\r\n', '\x16\x03\x01\x00\x05noise']) {
		const socket = connectTcp(Number(new URL(service.server.url).port), '127.0.0.1');
		socket.on('error', () => {});
		socket.resume();
		socket.end(text);
		await once(socket, 'close');
	}
	const broken = await tlsTo(t, service);
	broken.write('this is no HTTP\r\n\r\n');
	assert.match(String((await once(broken, 'data'))[0]), /^HTTP\/1\.1 400 Bad Request\r\n/);
	await curl([`${service.server.url}/healthz`]);
});

test('a certificate and key that do not match are refused at start, in one sentence', async (t) => {
	const folder = temporaryFolder(t);
	const [cert, key, other] = ['cert.pem', 'key.pem', 'other.pem'].map((name) => join(folder, name)) as [
		string,
		string,
		string,
	];
	await writePair(cert, key);
	writeFileSync(other, (await selfSignedPair()).key);
	const refused = async (args: readonly string[], sentence: RegExp) =>
		assertRefused(
			await caskadeWithin(['serve', '--port', '0', '--database', `sqlite:${join(folder, 'data')}`, ...args]),
			sentence,
		);
	await Promise.all([
		refused(
			['--tls-cert', cert, '--tls-key', other],
			/are not a PEM certificate and its unencrypted private key/,
		),
		refused(['--tls-cert', key, '--tls-key', key], /are not a PEM certificate and its/),
		refused(['--tls-cert', cert, '--tls-key', join(folder, 'none')], /none cannot be read \(ENOENT\)/),
		refused(['--tls-cert', cert, '--tls-key', folder], /cannot be read \(EISDIR\)/),
		refused(['--tls-cert', cert], /go together; one of them is missing/),
		refused(['--tls-cert', cert, '--tls-key', key, '--self-signed'], /--self-signed makes a certificate/),
	]);
});

test('--self-signed serves HTTPS on any address, with a certificate for the loopback names', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	await using server = await ServeProcess.start(['--self-signed', '--host', '0.0.0.0', '--demo', ...at]);
	const [line] = await server.printed(/^curl .+$/m);
	await using upload = new TestProcess('bash', ['-c', line]);
	assert.match((await upload.ended).stdout, /^HTTP\/2 201 /);
	for (const servername of ['localhost', '127.0.0.1']) {
		const socket = connectTls({ host: '127.0.0.1', port: server.port, rejectUnauthorized: false });
		await once(socket, 'secureConnect');
		assert.equal(
			socket.getPeerX509Certificate()?.[servername === 'localhost' ? 'checkHost' : 'checkIP'](servername),
			servername,
		);
		socket.destroy();
	}
	await withinASecond('it stops', async () => (await server.kill('SIGTERM')).code === 0);
});
