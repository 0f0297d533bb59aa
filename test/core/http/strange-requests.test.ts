import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import fc from 'fast-check';
import { examples } from '../../quick.ts';
import { connectTo, type RawAnswer, uploadHead } from '../../raw-http.ts';
import { openAccount } from '../../shared-server.ts';
import { event, startService } from '../../support.ts';

const requestId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const notFound = '{"message":"Not found.","validationErrors":null}';
const methodNotAllowed = '{"message":"Method not allowed.","validationErrors":null}';

/** Sends a request's head, and that nothing comes after it. */
async function ask(t: TestContext, url: string, head: string): Promise<RawAnswer> {
	const connection = await connectTo(t, url);
	connection.send(`${head}\r\n\r\n`);
	connection.end();
	const answer = await connection.answer();
	connection.destroy();
	return answer;
}

async function http2To(t: TestContext, url: string): Promise<ClientHttp2Session> {
	const session = connectHttp2(url, { rejectUnauthorized: false });
	session.on('error', () => {});
	t.after(() => session.destroy());
	await once(session, 'connect');
	return session;
}

/** @returns undefined where HTTP/2 itself does not allow the request, and only its stream is reset */
async function askHttp2(
	session: ClientHttp2Session,
	headers: Record<string, string>,
): Promise<RawAnswer | undefined> {
	const stream = session.request(headers, { endStream: true });
	let answer: RawAnswer | undefined;
	let body = '';
	stream.on('response', ({ ':status': status, ...fields }) => {
		const texts = Object.entries(fields).map(([name, value]): [string, string] => [name, String(value)]);
		answer = { status: Number(status), headers: new Headers(texts), body: '' };
	});
	stream.setEncoding('utf8').on('data', (text) => {
		body += text;
	});
	stream.on('error', () => {});
	await new Promise((resolve) => stream.once('close', resolve));
	return answer && { ...answer, body };
}

const targets: Record<string, number> = {
	'/:a(': 404,
	'/*x': 404,
	'/:a': 404,
	'/hit/:b(': 404,
	'/%2F..': 404,
	'//': 404,
	'//hit': 404,
	'/a?b[': 404,
	'/__proto__': 404,
	'/constructor': 404,
	'*': 404,
	'*healthz': 404,
	'/%ZZ': 400,
	'/hit%': 400,
	'/hit': 405,
	'/hit?a[=(': 405,
	'/%68it': 405,
	'/hit#a': 405,
	[`/${'a('.repeat(3000)}`]: 404,
};

test('an unknown target: 404, or 400 if it is not a path', async (t) => {
	const { url } = await openAccount();
	for (const [target, status] of Object.entries(targets)) {
		const answer = await ask(t, url, `GET ${target} HTTP/1.1\r\nhost: a`);
		assert.equal(answer.status, status, target);
		assert.match(answer.headers.get('x-request-id') ?? '', requestId);
		if (status === 404) assert.equal(answer.body, notFound);
		if (status === 405) assert.equal(answer.headers.get('allow'), 'POST');
	}
});

test('the same over HTTP/2', async (t) => {
	const { url } = await startService(t, { selfSigned: true });
	const session = await http2To(t, url);
	for (const [target, status] of Object.entries(targets)) {
		const answer = await askHttp2(session, { ':path': target });
		// Where there is no method it stands for, HTTP/2 knows no asterisk.
		if (target.startsWith('*')) continue;
		assert.equal(answer?.status, status, target);
		assert.match(answer?.headers.get('x-request-id') ?? '', requestId);
	}
});

