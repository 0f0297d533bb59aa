import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { issueCask } from '../../../src/core/access/cask.ts';
import { CaskError, CaskVerifier } from '../../../src/core/access/cask-verifier.ts';
import { isSubject } from '../../../src/core/domain/cask-scope.ts';
import { newSigningKey, type SigningKey } from '../../../src/core/domain/signing-key.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { examples } from '../../quick.ts';

const nowMs = Date.UTC(2026, 10, 21, 12);
const vid = '0123456789abcdef0123456789abcdef';
const key: SigningKey = {
	kid: 's_000000000001',
	secret: Buffer.alloc(32, 7).toString('base64url'),
	createdAtMs: nowMs - dayMs,
	retiresAtMs: null,
};
const subject = { aid: 'c-a-acme-uk', scope: 'vid', subject: vid } as const;

const part = (text: string) => Buffer.from(text).toString('base64url');

/** A token by RFC 7515, made without the library that the service uses. */
function token(header: string, payload: string, secret = Buffer.alloc(32, 7)): string {
	const input = `${part(header)}.${part(payload)}`;
	return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
}

const header = `{"alg":"HS256","typ":"JWT","kid":"${key.kid}"}`;
const payload = (fields: Record<string, unknown> = {}) => {
	const seconds = nowMs / 1000;
	return JSON.stringify({
		aid: subject.aid,
		sub: vid,
		scope: 'vid',
		iat: seconds,
		exp: seconds + 86_400,
		...fields,
	});
};

function verify(cask: string, atMs = nowMs, keys: readonly SigningKey[] = [key]) {
	return open(new CaskVerifier(), cask, keys, atMs);
}

/** @throws CaskError where the cask opens nothing */
function open(verifier: CaskVerifier, cask: string, keys: readonly SigningKey[], atMs: number) {
	const found = verifier.verify(cask, keys, atMs);
	if (found instanceof CaskError) throw found;
	return found;
}

function assertDenied(
	cask: string,
	problem: string,
	atMs = nowMs,
	keys: readonly SigningKey[] = [key],
): void {
	assert.throws(() => verify(cask, atMs, keys), { name: 'CaskError', problem });
}

test('a cask is a JWT, to the byte', () => {
	const { cask, expiresAtMs } = issueCask([key], subject, nowMs);
	assert.equal(
		cask,
		'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6InNfMDAwMDAwMDAwMDAxIn0.eyJhaWQiOiJjLWEtYWNtZS11ayIsInN1YiI6IjAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVmIiwic2NvcGUiOiJ2aWQiLCJpYXQiOjE3OTUyNjI0MDAsImV4cCI6MTc5NTM0ODgwMH0.iwY5Of0ctQMqBpkmf8UJM149eawq2IbMPye-IsYVxEY',
	);
	assert.equal(cask, token(header, payload()));
	assert.equal(expiresAtMs, nowMs + dayMs);
	assert.deepEqual(verify(cask), {
		...subject,
		issuedAtMs: nowMs,
		expiresAtMs,
		expiresAt: new Date(expiresAtMs).toISOString(),
	});
});

test('a cask is valid for exactly 24 hours from its second on', () => {
	const { cask, expiresAtMs } = issueCask([key], subject, nowMs + 999);
	assert.equal(expiresAtMs, nowMs + dayMs);
	assert.equal(verify(cask, expiresAtMs - 1).subject, vid);
	assertDenied(cask, 'expired', expiresAtMs);
	assertDenied(cask, 'expired', expiresAtMs + 1000);
});

test('a shorter lifetime can be requested, a longer one cannot', () => {
	assert.equal(issueCask([key], subject, nowMs, 90_000).expiresAtMs, nowMs + 90_000);
	assert.equal(issueCask([key], subject, nowMs, 2 * dayMs).expiresAtMs, nowMs + dayMs);
});

test('a cask expires 24 hours after iat, whatever exp says', () => {
	const forever = token(header, payload({ exp: nowMs / 1000 + 10 * 86_400 }));
	assert.equal(verify(forever).expiresAtMs, nowMs + dayMs);
	assert.equal(verify(forever, nowMs + dayMs - 1).subject, vid);
	assertDenied(forever, 'expired', nowMs + dayMs);
	assertDenied(token(header, payload({ exp: 0 }).replace('"exp":0', '"exp":1e999')), 'claims');
});

