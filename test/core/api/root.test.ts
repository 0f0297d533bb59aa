// The page leads to it.
import '../../../src/capabilities/documentation/index.ts';
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { takesLong } from '../../quick.ts';
import { startService } from '../../support.ts';
import { launchBrowser, withoutBrowser } from '../collect/browser.ts';

/** What a browser sends for a page. */
const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8' };

for (const [settings, prefix] of [
	[{}, ''],
	[{ basePath: '/api', stage: 'staging' }, '/api/staging'],
] as const)
	describe(`GET ${prefix}/`, () => {
		test('is a page that says what runs, and whose links work', async (t) => {
			const { url, aid, client } = await startService(t, { ...settings, demo: true });
			const answer = await fetch(`${url}/`, { headers: browser });
			assert.equal(answer.status, 200);
			assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8');
			assert.equal(answer.headers.get('vary'), 'accept');
			assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
			const policy = answer.headers.get('content-security-policy') ?? '';
			assert.match(policy, /^default-src 'none'; /);
			assert.doesNotMatch(policy, /unsafe|\*/);
			const html = await answer.text();
			assert.match(html, /<h1>Caskade<\/h1>/);
			for (const secret of [aid, client]) assert.equal(html.includes(secret), false);
			const links = [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, link]) => link as string);
			for (const expected of ['docs/', 'docs/api', 'openapi.json', 'demo/'])
				assert.ok(links.includes(expected), expected);
			for (const link of links.filter((one) => !one.startsWith('data:')))
				assert.equal((await fetch(new URL(link, answer.url))).status, 200, link);
		});

		test('is JSON for whoever asks for JSON, or not for a page', async (t) => {
			const { url } = await startService(t, settings);
			for (const headers of [{ accept: 'application/json' }, { accept: '*/*' }, { accept: '' }]) {
				const answer = await fetch(`${url}/`, { headers });
				assert.equal(answer.status, 200);
				assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
				const { name, version, ...links } = (await answer.json()) as Record<string, string>;
				assert.deepEqual([name, /^\d+\.\d+\.\d+$/.test(version ?? '')], ['Caskade', true]);
				assert.deepEqual(links, { docs: `${prefix}/docs/`, openapi: `${prefix}/openapi.json` });
				for (const link of Object.values(links))
					assert.equal((await fetch(new URL(link, url))).status, 200, link);
			}
		});

		test('other methods are refused', async (t) => {
			const { url } = await startService(t, settings);
			for (const method of ['POST', 'PUT', 'DELETE']) {
				const answer = await fetch(`${url}/`, { method, headers: browser });
				assert.equal(answer.status, 405);
				assert.equal(answer.headers.get('allow'), 'GET, HEAD');
				assert.equal(await answer.text(), '{"message":"Method not allowed.","validationErrors":null}');
			}
			assert.equal((await fetch(`${url}/`, { method: 'HEAD', headers: browser })).status, 200);
			assert.equal((await fetch(`${url}/`, { method: 'OPTIONS' })).status, 403);
		});
	});

test('pages name an icon, or browsers would ask for one and complain that there is none', async (t) => {
	const { url } = await startService(t);
	for (const path of ['/', '/docs/', '/docs/api']) {
		const html = await (await fetch(url + path, { headers: browser })).text();
		assert.match(html, /<link rel="icon" href="data:,">/, path);
	}
});

test('without the demo there is no link to it; beside a base path there is nothing', async (t) => {
	const { url } = await startService(t, { basePath: '/api' });
	assert.doesNotMatch(await (await fetch(`${url}/`, { headers: browser })).text(), /demo/);
	assert.equal((await fetch(new URL('/', url), { headers: browser })).status, 404);
});

test('a browser shows it without a complaint', { skip: takesLong || withoutBrowser }, async (t) => {
	const { url } = await startService(t, { basePath: '/api', stage: 'staging' });
	const opened = await launchBrowser();
	t.after(() => opened.close());
	const page = await opened.newPage();
	const complaints: string[] = [];
	page.on('console', (message) => complaints.push(message.text()));
	page.on('pageerror', (error) => complaints.push(String(error)));
	page.on('response', (response) => {
		if (response.status() >= 400) complaints.push(`${response.status()} ${response.url()}`);
	});
	await page.goto(url);
	assert.equal(page.url(), `${url}/`);
	assert.equal(await page.locator('body').evaluate('getComputedStyle(document.body).maxWidth'), '608px');
	assert.deepEqual(complaints, []);
});