test('a request whose host or line is unclear is refused', async (t) => {
	const { url } = await openAccount();
	const line = 'the request line must be a method, a target and HTTP/1.1, with single spaces';
	const cases: Record<string, string | null> = {
		'GET /healthz HTTP/1.1\r\nx: host': 'the host header is required',
		'GET /healthz HTTP/1.1\r\nhost: a\r\nhost: b': 'the host header may come once',
		'GET /healthz HTTP/1.1\r\nHOST: a\r\nx: b\r\nHost: a': 'the host header may come once',
		'GET /healthz HTTP/1.0\r\nhost: a\r\nhost: b': 'the host header may come once',
		'GET /nothing HTTP/1.1\r\nhost: a\r\nhost: b': 'the host header may come once',
		'GET /healthz HTTP/1.1\r\nhost: a b': 'the host header is not a host',
		'GET /healthz HTTP/1.1\r\nhost: a/b': 'the host header is not a host',
		'GET /healthz HTTP/1.1\r\nhost: a@b': 'the host header is not a host',
		'GET /healthz HTTP/1.1\r\nhost: "a"': 'the host header is not a host',
		'GET /healthz HTTP/2.0\r\nhost: a': 'the version must be HTTP/1.1 or HTTP/1.0',
		'GET /healthz HTTP/0.9\r\nhost: a': 'the version must be HTTP/1.1 or HTTP/1.0',
		'GET  /healthz HTTP/1.1\r\nhost: a': line,
		'GET /healthz  HTTP/1.1\r\nhost: a': line,
		'\r\nPOST   /hit   HTTP/1.1\r\nhost: a\r\ncontent-length: 0': line,
		'BREW  /hit HTTP/1.1\r\nhost: a': null,
		'GET /health z HTTP/1.1\r\nhost: a': null,
		'GET /healthz': line,
	};
	for (const [head, detail] of Object.entries(cases)) {
		const answer = await ask(t, url, head);
		assert.deepEqual(
			{ status: answer.status, body: answer.body },
			{ status: 400, body: JSON.stringify({ message: 'Bad request.', validationErrors: detail }) },
			head,
		);
		assert.match(answer.headers.get('x-request-id') ?? '', requestId);
	}
	for (const host of [
		'',
		'a',
		'a:',
		'a.example:8080',
		'127.0.0.1',
		'[::1]:443',
		'[fe80::1]',
		'xn--bcher-kva.example',
		'a_b',
	])
		assert.equal((await ask(t, url, `GET /healthz HTTP/1.1\r\nhost: ${host}`)).status, 200, host);
});

test('a loose line is refused in a later request of a connection, too', async (t) => {
	const { url } = await openAccount();
	const connection = await connectTo(t, url);
	for (const [head, ...status] of [
		['GET /healthz HTTP/1.1\r\nhost: a', 200],
		['GET /healthz HTTP/1.1\r\nhost:a\r\nx:  GET  /healthz  ', 200],
		['POST /nothing HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nGET ', 404],
		['GET /healthz HTTP/1.1\r\nhost: a\r\n\r\nGET /healthz HTTP/1.1\r\nhost: b', 200, 200],
		['GET  /healthz HTTP/1.1\r\nhost: a', 400],
	] as const) {
		connection.send(head.endsWith('GET ') ? head : `${head}\r\n\r\n`);
		for (const expected of status) assert.equal((await connection.answer()).status, expected, head);
	}
});

test('a request line in pieces is taken as it is', async (t) => {
	const { url } = await openAccount();
	const connection = await connectTo(t, url);
	for (const piece of [
		'GE',
		'T /hea',
		'lthz HTTP/1.1\r\nho',
		'st: a\r\nx: GET  /healthz',
		' HTTP/1.1\r\n\r\n',
	]) {
		connection.send(piece);
		await setTimeout(10);
	}
	assert.equal((await connection.answer()).status, 200);
});

test('an absolute-form target is handled like its path', async (t) => {
	const { url } = await openAccount();
	for (const [target, status] of [
		['http://caskade.test/healthz', 200],
		['http://caskade.test/hit', 405],
		['http://caskade.test/:a(', 404],
		['http://caskade.test', 200],
		['http://', 400],
	] as const)
		assert.equal((await ask(t, url, `GET ${target} HTTP/1.1\r\nhost: a`)).status, status, target);
});

test('a preflight with an invalid content-type is answered', async (t) => {
	const { url } = await openAccount();
	for (const path of ['/hit', '/visscores', '/segments'])
		for (const type of ['', 'foo', ';', 'application/json'])
			for (const rest of ['', '\r\ncontent-length: 3', '\r\ncontent-length: 3\r\nexpect: 100-continue']) {
				const answer = await ask(
					t,
					url,
					`OPTIONS ${path} HTTP/1.1\r\nhost: a\r\ncontent-type: ${type}${rest}`,
				);
				assert.equal(answer.status, 204, `${path} ${type} ${rest}`);
				assert.match(answer.headers.get('x-request-id') ?? '', requestId);
			}
});

