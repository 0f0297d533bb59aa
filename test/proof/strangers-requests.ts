import { browserUserAgent } from '../support.ts';
import type { Chance } from './chance.ts';
import { caskOf, type World } from './strangers-world.ts';

/** A request before it becomes bytes. */
export interface Shape {
	method: string;
	target: string;
	headers: [name: string, value: string][];
	body?: Buffer | undefined;
}

const reports = [
	...[
		'summary',
		'activity',
		'attribution',
		'paths',
		'funnel',
		'trials',
		'movement',
		'retention',
		'renewals',
		'ltv',
		'coverage',
		'spend',
		'promises',
		'threshold',
		'lift',
		'forecast',
	],
];
const files = [
	...[
		'/',
		'/root.css',
		'/tag.js',
		'/tag.v1.js',
		'/docs/',
		'/docs/api',
		'/docs/api/start.js',
		'/docs/api/swagger-ui.css',
		'/openapi.json',
	],
	...['/healthz', '/readyz', '/demo/', '/demo', '/nothing', '/subscription/', '/reports'],
];

let number = 0;

/** A request of any operation as it should be. */
function wellFormed(world: World, chance: Chance): Shape {
	const { aid, uploadKey, readKey, visitor } = world.own;
	number++;
	const json: [string, string] = ['content-type', 'application/json'];
	const withKey: [string, string] = ['x-api-key', uploadKey];
	const event = (index: number) => ({
		tid: `OWN-${number}-${index}`,
		subid: `S-${number}`,
		cid: `CID-${number}`,
		evt: 'newsletter',
		rvn: 499,
	});
	const data = Array.from({ length: 1 + chance.below(5) }, (_, index) => event(index));
	const post = (target: string, headers: [string, string][], body: object): Shape => ({
		method: 'POST',
		target,
		headers,
		body: Buffer.from(JSON.stringify(body)),
	});
	const get = (target: string, ...headers: [string, string][]): Shape => ({ method: 'GET', target, headers });
	const cask = chance.is(0.5) ? visitor.cask : caskOf(world, aid, 'sid', visitor.sid);
	const hit = {
		aid,
		url: 'https://shop.example/p?utm_source=x',
		title: 'T',
		cid: `CID-${number}`,
		events: [{ name: 'sale', tid: `OWN-${number}-0`, rvn: 5, currency: 'GBP' }],
	};
	const agent: [string, string] = ['user-agent', browserUserAgent];
	const made = [
		() => post('/subscription', [withKey, json], { aid, data }),
		() => post('/subscription', [withKey, json], { aid, data, simulate: true }),
		() => post('/subscription/receipts', [withKey, json], { aid, tids: data.map(({ tid }) => tid) }),
		() => get(`/subscription/OWN-TID?aid=${aid}`, withKey),
		() => get('/usage', withKey),
		() => get(`${chance.pick(['/visscores', '/visscores/segments', '/segments'])}?cask=${cask}&explain=1`),
		() => post(`${chance.pick(['/hit', '/basket'])}?include=scores,segments`, [json, agent], hit),
		() => post('/hit', [['content-type', 'text/plain'], agent], { ...hit, ...visitor }),
		() => get(`${chance.pick(['/hit.gif', '/basket.gif'])}?aid=${aid}&event=a&event=b&tid=x`, agent),
		() => get(chance.pick(files)),
	];
	// They take a thread's start each.
	if (chance.is(0.01)) return get(`/reports/${chance.pick(reports)}?aid=${aid}`, ['x-api-key', readKey]);
	return chance.pick(made)();
}

const texts = [
	...[
		'',
		' ',
		'\0',
		'\u2028',
		'\ud800',
		'é',
		'😀',
		'%',
		'%00',
		'%2e%2e%2f',
		'../../etc/passwd',
		"' OR 1=1 --",
		'{{7*7}}',
		'$(x)',
	],
	...['__proto__', 'constructor', 'toString', 'null', 'NaN', '-1', '1e999', '0x10', '[]', '{}', 'true'],
	...[
		'\r\nset-cookie: a=b',
		'<script>alert(1)</script>',
		'a'.repeat(256),
		'a'.repeat(70_000),
		'\uffff',
		'İ',
		'１',
	],
];
const values: readonly unknown[] = [
	...texts,
	...[null, true, 0, -0, 1.5, -1, 2 ** 53, 1e308, [], {}, [[]], { __proto__: null, length: 1 }],
	...[{ toJSON: 1 }, new Array(1000).fill(0), { constructor: { prototype: {} } }],
];