test('clocks may differ by 60 s: a cask from further in the future is not valid yet', () => {
	const ahead = (seconds: number) =>
		token(header, payload({ iat: nowMs / 1000 + seconds, exp: nowMs / 1000 + 7200 }));
	assert.equal(verify(ahead(60)).subject, vid);
	assertDenied(ahead(61), 'early');
});

test('text that is not a token is malformed', () => {
	const { cask } = issueCask([key], subject, nowMs);
	const [head = '', claims = '', signature = ''] = cask.split('.');
	for (const wrong of [
		'',
		'cask',
		'..',
		'a.b.c',
		`${head}.${claims}`,
		`${head}.${claims}.`,
		`${cask}.${signature}`,
		`${cask}=`,
		` ${cask}`,
		`${cask}\n`,
		`${head}.${claims}.${signature.slice(1)}`,
		`${head} .${claims}.${signature}`,
		`${part('[]')}.${claims}.${signature}`,
		`${part('not json')}.${claims}.${signature}`,
		'é'.repeat(100),
	])
		assertDenied(wrong, 'malformed');
});

test('10 KB are refused without any work', () => {
	const long = token(header, payload({ aid: 'x'.repeat(10_000) }));
	assertDenied(long, 'malformed');
	assertDenied('x'.repeat(10_000_000), 'malformed');
});

test('only HS256 is accepted, whatever the header says', () => {
	const { cask } = issueCask([key], subject, nowMs);
	const [, claims = '', signature = ''] = cask.split('.');
	const secret = Buffer.alloc(32, 7);
	for (const alg of ['none', 'None', 'HS384', 'HS512', 'RS256', 'ES256', 'hs256', '', null]) {
		const other = JSON.stringify({ alg, typ: 'JWT', kid: key.kid });
		assertDenied(`${part(other)}.${claims}.`, 'malformed');
		assertDenied(`${part(other)}.${claims}.${signature}`, 'forged');
		assertDenied(token(other, payload(), secret), 'forged');
	}
	const input = `${part(JSON.stringify({ alg: 'HS512', typ: 'JWT', kid: key.kid }))}.${claims}`;
	assertDenied(`${input}.${createHmac('sha512', secret).update(input).digest('base64url')}`, 'malformed');
});

test('a cask signed with another key is refused, whether its kid is known or not', () => {
	assertDenied(token(header, payload(), Buffer.alloc(32, 8)), 'forged');
	const ofAnotherStage = issueCask([newSigningKey(nowMs - dayMs)], subject, nowMs).cask;
	assertDenied(ofAnotherStage, 'unknown_key');
	for (const kid of ['', 's_000000000002', '__proto__', 'constructor', 1, null, [key.kid], undefined])
		assertDenied(token(JSON.stringify({ alg: 'HS256', kid }), payload()), 'unknown_key');
	assertDenied(issueCask([key], subject, nowMs).cask, 'unknown_key', nowMs, []);
});

test('signed but invalid claims are refused', () => {
	for (const fields of [
		{ scope: 'cid' },
		{ scope: undefined },
		{ scope: 'VID' },
		{ scope: ['vid'] },
		{ sub: undefined },
		{ sub: vid.toUpperCase() },
		{ sub: vid.slice(1) },
		{ sub: `${vid}\n` },
		{ sub: 1 },
		{ aid: undefined },
		{ aid: 7 },
		{ iat: undefined },
		{ iat: '1' },
		{ iat: 1.5 },
		{ exp: undefined },
		{ exp: null },
	])
		assertDenied(token(header, payload(fields)), 'claims');
	for (const text of ['"text"', '[]', 'null', 'not json']) assertDenied(token(header, text), 'malformed');
});

test('a rotated key verifies until it is retired, cached casks included', () => {
	const verifier = new CaskVerifier();
	const retiring = { ...key, retiresAtMs: nowMs + 5000 };
	const { cask } = issueCask([key], subject, nowMs);
	const keys = [newSigningKey(nowMs), retiring];
	assert.equal(open(verifier, cask, keys, nowMs).subject, vid);
	assert.equal(open(verifier, cask, keys, nowMs + 4999).subject, vid);
	assert.throws(() => open(verifier, cask, keys, nowMs + 5000), { problem: 'unknown_key' });
});