test('unknown methods over HTTP/2: 405 on an existing path, else 404', async (t) => {
	const { url } = await startService(t, { selfSigned: true });
	const session = await http2To(t, url);
	for (const method of ['PROPFIND', 'BREW', 'get', 'toString', '__proto__', 'TRACE'])
		for (const [path, status, allow] of [
			['/hit', 405, 'POST'],
			['/visscores?cask=x', 405, 'GET, HEAD'],
			['/nothing', 404, null],
			['/%ZZ', method === 'PROPFIND' || method === 'TRACE' ? 400 : 404, null],
		] as const) {
			const answer = await askHttp2(session, { ':method': method, ':path': path });
			assert.equal(answer?.status, status, `${method} ${path}`);
			assert.equal(answer.headers.get('allow'), allow);
			if (status === 405) assert.equal(answer.body, methodNotAllowed);
			assert.match(answer.headers.get('x-request-id') ?? '', requestId);
			assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
		}
	const expecting = { ':method': 'BREW', ':path': '/hit', expect: '100-continue' };
	assert.equal((await askHttp2(session, expecting))?.status, 405);
});

test('a request that was answered before its body broke off gets no second answer', async (t) => {
	const { url } = await openAccount();
	for (const [header, rest] of [
		['content-length: 7', ''],
		['content-length: 7', 'abc'],
		['transfer-encoding: chunked', ''],
		['transfer-encoding: chunked', '1\r\nabc'],
	] as const) {
		const connection = await connectTo(t, url);
		connection.send(`GET /healthz HTTP/1.1\r\nhost: a\r\n${header}\r\n\r\n`);
		assert.equal((await connection.answer()).status, 200);
		connection.send(rest);
		connection.end();
		await connection.closed;
		await assert.rejects(connection.answer(), /received: $/, `${header} ${rest}`);
	}
});

test('what was asked before something that is no request is answered, all of it', async (t) => {
	const { url, key, aid, stored } = await openAccount();
	for (const broken of [
		'no request\r\n\r\n',
		`${uploadHead({ 'transfer-encoding': 'chunked' })}no chunk\r\n`,
	]) {
		const before = (await stored()).length;
		const connection = await connectTo(t, url);
		const uploads = Array.from({ length: 70 }, () => {
			const body = JSON.stringify({ aid, data: [event()] });
			return uploadHead({ 'x-api-key': key, 'content-length': body.length }) + body;
		});
		connection.send(uploads.join('') + broken);
		for (const _ of uploads) assert.equal((await connection.answer()).status, 201, broken);
		await connection.closed;
		assert.equal((await stored()).length - before, uploads.length);
	}
});

test('CONNECT is refused', async (t) => {
	const plain = await startService(t);
	for (const target of ['a:1', '/hit']) {
		const answer = await ask(t, plain.url, `CONNECT ${target} HTTP/1.1\r\nhost: a`);
		assert.equal(answer.status, 404);
		assert.equal(answer.body, notFound);
		assert.equal(answer.headers.get('connection'), 'close');
		assert.match(answer.headers.get('x-request-id') ?? '', requestId);
	}
	const secure = await startService(t, { selfSigned: true });
	const answer = await askHttp2(await http2To(t, secure.url), { ':method': 'CONNECT', ':authority': 'a:1' });
	assert.equal(answer?.status, 404);
	assert.equal(answer.body, notFound);
	assert.match(answer.headers.get('x-request-id') ?? '', requestId);
});

test('CONNECT behind a request: its long answer is sent whole, and the connection ends', async (t) => {
	const { url } = await openAccount();
	const { hostname, port } = new URL(url);
	const socket = connect(Number(port), hostname);
	t.after(() => void socket.destroy());
	socket.write(
		'GET /docs/api/swagger-ui.css HTTP/1.1\r\nhost: a\r\n\r\nCONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n',
	);
	const received = await text(socket);
	const [head, body] = received.split('\r\n\r\n') as [string, string];
	assert.match(head, /^HTTP\/1\.1 200 /);
	assert.equal(body.length, Number(/content-length: (\d+)/i.exec(head)?.[1]));
});

test('CONNECT, and gone: the server goes on', async (t) => {
	const { url } = await openAccount();
	const { hostname, port } = new URL(url);
	for (let count = 0; count < 200; count++) {
		const socket = connect(Number(port), hostname);
		await once(socket, 'connect');
		socket.write('CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n', () => socket.resetAndDestroy());
		await once(socket, 'close');
	}
	assert.equal((await ask(t, url, 'GET /healthz HTTP/1.1\r\nhost: a')).status, 200);
});