/** Replaces, removes, repeats or nests something at a random place of a JSON value. */
function distorted(value: unknown, chance: Chance): unknown {
	if (typeof value !== 'object' || value === null || chance.is(0.2)) return chance.pick(values);
	const entries = Object.entries(value);
	const [name] = entries.length > 0 ? chance.pick(entries) : ['x'];
	const inner = (value as Record<string, unknown>)[name];
	const changed = chance.pick([
		() => distorted(inner, chance),
		() => distorted(inner, chance),
		() => undefined,
		() => [inner, inner],
		() => ({ [chance.pick(texts)]: inner }),
	])();
	if (!Array.isArray(value))
		return {
			...value,
			[name]: changed,
			...(chance.is(0.1) && { [chance.pick(texts)]: chance.pick(values) }),
		};
	const copy = [...value];
	copy[Number(name) || 0] = changed;
	return chance.is(0.1) ? Array.from({ length: 40 }, () => copy[0]) : copy;
}

/** Bodies that are broken in themselves, or as JSON. */
function brokenBody(body: Buffer, chance: Chance): Buffer {
	const text = body.toString();
	const at = chance.below(body.length + 1);
	return chance.pick([
		() => body.subarray(0, at),
		() => Buffer.concat([body.subarray(0, at), Buffer.from(chance.pick(texts)), body.subarray(at)]),
		() => Buffer.concat([body.subarray(0, at), Buffer.from([chance.below(256)]), body.subarray(at + 1)]),
		() => Buffer.concat([body, body]),
		() => Buffer.concat([Buffer.from('\ufeff'), body]),
		() => Buffer.from(text, 'utf16le'),
		() => Buffer.from(text.replace('{', `{"aid":${JSON.stringify(chance.pick(texts))},`)),
		() => Buffer.from(text.replace(/\}$/, `,"__proto__":{"simulate":true},"data":1}`)),
		() => Buffer.from(`${'['.repeat(50_000)}${text}${']'.repeat(50_000)}`),
		() => Buffer.from(`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`),
		() => Buffer.from(text.replace(/499/, '4'.repeat(10_000))),
		() => Buffer.alloc(chance.pick([1, 16_385, 262_144, 262_145, 400_000]), 0x20),
		() => Buffer.alloc(0),
	])();
}

const oddHeaders: readonly [string, string][] = [
	...[
		'',
		';',
		'text/plain',
		'application/json; charset=latin1',
		'application/json;'.repeat(20),
		'multipart/form-data; boundary=a',
		'*/*',
	].map((value): [string, string] => ['content-type', value]),
	...['gzip', 'identity', 'br, gzip', ''].map((value): [string, string] => ['content-encoding', value]),
	...['0', '1', '5', '99999999999999999999', '-1', '+5', '0x5', '5, 5', ' 7 ', '1e1'].map(
		(value): [string, string] => ['content-length', value],
	),
	...['chunked', 'Chunked', 'gzip, chunked', 'chunked, chunked', 'identity', 'xchunked', 'chunked\t'].map(
		(value): [string, string] => ['transfer-encoding', value],
	),
	...['close', 'keep-alive', 'upgrade', 'TE', 'x-api-key', 'content-length'].map(
		(value): [string, string] => ['connection', value],
	),
	...['websocket', 'h2c', 'TLS/1.0'].map((value): [string, string] => ['upgrade', value]),
	...['100-continue', 'tea', '100-CONTINUE', ''].map((value): [string, string] => ['expect', value]),
	...['https://shop.example', 'null', '', 'https://a\tb'].map((value): [string, string] => ['origin', value]),
	...['cross-site', 'none'].map((value): [string, string] => ['sec-fetch-site', value]),
	...['', 'x', 'caskade_key_x', '__proto__'].map((value): [string, string] => ['x-api-key', value]),
	...['a', 'a, b', '', '[::1', 'a:99999999', 'é'].map((value): [string, string] => ['host', value]),
	...['127.0.0.1', '(', '1.2.3.4, 5.6.7.8', '::1', 'a'.repeat(5000)].map((value): [string, string] => [
		'x-forwarded-for',
		value,
	]),
	...['bytes=0-1', 'bytes=-1', 'bytes=9-1', 'items=1', 'bytes=0-0,1-1'].map((value): [string, string] => [
		'range',
		value,
	]),
	...['*', '"x"', 'W/"x"', ','].map((value): [string, string] => ['if-none-match', value]),
	...['Thu, 01 Jan 1970 00:00:00 GMT', 'x'].map((value): [string, string] => ['if-modified-since', value]),
	...['text/html', 'application/json;q=x', 'a'.repeat(3000)].map((value): [string, string] => [
		'accept',
		value,
	]),
	...['gzip;q=0', 'gzip', '*', ''].map((value): [string, string] => ['accept-encoding', value]),
	...['', '(', 'Googlebot', 'a'.repeat(8000)].map((value): [string, string] => ['user-agent', value]),
	...[
		['accept-version', '(('],
		['access-control-request-method', 'POST'],
		['http2-settings', 'AAMAAABk'],
		['proxy-connection', 'keep-alive'],
		['te', 'trailers'],
		['trailer', 'x-api-key'],
		['cookie', '=;'.repeat(100)],
		['__proto__', 'x'],
		['constructor', 'x'],
		['x-http-method-override', 'DELETE'],
		['x-original-url', '/usage'],
		['forwarded', 'for=1.2.3.4;host=x'],
		['x-forwarded-host', 'evil.example'],
		['x-forwarded-proto', 'javascript'],
		['x-large', 'y'.repeat(17_000)],
		['bad header', 'x'],
		['x-bad', 'a\0b'],
		['', 'x'],
	].map(([name = '', value = '']): [string, string] => [name, value]),
];