test('a new key signs once every server knows it; the first one at once', () => {
	const kidAt = (keys: readonly SigningKey[], atMs: number) =>
		JSON.parse(Buffer.from(issueCask(keys, subject, atMs).cask.split('.')[0] ?? '', 'base64url').toString())
			.kid;
	const fresh = newSigningKey(nowMs);
	assert.equal(kidAt([fresh], nowMs), fresh.kid);
	assert.equal(kidAt([fresh, key], nowMs + 1999), key.kid);
	assert.equal(kidAt([fresh, key], nowMs + 2000), fresh.kid);
	assert.throws(() => issueCask([], subject, nowMs), /no signing key/);
});

test('cached casks expire too, and are dropped with their key', () => {
	const verifier = new CaskVerifier();
	const { cask, expiresAtMs } = issueCask([key], subject, nowMs);
	for (const atMs of [nowMs, nowMs, expiresAtMs - 1])
		assert.deepEqual(open(verifier, cask, [key], atMs), {
			...subject,
			issuedAtMs: nowMs,
			expiresAtMs,
			expiresAt: new Date(expiresAtMs).toISOString(),
		});
	assert.throws(() => open(verifier, cask, [key], expiresAtMs), { problem: 'expired' });
	assert.equal(open(verifier, cask, [{ ...key }], nowMs).subject, vid);
	const other = { ...key, secret: Buffer.alloc(32, 9).toString('base64url') };
	assert.throws(() => open(verifier, cask, [other], nowMs), { problem: 'forged' });
	assert.throws(() => open(verifier, cask, [], nowMs), { problem: 'unknown_key' });
});

test("casks beyond the cache's size are still verified", () => {
	const verifier = new CaskVerifier();
	const casks = Array.from({ length: 10_050 }, (_, index) => {
		const sid = index.toString(16).padStart(32, '0');
		return { sid, ...issueCask([key], { aid: 'a', scope: 'sid', subject: sid }, nowMs) };
	});
	for (const { sid, cask } of [...casks, ...casks.slice(0, 100)])
		assert.equal(open(verifier, cask, [key], nowMs).subject, sid);
});

const subjects = fc.record({
	aid: fc.string({ minLength: 1, maxLength: 64 }),
	scope: fc.constantFrom('vid' as const, 'sid' as const),
	subject: fc.stringMatching(/^[0-9a-f]{32}$/),
});

test('property: an issued cask verifies to its claims within its lifetime', () => {
	const verifier = new CaskVerifier();
	fc.assert(
		fc.property(subjects, fc.integer({ min: 0, max: dayMs }), fc.nat(dayMs), (of, lifetimeMs, passedMs) => {
			const { cask, expiresAtMs } = issueCask([key], of, nowMs, lifetimeMs);
			const opened = () => open(verifier, cask, [key], nowMs + passedMs);
			const expiresAt = new Date(expiresAtMs).toISOString();
			if (nowMs + passedMs < expiresAtMs)
				assert.deepEqual(opened(), { ...of, issuedAtMs: nowMs, expiresAtMs, expiresAt });
			else assert.throws(opened, { problem: 'expired' });
		}),
	);
});

test('property: a cask with one character changed is refused, cached or not', () => {
	const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=';
	const verifier = new CaskVerifier();
	const { cask } = issueCask([key], subject, nowMs);
	open(verifier, cask, [key], nowMs);
	fc.assert(
		fc.property(fc.nat(cask.length - 1), fc.constantFrom(...alphabet), (at, character) => {
			fc.pre(cask[at] !== character);
			const changed = cask.slice(0, at) + character + cask.slice(at + 1);
			assert.throws(() => open(verifier, changed, [key], nowMs), { name: 'CaskError' });
		}),
		{ numRuns: examples(2000) },
	);
});

test('property: no text makes the verifier throw', () => {
	fc.assert(
		fc.property(fc.oneof(fc.string(), fc.array(fc.base64String(), { maxLength: 4 })), (given) => {
			const text = typeof given === 'string' ? given : given.map((each) => part(each)).join('.');
			assert.throws(() => verify(text), { name: 'CaskError' });
		}),
	);
});

test('a subject is 32 lower-case hex digits', () => {
	assert.ok(isSubject(vid));
	for (const other of ['', 'x'.repeat(32), `${vid}0`, vid.toUpperCase(), `${vid}\n`, 1, null, [vid]])
		assert.equal(isSubject(other), false);
});
