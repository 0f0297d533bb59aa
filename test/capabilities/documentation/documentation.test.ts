import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import axe from 'axe-core';
import { openStore } from '../../../src/assembly/open-store.ts';
import { faultsOf } from '../../assembly/console/markup.ts';
import { browserTestMs, launchBrowser, openContext, withoutBrowser } from '../../core/collect/browser.ts';
import { takesLong } from '../../quick.ts';
import { serveAt, startService, temporaryFolder } from '../../support.ts';

const project = join(import.meta.dirname, '../../..');
const resultsIn = (page: string) => page.split('<ol>')[1]?.match(/<li>.*/g) ?? [];
const hrefs = (page: string) => [...page.matchAll(/(?:src|href)="([^"#]*)(?:#([^"]*))?"/g)];

test('all pages are served below a base path as valid markup, and every link of theirs leads somewhere', async (t) => {
	const address = `sqlite:${temporaryFolder(t)}`;
	const store = await openStore(address);
	const server = await serveAt(address, { basePath: '/api' });
	t.after(async () => {
		await server.stop();
		await store.close();
	});
	const root = `${server.url}/docs/`;
	const texts = new Map<string, string>();
	const open = async (url: string) => {
		if (!texts.has(url)) {
			const answer = await fetch(url);
			assert.equal(answer.status, 200, url);
			texts.set(url, await answer.text());
		}
		return texts.get(url) as string;
	};
	const waiting = [root];
	const seen = new Set(waiting);
	for (const url of waiting) {
		const page = await open(url);
		if (!page.startsWith('<!doctype html>') || url.endsWith('/docs/api')) continue;
		assert.deepEqual(await faultsOf(page), [], url);
		assert.doesNotMatch(page, /<script|style=|\\u000a/);
		for (const [, path = '', anchor] of hrefs(page)) {
			if (/^(https?:|mailto:|data:)/.test(path)) continue;
			const target = String(new URL(path, url));
			assert.ok(target.startsWith(root), `${url}: ${path}`);
			if (anchor !== undefined && path === '') assert.match(page, new RegExp(`id="${anchor}"`), url);
			else if (anchor !== undefined)
				assert.ok((await open(target)).includes(`id="${anchor}"`), `${url}: ${path}#${anchor}`);
			if (!seen.has(target)) waiting.push(target);
			seen.add(target);
		}
	}
	for (const source of globSync('docs/**/*.md', { cwd: project })) {
		const name = source.slice('docs/'.length);
		await open(`${root}${name}`);
		// Decisions are found by the search, and from pages that give reasons.
		const isReached = /^(README|decisions)/.test(name) || seen.has(`${root}${name.slice(0, -3)}`);
		assert.ok(isReached, `no link leads to ${source}`);
	}
});

test('every link of a page as Markdown leads to a page as Markdown, below a base path, too', async (t) => {
	const address = `sqlite:${temporaryFolder(t)}`;
	const server = await serveAt(address, { basePath: '/api' });
	t.after(() => server.stop());
	const root = `${server.url}/docs/`;
	const waiting = [`${server.url}/llms.txt`, `${root}README.md`];
	const seen = new Set(waiting);
	for (const url of waiting) {
		const answer = await fetch(url);
		assert.equal(answer.status, 200, url);
		if (!/markdown|plain/.test(answer.headers.get('content-type') ?? '')) continue;
		const text = (await answer.text()).replaceAll(/^```.*?^```/gms, '');
		for (const [, href = ''] of text.matchAll(/\]\((?!https?:|mailto:|#)([^)\s#]+)/g)) {
			const target = String(new URL(href, url));
			assert.match(target, /(\.md|\.png|openapi\.json)$/, `${url}: ${href}`);
			if (!seen.has(target)) waiting.push(target);
			seen.add(target);
		}
	}
	const pages = [...globSync('docs/!(decisions)/*.md', { cwd: project })].map((path) => path.slice(5));
	for (const page of [...pages, 'changelog.md', 'security.md', 'client.md', 'client-tag.md'])
		assert.ok(seen.has(root + page), page);
	// Nothing else is changed.
	const source = readFileSync(join(project, 'docs/reference/errors.md'), 'utf8');
	const served = await (await fetch(`${root}reference/errors.md`)).text();
	const withoutLinks = (text: string) => text.replaceAll(/\]\([^)]*\)/g, '').replaceAll('[', '');
	assert.equal(withoutLinks(served), withoutLinks(source));
});

test('a search finds the section that has all words, and shows what was asked as a text', async (t) => {
	const { url } = await startService(t);
	const asked = async (query: string) =>
		(await fetch(`${url}/docs/search?${new URLSearchParams({ q: query })}`)).text();
	const first = /<li><a href="([^"]+)">/.exec(
		(await asked('consent banner')).split('<main')[1] as string,
	)?.[1];
	assert.equal(first, 'how-to/recipes#a-consent-banner');
	// The page that explains a term, and not all that have it in the name of the service.
	const explained = (await asked('cask')).split('<main')[1] as string;
	assert.match(/<li><a href="([^"]+)">/.exec(explained)?.[1] ?? '', /^reference\/glossary/);
	// Where no section has all words, those that have most of them.
	const some = (await asked('xyzzy refund recipes')).split('<main')[1] as string;
	assert.match(some, /<li><a href="how-to\/recipes#a-refund">/);
	// As people write: with a full stop, a dash, quotation marks.
	const plain = resultsIn(await asked('annual plan'));
	assert.ok(plain.length > 0);
	for (const query of [
		'annual plan.',
		'annual – plan …',
		'"annual plan"',
		'annual/ plan/',
		'- annual -- plan',
	])
		assert.deepEqual(resultsIn(await asked(query)), plain, query);
	const page = await asked('<zyx>xyzzy"plugh');
	assert.match(page, /No results for “&#60;zyx&#62;xyzzy&#34;plugh”/);
	assert.deepEqual(await faultsOf(page), []);
	assert.match(await asked(''), /No results for/);
});

