import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayMs } from '../../../../src/core/durations.ts';
import { openAccount } from '../../../shared-server.ts';
import { startService } from '../../../support.ts';

const unauthorized = '{"message":"Unauthorized","validationErrors":null}';

async function assertUnauthorized(answer: Response, reason: string): Promise<void> {
	assert.equal(answer.status, 401, reason);
	assert.equal(await answer.text(), unauthorized);
	assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
	assert.equal(
		answer.headers.get('www-authenticate'),
		`Bearer error="invalid_token", error_description="${reason}"`,
	);
	// The page must be able to read that it must fire again.
	assert.equal(answer.headers.get('access-control-allow-origin'), '*');
	assert.match(answer.headers.get('access-control-expose-headers') ?? '', /www-authenticate/);
	assert.equal(answer.headers.get('cache-control'), 'private, no-store');
	assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
}

test('a missing, repeated, malformed or forged cask is refused', async () => {
	const { url, hit, aid } = await openAccount();
	const { cask, vid } = await hit();
	const [header, claims, signature] = cask.split('.') as [string, string, string];
	const forged = `${header}.${claims}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
	const unsigned = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url');
	const cases: [query: string, reason: string][] = [
		['', 'the cask is missing'],
		['?cask=', 'the cask is missing'],
		[`?aid=${aid}&vid=${vid}`, 'the cask is missing'],
		[`?CASK=${cask}`, 'the cask is missing'],
		[`?cask=${cask}&cask=${cask}`, 'more than one cask was sent'],
		['?cask=x', 'the cask is malformed'],
		[`?cask=${cask}x`, 'the cask is malformed'],
		[`?cask=%20${cask}`, 'the cask is malformed'],
		[`?cask=${unsigned}.${claims}.`, 'the cask is malformed'],
		[`?cask=${unsigned}.${claims}.${signature}`, 'the cask is signed with an unknown key'],
		[`?cask=${forged}`, "the cask's signature is not valid"],
	];
	for (const [query, reason] of cases)
		await assertUnauthorized(await fetch(`${url}/visscores${query}`), reason);
});

test('a cask is not accepted as an API key, nor an API key as a cask, nor either in a header', async () => {
	const { url, hit, key } = await openAccount();
	const { cask } = await hit();
	await assertUnauthorized(await fetch(`${url}/visscores?cask=${key}`), 'the cask is malformed');
	for (const headers of [
		{ 'x-api-key': key },
		{ authorization: `Bearer ${cask}` },
		{ cookie: `cask=${cask}` },
	])
		await assertUnauthorized(await fetch(`${url}/visscores`, { headers }), 'the cask is missing');
});

test('a cask expires 24 hours after the hit, to the second', async (t) => {
	const clock = { nowMs: Date.UTC(2026, 10, 21, 12) };
	const { url, hit } = await startService(t, { now: () => clock.nowMs });
	const { cask, caskExpiresAt } = await hit();
	assert.equal(caskExpiresAt, '2026-11-22T12:00:00.000Z');
	clock.nowMs += dayMs - 1;
	assert.equal((await fetch(`${url}/visscores?cask=${cask}`)).status, 200);
	clock.nowMs += 1;
	await assertUnauthorized(await fetch(`${url}/visscores?cask=${cask}`), 'the cask has expired');
});

test('a cask of another service is refused', async (t) => {
	const [one, other] = [await openAccount(), await startService(t)];
	const { cask } = await other.hit();
	await assertUnauthorized(
		await fetch(`${one.url}/visscores?cask=${cask}`),
		'the cask is signed with an unknown key',
	);
});

test('casks stay valid when the signing key is rotated', async (t) => {
	let aheadMs = 0;
	const { url, hit, store, server } = await startService(t, { now: () => Date.now() + aheadMs });
	const before = await hit();
	await store.control.rotateSigningKeys();
	await server.directory.refresh();
	// A new key signs only when every server has had time to learn of it.
	aheadMs = 60_000;
	const after = await hit();
	const kid = (cask: string) => JSON.parse(atob(cask.split('.')[0] as string)).kid;
	assert.notEqual(kid(after.cask), kid(before.cask));
	for (const { cask } of [before, after])
		assert.equal((await fetch(`${url}/visscores?cask=${cask}`)).status, 200);
});
