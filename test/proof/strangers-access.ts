import assert from 'node:assert/strict';
import { jwtHeader, jwtSecret, signJwt } from '../../src/core/access/jwt.ts';
import { hourMs } from '../../src/core/durations.ts';
import { errorBody } from '../../src/core/errors.ts';
import type { RawAnswer } from '../raw-http.ts';
import { ask, caskOf, otherOrigin, type Party, type World } from './strangers-world.ts';

const forbidden = errorBody('forbidden');
const unauthorized = errorBody('unauthorized');

interface Expected {
	readonly status: number;
	readonly body?: string;
}

/** Checks who gets in with what: each operation with each credential. @returns how many were checked */
export async function checkAccess(world: World, elsewhere: World): Promise<number> {
	let count = 0;
	const check = async (what: string, answer: RawAnswer, { status, body }: Expected) => {
		count++;
		assert.equal(answer.status, status, `${what}: ${answer.body}`);
		if (body !== undefined) assert.equal(answer.body, body, what);
		for (const secret of world.secrets) {
			const sent = what.includes(secret);
			assert.ok(
				sent || !`${answer.body}${[...answer.headers]}`.includes(secret),
				`${what} reveals ${secret}`,
			);
		}
	};
	await checkKeys(world, elsewhere, check);
	await checkCasks(world, elsewhere, check);
	await checkHits(world, check);
	return count;
}

type Check = (what: string, answer: RawAnswer, expected: Expected) => Promise<void>;

async function checkKeys(world: World, elsewhere: World, check: Check): Promise<void> {
	const { own, other, server } = world;
	const { uploadKey, readKey } = own;
	const noKeys: Record<string, Readonly<Record<string, string | string[]>>> = {
		none: {},
		empty: { 'x-api-key': '' },
		revoked: { 'x-api-key': own.revokedKey },
		expired: { 'x-api-key': own.expiredKey },
		'of another stage': { 'x-api-key': elsewhere.own.uploadKey },
		'to read, of another stage': { 'x-api-key': elsewhere.own.readKey },
		'cut short': { 'x-api-key': uploadKey.slice(0, -1) },
		'with more': { 'x-api-key': `${uploadKey}x` },
		'in capitals': { 'x-api-key': uploadKey.toUpperCase() },
		twice: { 'x-api-key': [uploadKey, uploadKey] },
		quoted: { 'x-api-key': `"${uploadKey}"` },
		'as a bearer': { authorization: `Bearer ${uploadKey}` },
		'as a cookie': { cookie: `x-api-key=${uploadKey}` },
		'a cask': { 'x-api-key': own.visitor.cask },
		'from a page': { 'x-api-key': uploadKey, origin: 'https://shop.example' },
		'from a browser': { 'x-api-key': readKey, 'sec-fetch-site': 'same-origin' },
	};
	const operations: readonly {
		line: (aid: string) => string;
		body?: (aid: string) => object;
		key: 'uploadKey' | 'readKey';
		found: number;
	}[] = [
		{
			line: () => 'POST /subscription',
			body: (aid) => ({ aid, simulate: true, data: [{ tid: 'T', subid: 'S', evt: 'e' }] }),
			key: 'uploadKey',
			found: 200,
		},
		{
			line: () => 'POST /subscription/receipts',
			body: (aid) => ({ aid, tids: ['OWN-TID', 'MARKER-OF-THE-OTHER-TID'] }),
			key: 'uploadKey',
			found: 200,
		},
		{
			line: (aid) => `GET /subscription/OWN-TID?aid=${encodeURIComponent(aid)}`,
			key: 'uploadKey',
			found: 200,
		},
		{ line: (aid) => `GET /reports/coverage?aid=${encodeURIComponent(aid)}`, key: 'readKey', found: 200 },
	];
	for (const { line, body, key, found } of operations) {
		const asked = (aid: string, headers: Readonly<Record<string, string | string[]>>) =>
			ask(server.url, line(aid), headers, body?.(aid));
		const wrong = {
			...noKeys,
			'of the other scope': { 'x-api-key': own[key === 'readKey' ? 'uploadKey' : 'readKey'] },
		};
		for (const [name, headers] of Object.entries(wrong))
			for (const aid of [own.aid, other.aid])
				await check(`${line(aid)} with a key that is ${name}`, await asked(aid, headers), {
					status: 403,
					body: forbidden,
				});
		for (const [party, foreign] of [
			[own, other],
			[other, own],
		] as const) {
			const headers = { 'x-api-key': party[key] };
			if (party === own)
				await check(`${line(own.aid)} MARKER-OF-THE-OTHER`, await asked(own.aid, headers), { status: found });
			for (const aid of [
				foreign.aid,
				party.disabledAid,
				foreign.disabledAid,
				'c-a-nobody',
				`${party.aid} `,
				party.aid.toUpperCase(),
			])
				await check(`${line(aid)} of nobody's`, await asked(aid, headers), { status: 400 });
		}
	}
	for (const [name, headers] of Object.entries(noKeys))
		await check(`GET /usage with a key that is ${name}`, await ask(server.url, 'GET /usage', headers), {
			status: 403,
			body: forbidden,
		});
	await check('GET /usage', await ask(server.url, 'GET /usage', { 'x-api-key': own.uploadKey }), {
		status: 200,
	});
	const receipts = await ask(
		server.url,
		'POST /subscription/receipts',
		{ 'x-api-key': own.uploadKey },
		{ aid: own.aid, tids: ['MARKER-OF-THE-OTHER-TID'] },
	);
	assert.match(receipts.body, /"stored":false/);
}

