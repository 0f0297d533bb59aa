import assert from 'node:assert/strict';
import { test } from 'node:test';
import { browserUserAgent } from '../../../support.ts';
import { freshPostgresDatabase } from '../postgres-server.ts';
import { startProxiedService } from './service.ts';

const overloaded = '{"message":"Service unavailable.","validationErrors":null}';
const json = { 'content-type': 'application/json' };

test('while the database is down, everything that needs it answers 503 with retry-after, and nothing is stored', async (t) => {
	const service = await startProxiedService(t, await freshPostgresDatabase(), {
		ratePerSecond: 1000,
		burst: 1000,
	});
	const { server, proxy, acme } = service;
	assert.equal((await service.upload(['before'])).status, 201);
	const hit = (query = '') =>
		fetch(`${server.url}/hit${query}`, {
			method: 'POST',
			headers: { ...json, 'user-agent': browserUserAgent },
			body: JSON.stringify({ aid: acme.aid, url: 'https://shop.test/' }),
		});
	const { cask } = (await (await hit()).json()) as { cask: string };
	const key = { 'x-api-key': acme.key };
	const asked = (path: string) => fetch(`${server.url}${path}`, { headers: key });
	const requests: Readonly<Record<string, () => Promise<Response>>> = {
		'an upload': () =>
			fetch(`${server.url}/subscription`, {
				method: 'POST',
				headers: { ...json, ...key },
				body: JSON.stringify({ aid: acme.aid, data: [{ tid: 'down', subid: 's', evt: 'e' }] }),
			}),
		'a hit': () => hit(),
		'a read of scores': () => asked(`/visscores?cask=${cask}`),
		'a read of segments': () => asked(`/segments?cask=${cask}`),
		'a receipt': () => asked(`/subscription/before?aid=${acme.aid}`),
		'the usage': () => asked('/usage'),
	};
	proxy.refuse();
	for (const [name, send] of Object.entries(requests)) {
		const answer = await send();
		assert.deepEqual(
			[answer.status, await answer.text(), answer.headers.get('retry-after')],
			[503, overloaded, '1'],
			name,
		);
	}
	const image = await fetch(`${server.url}/hit.gif?aid=${acme.aid}&url=https://shop.test/`, {
		headers: { 'user-agent': browserUserAgent },
	});
	assert.deepEqual([image.status, image.headers.get('retry-after')], [503, '1']);
	proxy.restore();
	await service.uploadUntilStored('after');
	assert.deepEqual(await service.stored(), ['before', 'after']);
});
