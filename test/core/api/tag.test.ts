import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startService } from '../../support.ts';

const current = '/tag.js';
const version = '/tag.v6.js';
const earlier = '/tag.v1.js';

describe('GET /tag.js and its versions', () => {
	test('are sent to pages of every origin', async (t) => {
		const { url } = await startService(t);
		for (const path of [current, version, earlier]) {
			const response = await fetch(url + path, { headers: { origin: 'https://acme.example' } });
			assert.equal(response.status, 200);
			assert.equal(response.headers.get('content-type'), 'text/javascript; charset=utf-8');
			assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
			assert.equal(response.headers.get('access-control-allow-origin'), '*');
			assert.equal(response.headers.get('cross-origin-resource-policy'), 'cross-origin');
			assert.match(await response.text(), /vscr_/);
		}
	});

	test('the current version is cached briefly, a numbered one for ever', async (t) => {
		const { url } = await startService(t);
		const caching = async (path: string) => (await fetch(url + path)).headers.get('cache-control');
		assert.match((await caching(current)) ?? '', /^public, max-age=300,/);
		assert.equal(await caching(version), 'public, max-age=31536000, immutable');
	});

	test('304 is sent for the ETag of the accepted encoding', async (t) => {
		const { url } = await startService(t);
		for (const encoding of ['gzip', 'identity']) {
			const ask = (etag?: string) =>
				fetch(url + current, {
					headers: { 'accept-encoding': encoding, ...(etag && { 'if-none-match': etag }) },
				});
			const first = await ask();
			assert.equal(first.headers.get('content-encoding'), encoding === 'gzip' ? 'gzip' : null);
			assert.equal(first.headers.get('vary'), 'accept-encoding');
			const etag = first.headers.get('etag') as string;
			const second = await ask(`"other", W/${etag}`);
			assert.equal(second.status, 304);
			assert.equal(await second.text(), '');
			assert.equal((await ask('"other"')).status, 200);
		}
	});

	test('a site may choose its own path', async (t) => {
		const { url } = await startService(t, { tagPath: '/assets/shop.js' });
		const own = await fetch(`${url}/assets/shop.js`);
		assert.equal(own.status, 200);
		assert.match(own.headers.get('cache-control') ?? '', /^public, max-age=300,/);
		assert.equal(await own.text(), await (await fetch(url + current)).text());
	});

	test('both paths have the same script; HEAD has no body; other versions do not exist', async (t) => {
		const { url } = await startService(t);
		const text = async (path: string) => (await fetch(url + path)).text();
		assert.equal(await text(current), await text(version));
		assert.notEqual(await text(current), await text(earlier));
		const head = await fetch(url + current, { method: 'HEAD' });
		assert.equal(head.status, 200);
		assert.equal(await head.text(), '');
		assert.equal((await fetch(`${url}/tag.v0.js`)).status, 404);
		assert.equal((await fetch(`${url}/tag.ts`)).status, 404);
	});
});
