import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../eventually.ts';
import { connectTo, uploadHead } from '../../../raw-http.ts';
import { openAccount } from '../../../shared-server.ts';
import { event, startService } from '../../../support.ts';
import { openStore } from '../../../whole.ts';

const forbidden = '{"message":"Forbidden","validationErrors":null}';

async function assertForbidden(answer: Response, what: string): Promise<void> {
	assert.equal(answer.status, 403, what);
	assert.equal(await answer.text(), forbidden, what);
	assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
	assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
	assertNoCors(answer.headers);
}

function assertNoCors(headers: Headers): void {
	assert.deepEqual(
		[...headers.keys()].filter((name) => name.startsWith('access-control-')),
		[],
	);
}

test('a key is refused like an unknown one from the moment it expires', async (t) => {
	let nowMs = Date.now();
	const service = await startService(t, { now: () => nowMs });
	const expiresInMs = 3_600_000;
	const { key } = await service.store.control.issueKey(service.client, service.planName, { expiresInMs });
	await service.directory.refresh();
	const upload = (given: string) =>
		service.upload({ aid: service.aid, data: [event()] }, { 'x-api-key': given });
	const { expiresAt } = (await service.store.control.keys()).at(-1) ?? {};
	nowMs = Date.parse(expiresAt as string) - 1;
	assert.equal((await upload(key)).status, 201);
	nowMs++;
	const answer = await upload(key);
	await assertForbidden(answer, 'expired');
	const unknown = await upload('nonsense');
	assert.deepEqual([...answer.headers.keys()], [...unknown.headers.keys()]);
	assert.equal((await upload(service.key)).status, 201);
	assert.equal((await service.stored()).length, 2);
});

test('a missing, an unknown and a revoked key get the same answer', async () => {
	const service = await openAccount();
	const { key: revoked, id } = await service.store.control.issueKey(service.client, 'standard');
	await service.store.control.revokeKey(id);
	await service.directory.refresh();
	const upload = (key: string | undefined) =>
		service.upload({ aid: service.aid, data: [event()] }, { 'x-api-key': key });
	const headerNames = new Set<string>();
	for (const key of [
		undefined,
		'',
		'nonsense',
		revoked,
		id,
		service.keyId,
		service.key.slice(0, -1),
		`${service.key}x`,
		service.key.toUpperCase(),
		`${service.key}, ${service.key}`,
		`Bearer ${service.key}`,
		'x'.repeat(10_000),
		'__proto__',
		"' OR 1=1 --",
	]) {
		const answer = await upload(key);
		headerNames.add([...answer.headers.keys()].sort().join());
		await assertForbidden(answer, String(key));
		assert.equal(answer.headers.get('ratelimit-policy'), null);
		assert.equal(answer.headers.get('ratelimit'), null);
	}
	assert.equal(headerNames.size, 1);
	assert.deepEqual(await service.stored(), []);
	assert.equal((await upload(service.key)).status, 201);
});

test('a key is accepted only in x-api-key', async () => {
	const service = await openAccount();
	const body = { aid: service.aid, data: [event()] };
	await assertForbidden(
		await service.upload(body, { 'x-api-key': undefined, authorization: `Bearer ${service.key}` }),
		'authorization',
	);
	const inQuery = await fetch(`${service.url}/subscription?x-api-key=${service.key}`, {
		method: 'POST',
		headers: { 'content-type': 'application/json' },
		body: JSON.stringify(body),
	});
	await assertForbidden(inQuery, 'query');
	assert.deepEqual(await service.stored(), []);
});

test('a key sent twice is refused', async (t) => {
	const service = await openAccount();
	const connection = await connectTo(t, service.url);
	connection.send(uploadHead({ 'x-api-key': service.key, 'X-Api-Key': service.key, 'content-length': 0 }));
	assert.equal((await connection.answer()).status, 403);
});