const method = fc.oneof(
	fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'OPTIONS', 'TRACE', 'PROPFIND', 'CONNECT', 'QUERY', 'BREW'),
	fc.stringMatching(/^[A-Za-z!#$%&'*+.^_`|~-]{1,8}$/),
);
const piece = fc.oneof(
	fc.constantFrom(
		'/',
		'/hit',
		'/hit.gif',
		'/subscription',
		'/visscores',
		'/segments',
		'/tag.js',
		'/docs/api/swagger-ui.css',
		'/docs/api',
		'/demo',
	),
	fc.constantFrom(
		'/healthz',
		'/openapi.json',
		'..',
		'%2F',
		'%',
		'%ZZ',
		'%00',
		'%C3%A9',
		':',
		'*',
		'(',
		')',
		'[',
		'?',
	),
	fc.constantFrom(
		'cask=',
		'aid=',
		'vid=',
		'&',
		'=',
		'#',
		';',
		'__proto__',
		'include=scores',
		'http://a',
		'{',
		'\\',
	),
	fc.stringMatching(/^[!-~]{1,5}$/),
);
const target = fc.array(piece, { maxLength: 8 }).map((pieces) => `/${pieces.join('')}`);
const header = fc.constantFrom(
	...[
		'content-type: ',
		'content-type: ;',
		'content-type: application/json',
		'content-type: text/plain;charset=x',
	],
	...['content-length: 0', 'content-length: 7', 'transfer-encoding: chunked', 'content-encoding: gzip'],
	...[
		'expect: 100-continue',
		'expect: tea',
		'connection: close',
		'connection: upgrade\r\nupgrade: websocket',
	],
	...[
		'origin: https://a',
		'origin: ',
		'x-api-key: a',
		'x-api-key: ',
		'accept-version: 1',
		'if-none-match: *',
	],
	...[
		'accept-version: ((',
		'range: bytes=0-1',
		'range: bytes=9999999-',
		'if-match: a',
		'user-agent: ',
		'access-control-request-method: POST',
		'te: trailers',
	],
	...['__proto__: a', 'x-forwarded-for: (', 'cookie: =;', 'http2-settings: A', 'host: a', 'host: '],
);
const headers = fc.uniqueArray(header, { maxLength: 5, selector: (line) => line.split(':', 1)[0] });

test('no request, however strange, causes an internal error, and every answer has an id', async (t) => {
	const { url, logged } = await startService(t);
	await fc.assert(
		fc.asyncProperty(method, target, headers, async (name, path, lines) => {
			// Its answer has the length of a body that does not come.
			fc.pre(name !== 'HEAD');
			const answer = await ask(t, url, [`${name} ${path} HTTP/1.1`, 'host: a', ...lines].join('\r\n'));
			assert.ok(answer.status < 500, `${answer.status} ${answer.body}`);
			if (answer.status !== 100) assert.match(answer.headers.get('x-request-id') ?? '', requestId);
		}),
		{ numRuns: examples(600) },
	);
	assert.deepEqual(
		logged.filter((line) => line.includes('"level":"error"')),
		[],
	);
});

test('the same over HTTP/2', async (t) => {
	const { url, logged } = await startService(t, { selfSigned: true });
	let session = await http2To(t, url);
	let answered = 0;
	const numRuns = examples(600);
	await fc.assert(
		fc.asyncProperty(method, target, headers, async (name, path, lines) => {
			if (session.destroyed || session.closed) session = await http2To(t, url);
			const fields = lines
				.map((line): [string, string] => [line.split(':', 1)[0] as string, line.split(': ')[1] as string])
				.filter(
					([field]) => !/^(connection|transfer-encoding|http2-settings|host|__proto__|te)$/.test(field),
				);
			const answer = await askHttp2(session, {
				':method': name,
				...(name === 'CONNECT' ? { ':authority': 'a:1' } : { ':path': path }),
				...Object.fromEntries(fields),
			});
			if (!answer) return;
			answered++;
			assert.ok(answer.status < 500, `${answer.status} ${answer.body}`);
			assert.match(answer.headers.get('x-request-id') ?? '', requestId);
		}),
		{ numRuns: examples(600) },
	);
	assert.ok(answered > numRuns / 2, `${answered} answers`);
	assert.deepEqual(
		logged.filter((line) => line.includes('"level":"error"')),
		[],
	);
});
