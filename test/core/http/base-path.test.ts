import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { ServeSettings } from '../../../src/kit/config.ts';
import { assertMisused, caskadeWithin } from '../../process.ts';
import { serveHere } from '../../serve-here.ts';
import { addClient, event, serveAt, temporaryFolder } from '../../support.ts';
import { openStore } from '../../whole.ts';

async function startAt(t: TestContext, settings: Partial<ServeSettings>) {
	const address = `sqlite:${temporaryFolder(t)}`;
	const store = await openStore(address, settings);
	const { aid, key } = await addClient(store);
	const server = await serveAt(address, settings);
	t.after(async () => {
		await server.stop();
		await store.close();
	});
	return { ...server, aid, key };
}

const serversOf = async (url: string, headers: Record<string, string> = {}) =>
	((await (await fetch(`${url}/openapi.json`, { headers })).json()) as { servers: unknown }).servers;

for (const [settings, prefix] of [
	[{ basePath: '/events/v1' }, '/events/v1'],
	[{ basePath: '/api', stage: 'staging' }, '/api/staging'],
] as const)
	test(`all operations are under ${prefix}, the base path before the stage`, async (t) => {
		const { url, aid, key } = await startAt(t, settings);
		const { origin, pathname } = new URL(url);
		assert.equal(pathname, prefix);
		const upload = (at: string) =>
			fetch(`${at}/subscription`, {
				method: 'POST',
				headers: { 'x-api-key': key, 'content-type': 'application/json' },
				body: JSON.stringify({ aid, data: [event()] }),
			});
		assert.equal((await upload(url)).status, 201);
		assert.equal((await upload(origin)).status, 404);
		const put = await fetch(`${url}/subscription`, { method: 'PUT' });
		assert.deepEqual([put.status, put.headers.get('allow')], [405, 'POST']);
		const options = await fetch(`${url}/subscription`, { method: 'OPTIONS' });
		assert.equal(options.status, 403);
	});

test('the documents work from below a base path', async (t) => {
	const { url } = await startAt(t, { basePath: '/api' });
	const page = await (await fetch(`${url}/docs/api`)).text();
	for (const [path] of page.matchAll(/(?<=(?:src|href)=")[^"]+/g))
		assert.equal((await fetch(new URL(path, `${url}/docs/api`))).status, 200, path);
	const script = await (await fetch(`${url}/docs/api/start.js`)).text();
	const document = /(?<=url: ')[^']+/.exec(script)?.[0] ?? '';
	const answer = await fetch(new URL(document, `${url}/docs/api`));
	const { paths } = (await answer.json()) as { paths: object };
	for (const path of ['/subscription', '/visscores', '/visscores/segments', '/hit'])
		assert.ok(path in paths, path);
	assert.deepEqual(await serversOf(url), [{ url }]);
});

test('forwarded headers are trusted only behind a proxy', async (t) => {
	const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'api.example.com' };
	const open = await startAt(t, {});
	assert.deepEqual(await serversOf(open.url, forwarded), [{ url: open.url }]);
	const behind = await startAt(t, { behindProxy: 1, basePath: '/api' });
	assert.deepEqual(await serversOf(behind.url, forwarded), [{ url: 'https://api.example.com/api' }]);
	assert.deepEqual(await serversOf(behind.url), [{ url: behind.url }]);
});

test('an invalid base path is refused, and / means none', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	for (const path of ['', 'api', '/api/', '//api', '/..', '/a/../b', '/:id', '/a b', '/*', '/a?b'])
		assertMisused(
			await caskadeWithin(['serve', `--base-path=${path}`, ...at]),
			/It must be a path such as \/api/,
		);
	await using server = await serveHere(['--base-path', '/', ...at]);
	assert.equal(new URL(server.url).pathname, '/');
	assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
});
