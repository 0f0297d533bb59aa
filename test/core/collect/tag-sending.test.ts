import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { describe, type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import { hourMs } from '../../../src/core/durations.ts';
import { eventually } from '../../eventually.ts';
import { browserTestMs, close, withoutBrowser } from './browser.ts';
import { fire, isLoaded, openBrowser, setAccount, settle, settleRoute, type Visit } from './tagged-site.ts';

/** Passes hits on at once, and their answers late. */
async function startSlowProxy(t: TestContext, service: string, lateMs: number): Promise<string> {
	const server = createServer(async (request, response) => {
		const answer = await fetch(service + request.url, {
			method: request.method ?? 'POST',
			headers: { 'content-type': 'text/plain', 'user-agent': request.headers['user-agent'] ?? '' },
			body: await buffer(request),
		});
		const body = await answer.text();
		setTimeout(() => response.writeHead(200, { 'access-control-allow-origin': '*' }).end(body), lateMs);
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	t.after(() => server.close().closeAllConnections());
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A tab in the background until `look()`. */
const inBackground = `{
	let isHidden = true;
	Object.defineProperty(document, 'hidden', { get: () => isHidden });
	window.look = () => {
		isHidden = false;
		document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
	};
}`;

const fireElsewhere = `location.pathname !== '/pricing' && ${fire}`;

describe('what the tag sends', { skip: withoutBrowser, timeout: browserTestMs }, () => {
	const { visit } = openBrowser();

	async function next(page: Page, url: string): Promise<void> {
		await page.goto(url);
		await isLoaded(page);
		await page.evaluate('vscr.scores()');
	}

	const names = async ({ hits }: Visit) =>
		(await hits()).flatMap(({ body }) => body.events.map(({ name }) => name));
	const pages = async ({ hits }: Visit) => (await hits()).map(({ body }) => body.page);

	describe('of events that are added before a page is left', () => {
		for (const [which, count, name] of [
			['100', 100, 'event'],
			['100 with the longest names, three bytes each character', 100, '長'.repeat(250)],
			['100 with the longest names, four bytes each character', 100, '🛒'.repeat(125)],
		] as const)
			test(`${which}: all, on this page or the next`, async (t) => {
				const visited = await visit(t, [setAccount, fire]);
				const { page, site } = visited;
				await page.evaluate('vscr.scores()');
				await page.evaluate(`for (let n = 0; n < ${count}; n++) vscr('addEvent', '${name}' + n)`);
				await next(page, `${site}/next`);
				await eventually('all have come', async () => (await names(visited)).length >= count, 10_000);
				assert.equal(new Set(await names(visited)).size, count);
				assert.equal((await names(visited)).length, count);
			});

		test('while a slow answer keeps others waiting: all', async (t) => {
			const visited = await visit(t, [setAccount]);
			const { page, site } = visited;
			await page.route('**/hit', async (route) => {
				await new Promise((resolve) => setTimeout(resolve, 1500));
				await route.continue().catch(() => {});
			});
			await page.evaluate(`for (let n = 0; n < 45; n++) vscr('addEvent', 'event ' + n); ${fire}`);
			await page.goto(`${site}/next`);
			await eventually('all have come', async () => (await names(visited)).length >= 45, 10_000);
			assert.equal((await names(visited)).length, 45);
			assert.equal(new Set((await visited.hits()).map(({ vid }) => vid)).size, 1);
		});

		test('which the browser would not take: on the next page, once', async (t) => {
			const refuses = `if (location.pathname === '/pricing') navigator.sendBeacon = () => false`;
			const visited = await visit(t, [refuses, setAccount, fire]);
			const { page, site } = visited;
			await page.evaluate('vscr.scores()');
			await page.evaluate(`for (let n = 0; n < 30; n++) vscr('addEvent', 'event ' + n)`);
			await next(page, `${site}/next`);
			await next(page, `${site}/last`);
			assert.equal(new Set(await names(visited)).size, 30);
			assert.equal((await names(visited)).length, 30);
		});

		test('of a hit without an answer: not again, because it may have come', async (t) => {
			const visited = await visit(t, [setAccount, fireElsewhere]);
			const { page, site, warnings } = visited;
			await page.route('**/hit', (route) => route.fetch().then(() => route.abort()), { times: 1 });
			await page.evaluate(`vscr('addEvent','first'); ${fire}; vscr.scores()`);
			await page.evaluate(`vscr('addEvent','second'); ${fire}; vscr.scores()`);
			await next(page, `${site}/next`);
			assert.deepEqual(await names(visited), ['first', 'second']);
			assert.deepEqual(await pages(visited), ['pricing', null, 'next']);
			assert.deepEqual(warnings, ['vscr: no answer to the hit: Failed to fetch']);
		});

		test('of a hit whose answer the page does not wait for: once', async (t) => {
			const visited = await visit(t, [setAccount, fireElsewhere]);
			const { page, site, service } = visited;
			const slow = await startSlowProxy(t, service.url, 600);
			await page.evaluate(`vscr('setServer','${slow}'); vscr('addEvent','seen'); ${fire}`);
			await page.waitForTimeout(200);
			await next(page, `${site}/next`);
			await page.waitForTimeout(800);
			assert.deepEqual(await names(visited), ['seen']);
			assert.deepEqual(await pages(visited), ['pricing', 'next']);
			assert.equal(new Set((await visited.hits()).map(({ vid }) => vid)).size, 1);
		});

		test('of one that was refused because there were too many: with the next one', async (t) => {
			const visited = await visit(t, [setAccount]);
			const { page } = visited;
			const headers = { 'access-control-allow-origin': '*' };
			await page.route('**/hit', (route) => route.fulfill({ status: 429, headers, json: {} }), { times: 1 });
			await page.evaluate(`vscr('addEvent','first'); ${fire}; vscr.scores()`);
			await page.evaluate(`vscr('addEvent','second'); ${fire}; vscr.scores()`);
			await page.evaluate('vscr.scores()');
			assert.deepEqual(await names(visited), ['first', 'second']);
			assert.deepEqual(await pages(visited), ['pricing', null]);
		});

		test('one bad value among many costs itself, and is told', async (t) => {
			const visited = await visit(t, [setAccount]);
			const { page, warnings, hits } = visited;
			await page.evaluate(`vscr('addEvent','seen');
				vscr('addEvent',{name:'checkout',tid:1234,rvn:4.99,currency:'gbp'});
				vscr('addEvent',{name:'odd',rvn:10n}); vscr('addEvent','left'); vscr('addCustomerId', 42); ${fire}`);
			await page.evaluate('vscr.scores()');
			const [hit] = await hits();
			assert.deepEqual(hit?.body.events, [
				{ name: 'seen' },
				{ name: 'checkout', tid: '1234', isTidUnproven: true },
				{ name: 'left' },
			]);
			assert.equal(hit?.body.cid, '42');
			assert.equal(warnings.length, 2);
			assert.match(warnings[0] ?? '', /BigInt/);
			assert.equal(
				warnings[1],
				'vscr: events[1].rvn must be an integer; events[1].currency must be three capital letters such as GBP',
			);
		});
	});

	describe('of pages: those that somebody saw', () => {
		test('nothing of a tab in the background, until it is looked at', async (t) => {
			const visited = await visit(t, [setAccount, `vscr('addEvent','seen')`, fire], {
				initScript: inBackground,
			});
			const { page, service } = visited;
			await page.evaluate(`history.pushState(null, '', '/second'); ${fire}`);
			await settleRoute(page);
			assert.equal(service.logged.filter((line) => line.includes('collectHit')).length, 0);
			await page.evaluate('look()');
			await page.evaluate('vscr.scores()');
			assert.deepEqual(await pages(visited), ['second']);
			assert.deepEqual(await names(visited), ['seen']);
		});

		test('nothing of one that is closed unseen', async (t) => {
			const visited = await visit(t, [setAccount, fire], { initScript: inBackground });
			await close(visited.page);
			await new Promise((resolve) => setTimeout(resolve, 150));
			assert.deepEqual(await pages(visited), []);
		});

		test('what one click does to the address is one page, and a slash at the end makes none', async (t) => {
			const visited = await visit(t, [setAccount, fire]);
			const { page } = visited;
			await page.evaluate(`history.pushState(null, '', '/account');
				setTimeout(() => history.replaceState(null, '', '/sign-in'), 100)`);
			await settleRoute(page);
			await settle(page);
			await page.evaluate(`history.replaceState(null, '', '/sign-in/')`);
			await settleRoute(page);
			await page.evaluate('vscr.scores()');
			assert.deepEqual(await pages(visited), ['pricing', 'sign-in']);
		});

		test('a page that was just reached when it is left', async (t) => {
			const visited = await visit(t, [setAccount, fire]);
			const { page } = visited;
			await page.evaluate('vscr.scores()');
			await page.evaluate(`history.pushState(null, '', '/second'); location.href = 'about:blank'`);
			await eventually('it has come', async () => (await pages(visited)).length === 2);
			assert.deepEqual(await pages(visited), ['pricing', 'second']);
		});

		test('what setPage calls it, until the path changes', async (t) => {
			const visited = await visit(t, [setAccount, `vscr('setPage','Plans & prices?')`, fire]);
			const { page } = visited;
			for (const step of [
				`vscr('setPage','/checkout/address')`,
				`vscr('setPage','checkout/payment/')`,
				`history.pushState(null, '', '/thanks')`,
			]) {
				await page.evaluate(step);
				await settleRoute(page);
				await page.evaluate('vscr.scores()');
			}
			assert.deepEqual(await pages(visited), [
				'Plans & prices?',
				'checkout/address',
				'checkout/payment',
				'thanks',
			]);
		});

		test('routes in the fragment and in the query, where the site says so', async (t) => {
			const visited = await visit(t, [setAccount, `vscr('setRoutes','#,p,page_id')`, fire]);
			const { page } = visited;
			for (const address of [
				'#/plans',
				'#!/plans/pro?tab=2',
				'#section',
				'?p=1',
				'?p=12&utm_source=x',
				'?tab=3',
				'#/',
			]) {
				await page.evaluate(`location.hash = ''; history.pushState(null, '', '/' + '${address}')`);
				await settleRoute(page);
				await page.evaluate('vscr.scores()');
			}
			assert.deepEqual(await pages(visited), ['pricing', 'plans', 'plans/pro', '/', 'p=1', 'p=12', '/']);
		});

		test('one from the back/forward cache again, with what brought it', async (t) => {
			const visited = await visit(t, [setAccount, fire]);
			const { page, site } = visited;
			await page.evaluate('vscr.scores()');
			await page.evaluate(`sessionStorage.vscr = JSON.stringify([[], '${site}/second']);
				dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`);
			await page.evaluate('vscr.scores()');
			assert.deepEqual(
				(await visited.hits()).map(({ body }) => [body.page, body.referrer]),
				[
					['pricing', null],
					['pricing', `${site}/second`],
				],
			);
		});
	});

	test('one hit for all reads with a cask that has expired', async (t) => {
		const clock = { nowMs: Date.now() };
		const { page, asked } = await visit(t, [setAccount, fire], { now: () => clock.nowMs });
		await page.evaluate('vscr.scores()');
		clock.nowMs += 25 * hourMs;
		const lists = (await page.evaluate(
			'Promise.all([vscr.scores(), vscr.segments(), vscr.scores()])',
		)) as unknown[][];
		for (const list of lists) assert.ok(list.length > 0);
		assert.equal(asked.filter((request) => request === 'POST /hit').length, 2);
	});
});
