import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { startService } from '../../support.ts';
import { readStored } from '../store/stored-log.ts';
import { browserTestMs, openPage, startSite, withoutBrowser } from './browser.ts';
import {
	cookies,
	fire,
	hitsOf,
	isLoaded,
	openBrowser,
	setAccount,
	settle,
	siteWith,
	type Visit,
} from './tagged-site.ts';

const www = 'www.shop.co.uk';

describe('whom the tag takes for one visitor', { skip: withoutBrowser, timeout: browserTestMs }, () => {
	const { visit, context: openOwn } = openBrowser(['--host-resolver-rules=MAP *.shop.co.uk 127.0.0.1']);

	async function open(page: Page, url: string): Promise<void> {
		await page.goto(url);
		await isLoaded(page);
		await page.evaluate('vscr.scores()');
	}

	const vids = async ({ hits }: Visit) => new Set((await hits()).map(({ vid }) => vid)).size;

	test('all hosts of a site, by the widest domain that the browser accepts', async (t) => {
		const visited = await visit(t, [setAccount, fire], { host: www });
		const { page, site } = visited;
		await page.evaluate('vscr.scores()');
		const jar = await page.context().cookies();
		assert.deepEqual(new Set(jar.map(({ domain }) => domain)), new Set(['.shop.co.uk']));
		await page.evaluate(`location.href = '${site.replace('www', 'checkout')}'`);
		await page.waitForURL((url) => url.hostname.startsWith('checkout'));
		await isLoaded(page);
		await page.evaluate('vscr.scores()');
		assert.deepEqual(
			(await visited.hits()).map(({ body }) => body.channel),
			['direct', 'internal'],
		);
		assert.equal(await vids(visited), 1);
	});

	test('by a cookie that the service has set on its own subdomain, where the account names the origin of the page', async (t) => {
		const service = await startService(t);
		const collect = service.url.replace('127.0.0.1', 'collect.shop.co.uk');
		const site = (
			await siteWith(
				t,
				service.url,
				`vscr('setServer','${collect}')`,
				`vscr('setCredentials',true)`,
				setAccount,
				fire,
			)
		).replace('127.0.0.1', www);
		await service.store.control.updateAccount(service.aid, { origins: [site] });
		await service.server.directory.refresh();
		const countsWrites = `{
			const { get, set } = Object.getOwnPropertyDescriptor(Document.prototype, 'cookie');
			window.written = [];
			Object.defineProperty(document, 'cookie', { get, set(text) { written.push(text.split('=')[0]); set.call(this, text); } });
		}`;
		const { page } = await openPage(await openOwn(t, countsWrites), `${site}/`, service.url);
		await isLoaded(page);
		await page.evaluate('vscr.scores()');
		assert.ok(!((await page.evaluate('written')) as string[]).includes('vscr_vid'));
		const [first] = await hitsOf(service);
		const kept = (await page.context().cookies()).find(({ name }) => name === 'vscr_vid');
		assert.deepEqual([kept?.domain, kept?.value.split('.')[0]], ['.shop.co.uk', first?.vid]);
	});

	test('the visitor of a cookie that an earlier version has set for one host', async (t) => {
		const visited = await visit(t, [setAccount], { host: www });
		const { page, service } = visited;
		const vid = (await service.hit()).vid;
		await page.evaluate(`document.cookie = 'vscr_vid=${vid};path=/'; ${fire}; vscr.scores()`);
		await page.evaluate('vscr.scores()');
		const found = (await page.context().cookies()).filter(({ name }) => name === 'vscr_vid');
		assert.deepEqual(
			found.map(({ domain, value }) => [domain, value.split('.')[0]]),
			[['.shop.co.uk', vid]],
		);
		assert.equal(await vids(visited), 1);
	});

	test('of two cookies of one name, the earlier, whichever the browser names first', async (t) => {
		const visited = await visit(t, [setAccount], { host: www });
		const { page, service } = visited;
		const [early, late] = [(await service.hit()).vid, (await service.hit()).vid];
		const nowSeconds = Math.floor(Date.now() / 1000);
		for (const [early_, late_] of [
			['', ';domain=shop.co.uk'],
			[';domain=shop.co.uk', ''],
		]) {
			await page.context().clearCookies();
			await page.evaluate(
				`document.cookie = 'vscr_vid=${late}.${(nowSeconds - 10).toString(36)};path=/${late_}';
				document.cookie = 'vscr_vid=${early}.${(nowSeconds - 20).toString(36)};path=/${early_}';
				${fire}`,
			);
			await page.evaluate('vscr.scores()');
			assert.equal((await visited.hits()).at(-1)?.vid, early);
			assert.equal((await cookies(page)).vscr_vid, early);
		}
	});

	test('a site narrows the domain; one that the browser refuses is told', async (t) => {
		const narrow = `vscr('setCookieDomain','www.shop.co.uk')`;
		const { page, site } = await visit(t, [setAccount, narrow, fire], { host: www });
		await page.evaluate('vscr.scores()');
		assert.deepEqual(
			new Set((await page.context().cookies()).map(({ domain }) => domain)),
			new Set(['.www.shop.co.uk']),
		);
		const refused = await visit(t, [setAccount, `vscr('setCookieDomain','co.uk')`, fire], { host: www });
		await refused.page.evaluate('vscr.scores()');
		assert.deepEqual(refused.warnings, ['vscr: setCookieDomain: the browser refuses co.uk']);
		assert.ok(site && (await cookies(refused.page)).vscr_vid);
	});

	test('two accounts, on one page or on two of a site, have a visitor each, the same every time', async (t) => {
		const service = await startService(t);
		const other = 'c-a-acme-de';
		await service.store.control.createAccount({ aid: other, client: 'acme' }, (id) =>
			service.store.createAccountDatabase(id),
		);
		await service.server.directory.refresh();
		const both = `${setAccount};${fire};vscr('setAccount','${other}');${fire}`;
		const site = await siteWith(
			t,
			service.url,
			`location.pathname === '/both' && (${both.replaceAll(';', ',')})`,
		);
		const { page } = await openPage(await openOwn(t), `${site}/`, service.url);
		await isLoaded(page);
		for (const aid of ['c-a-acme-uk', other, 'c-a-acme-uk', other, 'c-a-acme-uk']) {
			await page.goto(`${site}/${aid}`);
			await isLoaded(page);
			await page.evaluate(`vscr('setAccount','${aid}'); ${fire}; vscr.scores()`);
			await page.evaluate('vscr.scores()');
		}
		await open(page, `${site}/both`);
		const ofOther = await service.store.control.account(other);
		for (const hits of [await hitsOf(service), (await readStored(service.store, ofOther.id)).log.hits]) {
			assert.ok(hits.length >= 3, `${hits.length} hits`);
			assert.equal(new Set(hits.map(({ vid }) => vid)).size, 1);
		}
	});

	test('a sandboxed frame, where cookies and storage throw, works from memory', async (t) => {
		const service = await startService(t);
		const site = await siteWith(
			t,
			service.url,
			setAccount,
			`vscr('scores', (found) => (window.found = found))`,
			fire,
		);
		const outer = await startSite(t, () => `<iframe sandbox="allow-scripts" src="${site}/framed"></iframe>`);
		const { page, errors } = await openPage(await openOwn(t), outer, service.url);
		const frame = page.frames()[1];
		await frame?.waitForFunction('window.found');
		await frame?.evaluate(`vscr('addEvent','seen'); ${fire}; vscr.scores()`);
		await frame?.evaluate('vscr.scores()');
		assert.deepEqual(errors, []);
		const hits = await hitsOf(service);
		assert.deepEqual(
			hits.map(({ body }) => [body.page, body.events.length]),
			[
				['framed', 0],
				[null, 1],
			],
		);
		assert.equal(new Set(hits.map(({ vid }) => vid)).size, 1);
	});

	test('consent that is withdrawn and given again begins anew', async (t) => {
		const visited = await visit(t, [setAccount, fire]);
		const { page } = visited;
		await page.evaluate('vscr.scores()');
		const before = await cookies(page);
		await page.evaluate(`vscr('setConsent',false)`);
		assert.deepEqual(await cookies(page), {});
		await page.evaluate(`vscr('setConsent',true)`);
		await page.evaluate('vscr.scores()');
		const after = await cookies(page);
		for (const name of ['vscr_vid', 'vscr_seed']) assert.notEqual(after[name], before[name]);
		assert.equal(await vids(visited), 2);
	});

	test('a copy of a tab is the same visitor and sends only its own page', async (t) => {
		const visited = await visit(t, [setAccount, fire]);
		const { page } = visited;
		await page.evaluate(`vscr('addEvent','seen'); vscr.scores()`);
		const [copy] = await Promise.all([
			page.waitForEvent('popup'),
			page.evaluate('void window.open(location.href)'),
		]);
		await isLoaded(copy);
		await copy.evaluate('vscr.scores()');
		await copy.close();
		assert.deepEqual(
			(await visited.hits()).map(({ body }) => [body.page, body.events.length]),
			[
				['pricing', 0],
				['pricing', 0],
			],
		);
		assert.equal(await vids(visited), 1);
	});

	test('a private window is a browser of its own', async (t) => {
		const visited = await visit(t, [setAccount, fire]);
		await visited.page.evaluate('vscr.scores()');
		const { page } = await openPage(await openOwn(t), `${visited.site}/pricing`, visited.service.url);
		await isLoaded(page);
		await page.evaluate('vscr.scores()');
		assert.equal(await vids(visited), 2);
	});

	test('a clock that was ahead is put right by the next hit', async (t) => {
		const visited = await visit(t, [setAccount]);
		const { page, service } = visited;
		const { vid } = await service.hit();
		const ahead = (Math.floor(Date.now() / 1000) + 300 * 86_400).toString(36);
		await page.evaluate(`document.cookie = 'vscr_vid=${vid}.${ahead};path=/'; ${fire}`);
		await page.evaluate('vscr.scores()');
		const renewed = (await page.context().cookies()).find(({ name }) => name === 'vscr_vid');
		const since = Number.parseInt(renewed?.value.split('.')[1] ?? '', 36);
		assert.ok(Math.abs(since - Date.now() / 1000) < 60);
		assert.ok(Math.abs((renewed?.expires ?? 0) - Date.now() / 1000 - 395 * 86_400) < 60);
		await settle(page);
		assert.equal(await vids(visited), 1);
	});
});