test('programs find all pages in /llms.txt', async (t) => {
	const { url } = await startService(t);
	const text = await (await fetch(`${url}/llms.txt`)).text();
	assert.match(text, /^# Caskade\n/);
	const links = [...text.matchAll(/\]\(([^)#\s]+)/g)].map(([, link]) => link as string);
	assert.ok(links.includes('/openapi.json'));
	assert.ok(links.length > 25);
	for (const link of links) assert.equal((await fetch(new URL(link, url))).status, 200, link);
});

test('nothing else is served', async (t) => {
	const { url } = await startService(t);
	const moved = await fetch(`${url}/docs`, { redirect: 'manual' });
	assert.deepEqual([moved.status, moved.headers.get('location')], [302, '/docs/']);
	for (const path of [
		'nothing',
		'how-to/nothing.md',
		'..%2fpackage.json',
		'tutorial/%2e%2e/first-steps.md.png',
		'README',
	])
		assert.equal((await fetch(`${url}/docs/${path}`)).status, 404, path);
});

test('axe finds nothing, on a telephone and in the dark either', {
	skip: takesLong || withoutBrowser,
	timeout: browserTestMs,
}, async (t) => {
	const { url } = await startService(t);
	const browser = await launchBrowser();
	t.after(() => browser.close());
	for (const options of [{}, { colorScheme: 'dark' as const, viewport: { width: 360, height: 640 } }]) {
		const context = await openContext(t, browser, undefined, { ...options, bypassCSP: true });
		const page = await context.newPage();
		for (const path of ['', 'reference/reports', 'tutorial/first-steps', 'search?q=refund']) {
			await page.goto(`${url}/docs/${path}`);
			await page.evaluate(axe.source);
			const { violations } = (await page.evaluate('axe.run()')) as axe.AxeResults;
			assert.deepEqual(
				violations.map(({ id, nodes }) => `${path} ${id}: ${nodes[0]?.html}`),
				[],
			);
			assert.ok(
				((await page.evaluate('document.documentElement.scrollWidth - innerWidth')) as number) <= 0,
				path,
			);
		}
	}
});

test('a page that there is not is told as a page; with a slash at its end, it is found', async (t) => {
	const { url } = await startService(t);
	const missing = await fetch(`${url}/docs/how-to/nothing`);
	assert.equal(missing.status, 404);
	const page = await missing.text();
	assert.match(page, /<h1>There is no such page<.h1>/);
	assert.deepEqual(await faultsOf(page), []);
	assert.match(page, /href="\.\.\/how-to\/install"/);
	const found = await fetch(`${url}/docs/how-to/install/`);
	assert.deepEqual([found.status, found.url], [200, `${url}/docs/how-to/install`]);
});