async function checkCasks(world: World, elsewhere: World, check: Check): Promise<void> {
	const { own, other, server } = world;
	const { cask, vid, sid } = own.visitor;
	const [header = '', payload = '', signature = ''] = cask.split('.');
	const claims = {
		aid: own.aid,
		sub: vid,
		scope: 'vid',
		iat: Math.floor(Date.now() / 1000),
		exp: Math.floor(Date.now() / 1000) + 3600,
	};
	const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
	const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString());
	const strange = jwtSecret(Buffer.alloc(32, 7).toString('base64url'));
	const known = jwtSecret(world.signingKeys[0]?.secret as string);
	const unverified: Record<string, string> = {
		empty: '',
		garbage: 'x',
		dots: '..',
		'without a signature': `${header}.${payload}.`,
		'of two parts': `${header}.${payload}`,
		'cut short': cask.slice(0, -1),
		'with more': `${cask}A`,
		'with another last character': `${cask.slice(0, -1)}${cask.endsWith('A') ? 'E' : 'A'}`,
		'with another payload': `${header}.${encoded({ ...claims, sub: other.visitor.vid, aid: other.aid })}.${signature}`,
		'of no algorithm': `${encoded({ alg: 'none', typ: 'JWT' })}.${payload}.`,
		'of no algorithm, signed': `${encoded({ alg: 'none', typ: 'JWT', kid })}.${payload}.${signature}`,
		'signed by a stranger': signJwt(jwtHeader(kid), claims, strange),
		'signed by a stranger with a key id of its own': signJwt(jwtHeader('k_stranger'), claims, strange),
		'signed with an empty key': signJwt(jwtHeader(kid), claims, jwtSecret('')),
		'of another stage': elsewhere.own.visitor.cask,
		'of another algorithm': signJwt(encoded({ alg: 'HS512', typ: 'JWT', kid }), claims, known),
		'older than a day': caskOf(world, own.aid, 'vid', vid, Date.now() - 25 * hourMs),
		'older than a day, whatever it says': signJwt(
			jwtHeader(kid),
			{ ...claims, iat: claims.iat - 90_000, exp: claims.exp + 1e6 },
			known,
		),
		'of the future': caskOf(world, own.aid, 'vid', vid, Date.now() + hourMs),
		'without times': signJwt(jwtHeader(kid), { aid: own.aid, sub: vid, scope: 'vid' }, known),
		'without a subject': signJwt(jwtHeader(kid), { ...claims, sub: undefined }, known),
		'of another scope': signJwt(jwtHeader(kid), { ...claims, scope: 'all' }, known),
		'of a list of accounts': signJwt(jwtHeader(kid), { ...claims, aid: [own.aid, other.aid] }, known),
		'with fractions of time': signJwt(jwtHeader(kid), { ...claims, exp: '9999999999' }, known),
		'an API key': own.uploadKey,
	};
	for (const path of ['/visscores', '/visscores/segments', '/segments']) {
		const get = (query: string) => ask(server.url, `GET ${path}?${query}`);
		for (const [name, value] of Object.entries(unverified)) {
			const answer = await get(`cask=${encodeURIComponent(value)}`);
			await check(`${path} with a cask that is ${name} ${value}`, answer, {
				status: 401,
				body: unauthorized,
			});
			assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer error="invalid_token"/);
		}
		await check(`${path} without a cask`, await get(''), { status: 401, body: unauthorized });
		await check(`${path} with two casks`, await get(`cask=${cask}&cask=${cask}`), {
			status: 401,
			body: unauthorized,
		});
		await check(
			`${path} with the cask in a header`,
			await ask(server.url, `GET ${path}`, { authorization: `Bearer ${cask}` }),
			{
				status: 401,
			},
		);
		const denied = [
			...[
				`cask=${cask}&aid=${other.aid}`,
				`cask=${cask}&vid=${other.visitor.vid}`,
				`cask=${cask}&sid=${sid}`,
				`cask=${cask}&vid=`,
			],
			...[
				`cask=${cask}&aid=${own.aid}&aid=${own.aid}`,
				`cask=${cask}&vid=${vid}&vid=${other.visitor.vid}`,
				`cask=${own.erasedCask}`,
			],
			...[
				`cask=${caskOf(world, own.disabledAid, 'vid', vid)}`,
				`cask=${caskOf(world, 'c-a-nobody', 'vid', vid)}`,
			],
			`cask=${caskOf(world, own.aid, 'sid', sid)}&vid=${vid}`,
		];
		for (const query of denied)
			await check(`${path}?${query}`, await get(query), { status: 403, body: forbidden });
		for (const query of [
			`cask=${cask}`,
			`cask=${cask}&aid=${own.aid}&vid=${vid}`,
			`cask=${caskOf(world, own.aid, 'sid', sid)}&sid=${sid}`,
		])
			await check(`${path}?${query}`, await get(query), { status: 200 });
		// A visitor of somebody else's is nobody in this account.
		await check(
			`${path} of ${other.visitor.vid}`,
			await get(`cask=${caskOf(world, own.aid, 'vid', other.visitor.vid)}`),
			{ status: 200 },
		);
	}
}

async function checkHits({ own, other, server }: World, check: Check): Promise<void> {
	const hit = (headers: Record<string, string>, party: Pick<Party, 'aid'>, more: object = {}) =>
		ask(
			server.url,
			'POST /hit?include=scores,segments',
			{ 'user-agent': 'Mozilla/5.0 Firefox/140.0', ...headers },
			{ aid: party.aid, ...more },
		);
	for (const origin of ['https://stranger.example', 'null', `${otherOrigin}.stranger.example`])
		await check(`a hit of ${origin}`, await hit({ origin }, other), { status: 403, body: forbidden });
	await check('a hit of the site', await hit({ origin: otherOrigin }, other), { status: 200 });
	for (const aid of [own.disabledAid, 'c-a-nobody'])
		await check(`a hit of ${aid}`, await hit({}, { aid }), { status: 400 });
	// Whoever names another's visitor becomes somebody new.
	const { visitor } = other;
	const answer = await hit({}, own, { vid: visitor.vid, sid: visitor.sid });
	await check('a hit that names a visitor of somebody else', answer, { status: 200 });
	assert.ok(!answer.body.includes(visitor.vid));
}
