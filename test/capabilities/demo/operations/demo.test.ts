import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { shopPages } from '../../../../src/capabilities/demo/shop.ts';
import { emptyInstallation } from '../../../process.ts';
import { serveHere } from '../../../serve-here.ts';
import { startService } from '../../../support.ts';

/** The status of a path exactly as written; `fetch` would resolve the dots. */
function statusOf(url: string, path: string): Promise<number | undefined> {
	const { hostname, port } = new URL(url);
	return new Promise((resolve, reject) => {
		request({ hostname, port, path }, (response) => resolve(response.resume().statusCode))
			.on('error', reject)
			.end();
	});
}

test('GET /demo/ is a shop with every page that generated visitors view', async (t) => {
	await using server = await serveHere(['--demo', ...(await emptyInstallation(t))]);
	for (const { path, title } of Object.values(shopPages)) {
		const response = await fetch(`${server.url}/demo/${path}`);
		assert.equal(response.status, 200, path);
		assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
		assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
		const html = await response.text();
		assert.ok(html.includes(`<title>${title} – The Weekly Cask</title>`), path);
		for (const [, link] of html.matchAll(/(?:href|src)="([^":]+)"/g))
			assert.equal((await fetch(new URL(link as string, response.url))).status, 200, `${path} → ${link}`);
	}
	for (const [file, type] of [
		['shop.js', 'application/javascript; charset=utf-8'],
		['style.css', 'text/css; charset=utf-8'],
	])
		assert.equal((await fetch(`${server.url}/demo/${file}`)).headers.get('content-type'), type);
});

test('only the files of the shop are served', async (t) => {
	await using server = await serveHere(['--demo', ...(await emptyInstallation(t))]);
	for (const path of [
		'/demo/../package.json',
		'/demo/%2e%2e/package.json',
		'/demo/..%2fpackage.json',
		'/demo/pricing/../../package.json',
		'/demo//etc/passwd',
		'/demo/screenshot.ts',
		'/demo/nothing',
	])
		assert.equal(await statusOf(server.url, path), 404, path);
});

test('the shop works under a base path', async (t) => {
	const at = await emptyInstallation(t);
	await using server = await serveHere(['--demo', '--base-path', '/api', ...at]);
	const response = await fetch(`${server.url}/demo/pricing`);
	assert.equal(response.url, `${server.url}/demo/pricing/`);
	assert.equal(response.status, 200);
});

test('without --demo there is no shop', async (t) => {
	await using server = await serveHere(await emptyInstallation(t));
	assert.equal((await fetch(`${server.url}/demo/`)).status, 404);
});

test('files are sent whole, and a failed precondition is not an internal error', async (t) => {
	const { url } = await startService(t, { demo: true });
	const ask = (path: string, headers: Record<string, string>) => fetch(url + path, { headers });
	for (const path of ['/docs/api/swagger-ui.css', '/docs/api', '/tag.js', '/docs/', '/demo/style.css'])
		for (const range of ['bytes=0-1', 'bytes=99999999-', 'bytes=a-'])
			assert.equal((await ask(path, { range })).status, 200, `${path} ${range}`);
	const answer = await ask('/demo/style.css', { 'if-match': '"a"' });
	assert.equal(answer.status, 400);
	assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
});