const methods = [
	...[
		'GET',
		'HEAD',
		'POST',
		'PUT',
		'PATCH',
		'DELETE',
		'OPTIONS',
		'TRACE',
		'CONNECT',
		'PROPFIND',
		'QUERY',
		'BREW',
		'get',
		'M-SEARCH',
		'PURGE',
		'',
	],
];
const targetParts = [
	...[
		'/',
		'//',
		'/..',
		'/.',
		'%2F',
		'%',
		'%ZZ',
		'%00',
		'%C3%28',
		'?',
		'&',
		'#',
		';',
		':',
		'*',
		'(',
		'\\',
		'[',
		'?cask=',
		'&aid=',
		'&vid=x&vid=y',
	],
	...[
		'&__proto__=x',
		'&a[b]=c',
		'&explain=2',
		'&include=scores,segments,x',
		'&scope=sid',
		'&from=2026-02-30',
		'&by=page',
		'&top=-1',
	],
	...[
		'&intervals=x',
		'&asOf=9999-01-01',
		'&timezone=Mars',
		'&period=x',
		'&segment=__proto__',
		`&x=${'y'.repeat(9000)}`,
		'a'.repeat(300),
	],
];

/** Changes one thing about a request. */
function change(shape: Shape, world: World, chance: Chance): void {
	const { own, other } = world;
	const body = shape.body ?? Buffer.alloc(0);
	chance.pick([
		() => {
			shape.method = chance.pick(methods);
		},
		() => {
			const at = 1 + chance.below(shape.target.length);
			shape.target = shape.target.slice(0, at) + chance.pick(targetParts) + shape.target.slice(at);
		},
		() => {
			shape.target = chance.pick([
				`http://caskade.test${shape.target}`,
				`https://x/${shape.target}`,
				'*',
				'a:1',
				shape.target.slice(1),
				`/x/..${shape.target}`,
			]);
		},
		() => {
			shape.headers.push(chance.pick(oddHeaders));
		},
		() => {
			shape.headers.push(chance.pick(oddHeaders), chance.pick(oddHeaders));
		},
		() => {
			const [name] = chance.pick(oddHeaders);
			shape.headers = shape.headers.filter(([other]) => other !== name);
		},
		() => {
			const header = shape.headers[chance.below(shape.headers.length)];
			if (header) header[1] = chance.pick(texts).slice(0, 300);
		},
		() => {
			shape.headers = [...shape.headers, ...shape.headers];
		},
		() => {
			shape.body = brokenBody(body, chance);
		},
		() => {
			shape.body =
				body.length > 0
					? Buffer.from(JSON.stringify(distorted(JSON.parse(body.toString()), chance)) ?? '')
					: Buffer.from('{}');
		},
		() => {
			shape.body =
				body.length > 0
					? Buffer.from(JSON.stringify(distorted(JSON.parse(body.toString()), chance)) ?? '')
					: undefined;
		},
		() => {
			const key = chance.pick([own.revokedKey, own.expiredKey, own.readKey, own.uploadKey, '']);
			shape.headers = shape.headers.map(([name, value]) => [name, name === 'x-api-key' ? key : value]);
		},
		() => {
			const aid = chance.pick([other.aid, own.disabledAid, 'c-a-x', '']);
			shape.target = shape.target.replaceAll(own.aid, aid);
			shape.body = shape.body && Buffer.from(shape.body.toString().replaceAll(own.aid, aid));
		},
	])();
}