test('a request from a browser is refused, even with a valid key', async (t) => {
	const service = await openAccount();
	for (const headers of [
		{ origin: 'https://shop.example' },
		{ origin: 'null' },
		{ origin: service.url },
		{ 'sec-fetch-site': 'cross-site' },
		{ 'sec-fetch-site': 'same-origin' },
		{ 'sec-fetch-site': 'none' },
	]) {
		const connection = await connectTo(t, service.url);
		const body = JSON.stringify({ aid: service.aid, data: [event()] });
		connection.send(
			uploadHead({ 'x-api-key': service.key, 'content-length': body.length, ...headers }),
			body,
		);
		const answer = await connection.answer();
		assert.equal(answer.status, 403, JSON.stringify(headers));
		assert.equal(answer.body, forbidden);
		assertNoCors(answer.headers);
		connection.destroy();
	}
	assert.deepEqual(await service.stored(), []);
});

test('sec-fetch-mode alone does not identify a browser', async (t) => {
	const service = await openAccount();
	const connection = await connectTo(t, service.url);
	const body = JSON.stringify({ aid: service.aid, data: [event()] });
	connection.send(
		uploadHead({ 'x-api-key': service.key, 'content-length': body.length, 'sec-fetch-mode': 'cors' }),
		body,
	);
	const answer = await connection.answer();
	assert.equal(answer.status, 201);
	assertNoCors(answer.headers);
});

test('OPTIONS is refused, with or without the headers of a preflight', async () => {
	const service = await openAccount();
	const preflight = {
		origin: 'https://shop.example',
		'access-control-request-method': 'POST',
		'access-control-request-headers': 'x-api-key,content-type',
	};
	for (const headers of [{}, preflight, { 'x-api-key': service.key }])
		await assertForbidden(
			await fetch(`${service.url}/subscription`, { method: 'OPTIONS', headers }),
			JSON.stringify(headers),
		);
});

test("does not use the key's limits", async () => {
	const service = await openAccount({ ratePerSecond: 0.001, burst: 1, quotaPerMonth: 1 });
	const body = { aid: service.aid, data: [event()] };
	for (let count = 0; count < 3; count++)
		await assertForbidden(
			await service.upload(body, { origin: 'https://shop.example' }),
			'with the key, from a browser',
		);
	assert.equal((await service.upload(body)).status, 201);
});

test('is decided before rate, quota, size, media type and body', async () => {
	const service = await openAccount({ ratePerSecond: 0.001, burst: 1, quotaPerMonth: 1 });
	await service.upload({ aid: service.aid, data: [event()] });
	assert.equal((await service.upload('{')).status, 429);
	await assertForbidden(await service.upload('{', { 'x-api-key': 'unknown' }), 'malformed');
	await assertForbidden(
		await service.upload('x'.repeat(300_000), { 'x-api-key': 'unknown', 'content-type': 'text/plain' }),
		'too large, of the wrong type',
	);
});

test('is answered before the body is sent', async (t) => {
	const service = await openAccount();
	for (const headers of [{ 'x-api-key': 'unknown' }, { 'x-api-key': service.key, origin: 'null' }]) {
		const connection = await connectTo(t, service.url);
		connection.send(uploadHead({ ...headers, 'content-length': 100_000_000 }));
		const answer = await connection.answer();
		assert.equal(answer.status, 403);
		assert.equal(answer.body, forbidden);
		// The server does not receive 100 MB only to discard them.
		for (let sent = 0; sent < 3; sent++) connection.send(Buffer.alloc(1024 * 1024));
		await connection.closed;
	}
});

test('a client that sends "Expect: 100-continue" is refused without a 100', async (t) => {
	const service = await openAccount();
	const connection = await connectTo(t, service.url);
	connection.send(
		uploadHead({ 'x-api-key': 'unknown', 'content-length': 100_000_000, expect: '100-continue' }),
	);
	const answer = await connection.answer();
	assert.equal(answer.status, 403);
	assert.equal(answer.body, forbidden);
});

test('a key that another process issues or revokes takes effect within a second', async (t) => {
	const service = await startService(t);
	const elsewhere = await openStore(`sqlite:${service.folder}`);
	t.after(() => elsewhere.close());
	const statusBecomes = (status: number, key: string) =>
		eventually(`${status}`, async () => {
			const answer = await service.upload({ aid: service.aid, data: [event()] }, { 'x-api-key': key });
			return answer.status === status;
		});
	await elsewhere.control.createPlan({
		...(await service.store.control.plan(service.planName)),
		name: 'new',
	});
	const { key, id } = await elsewhere.control.issueKey('acme', 'new');
	await statusBecomes(201, key);
	await elsewhere.control.revokeKey(id);
	await statusBecomes(403, key);
});
