import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { dayMs } from '../../../../src/core/durations.ts';
import { addClient, startService, type TestService } from '../../../support.ts';

const home = 'https://acme.example';
const elsewhere = 'https://evil.example';
const paths = ['/visscores', '/visscores/segments', '/segments'];

/** A service whose account allows only one origin, and another account that allows all. */
async function startStrict(
	t: TestContext,
	now?: () => number,
): Promise<TestService & { readonly other: string }> {
	const service = await startService(t, now ? { now } : {});
	const { aid: other } = await addClient(service.store, { client: 'other' });
	await service.store.control.updateAccount(service.aid, { origins: [home] });
	await service.server.directory.refresh();
	return { ...service, other };
}

/** The origins that may read an answer, for each path and `HEAD`. Expects the status. */
async function readableBy(
	{ url }: TestService,
	query: string,
	origin: string | undefined,
	status: number,
): Promise<[origin: string | null, vary: string | null]> {
	const found = new Set<string>();
	for (const path of paths)
		for (const method of ['GET', 'HEAD']) {
			const headers = origin === undefined ? {} : { origin };
			const answer = await fetch(`${url}${path}?${query}`, { method, headers });
			assert.equal(answer.status, status, path);
			assert.equal(answer.headers.get('access-control-allow-credentials'), null);
			assert.equal(answer.headers.get('cache-control'), 'private, no-store');
			const allowed = answer.headers.get('access-control-allow-origin');
			found.add(JSON.stringify([allowed, answer.headers.get('vary')]));
		}
	assert.equal(found.size, 1, [...found].join());
	return JSON.parse([...found][0] as string);
}

/** Expects that only pages of the account's origins may read the answer. */
async function assertLeftToHome(service: TestService, query: string, status: number): Promise<void> {
	assert.deepEqual(await readableBy(service, query, home, status), [home, 'origin'], query);
	assert.deepEqual(await readableBy(service, query, elsewhere, status), [null, 'origin'], query);
	assert.deepEqual(await readableBy(service, query, undefined, status), [null, 'origin'], query);
}

async function assertReadableByAll(service: TestService, query: string, status: number): Promise<void> {
	assert.deepEqual(await readableBy(service, query, elsewhere, status), ['*', null], query);
}

test("only pages of the account's origins may read 200 and 403", async (t) => {
	const service = await startStrict(t);
	const { cask } = await service.hit({}, { origin: home });
	await assertLeftToHome(service, `cask=${cask}`, 200);
	// The cask is valid, so its account counts, not the one in the query.
	for (const more of [`aid=${service.other}`, 'vid=x', 'sid='])
		await assertLeftToHome(service, `cask=${cask}&${more}`, 403);
});

test('the same for 401 if the cask, verified or not, or the query names a known account', async (t) => {
	const clock = { nowMs: Date.now() };
	const service = await startStrict(t, () => clock.nowMs);
	const { aid, other } = service;
	const { cask } = await service.hit({}, { origin: home });
	const [header, claims, signature] = cask.split('.') as [string, string, string];
	const forged = `${header}.${claims}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
	for (const query of [`cask=${forged}`, `cask=${cask}x`, `cask=${forged}&aid=${other}`])
		await assertLeftToHome(service, query, 401);
	for (const query of [`aid=${aid}`, `cask=&aid=${aid}`, `cask=x&aid=${aid}`, `cask=a.b.c&aid=${aid}`])
		await assertLeftToHome(service, query, 401);
	clock.nowMs += dayMs;
	await assertLeftToHome(service, `cask=${cask}`, 401);
});

test('if no known account is named, pages of every origin may read the 401, so that they can fire again', async (t) => {
	const service = await startStrict(t);
	const { aid, other, store, server } = service;
	const claims = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
	const none = [null, 1, [], {}, { aid: 1 }, { aid: [aid] }, { aid: 'c-a-unknown' }, { aid: '__proto__' }];
	for (const value of none) await assertReadableByAll(service, `cask=${claims({})}.${claims(value)}.x`, 401);
	for (const query of ['', 'cask=', 'cask=x', `cask=${'x.'.repeat(2000)}`, 'aid=c-a-unknown', `aid=${other}`])
		await assertReadableByAll(service, query, 401);
	await assertReadableByAll(service, `aid=${aid}&aid=${aid}`, 401);
	// Servers do not know disabled accounts.
	const { cask } = await service.hit({}, { origin: home });
	await store.control.setAccountDisabled(aid, true);
	await server.directory.refresh();
	await assertReadableByAll(service, `cask=${cask}`, 403);
});