/** A request that may be strange in several ways, and may be right. */
export function strangeRequest(world: World, chance: Chance): Shape {
	const shape = wellFormed(world, chance);
	shape.target = `${new URL(world.server.url).pathname.replace(/\/$/, '')}${shape.target}`;
	try {
		for (let count = chance.pick([0, 1, 1, 1, 2, 3]); count > 0; count--) change(shape, world, chance);
	} catch (error) {
		// A body that an earlier change has broken is no JSON any more, or too deep for this end.
		if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
	}
	return shape;
}

/** How a body is framed, rightly or not. */
function framed(
	{ headers, body }: Shape,
	chance: Chance,
): { headers: [string, string][]; body: Buffer; isRight: boolean } {
	const names = new Set(headers.map(([name]) => name));
	if (!body) return { headers, body: Buffer.alloc(0), isRight: true };
	if (names.has('content-length') || names.has('transfer-encoding')) return { headers, body, isRight: false };
	if (chance.is(0.7))
		return { headers: [...headers, ['content-length', String(body.length)]], body, isRight: true };
	const pieces: Buffer[] = [];
	for (let at = 0; at < body.length; ) {
		const length = Math.min(body.length - at, 1 + chance.below(chance.pick([2, 200, 100_000])));
		if (pieces.length > 500) break;
		const extension = chance.is(0.02) ? chance.pick([';a=b', ';'.repeat(20_000), ' ', ';\n']) : '';
		const size = chance.is(0.01)
			? chance.pick(['-1', 'g', 'ffffffffffffffffff', '0', ''])
			: length.toString(16);
		pieces.push(Buffer.from(`${size}${extension}\r\n`), body.subarray(at, at + length), Buffer.from('\r\n'));
		at += length;
	}
	const trailer = chance.is(0.1)
		? chance.pick(['x-api-key: a\r\n', 'content-length: 5\r\n', 'bad\r\n', 'x: '.padEnd(20_000, 'y')])
		: '';
	return {
		headers: [...headers, ['transfer-encoding', 'chunked']],
		body: Buffer.concat([...pieces, Buffer.from(`0\r\n${trailer}\r\n`)]),
		isRight: true,
	};
}

/** What is sent, and what is known of it. */
export interface Sent {
	readonly bytes: Buffer;
	/** The number of requests, before any byte was changed. */
	readonly requests: number;
	/** Whether each is at least written as HTTP/1.1 should be. */
	readonly isIntact: boolean;
	/** Whether bodies are as long as their requests say. What follows a shorter one is taken for another request. */
	readonly isFramed: boolean;
}

/** The bytes of one request or several behind one another, which may be broken. */
export function bytesOf(world: World, chance: Chance): Sent {
	const requests = chance.is(0.8) ? 1 : 2 + chance.below(6);
	const parts = Array.from({ length: requests }, () => {
		const shape = strangeRequest(world, chance);
		const { headers, body, isRight } = framed(shape, chance);
		const hasHost = headers.some(([name]) => name === 'host');
		const all = hasHost || chance.is(0.02) ? headers : [['host', 'caskade.test'] as const, ...headers];
		const version = chance.is(0.02)
			? chance.pick(['HTTP/1.0', 'HTTP/2.0', 'HTTP/0.9', 'http/1.1', 'HTTP/1.1 ', ''])
			: 'HTTP/1.1';
		const head = [
			`${shape.method} ${shape.target} ${version}`,
			...all.map(([name, value]) => `${name}: ${value}`),
			'',
			'',
		];
		const part = Buffer.concat([Buffer.from(head.join('\r\n'), chance.is(0.5) ? 'latin1' : 'utf8'), body]);
		return { part, isRight };
	});
	const bytes = Buffer.concat(parts.map(({ part }) => part));
	const isFramed = parts.every(({ isRight }) => isRight);
	if (chance.is(0.85)) return { bytes, requests, isIntact: true, isFramed };
	for (let count = 1 + chance.below(3); count > 0; count--)
		bytes[chance.below(Math.min(bytes.length, 2000))] = chance.below(256);
	const at = chance.below(bytes.length);
	return { bytes: chance.is(0.5) ? bytes : bytes.subarray(0, at), requests, isIntact: false, isFramed };
}
