import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { browserTestMs, withoutBrowser } from './browser.ts';
import { fire, isLoaded, openBrowser, setAccount, settleRoute, type Visit } from './tagged-site.ts';

/** As Prototype.js 1.7, which Magento 1 has. */
const arrayFrom = `Array.from = (list) => {
	const copy = new Array(list.length);
	for (let at = 0; at < list.length; at++) copy[at] = list[at];
	return copy;
}`;

/** As Prototype.js 1.6. */
const arrayToJson = `Array.prototype.toJSON = function () { return '[' + this.map((each) => JSON.stringify(each)).join(', ') + ']'; }`;

const ownHistory = `for (const name of ['pushState', 'replaceState'])
	Object.defineProperty(history, name, {
		get: () => History.prototype[name],
		set() { throw new TypeError('it is not to be changed'); },
	})`;

const noBeacon = `navigator.sendBeacon = undefined`;

describe('the tag on a page', { skip: withoutBrowser, timeout: browserTestMs }, () => {
	const { visit } = openBrowser();

	const names = async ({ hits }: Visit) =>
		(await hits()).flatMap(({ body }) => body.events.map(({ name }) => name));
	const pages = async ({ hits }: Visit) => (await hits()).map(({ body }) => body.page);

	async function go(page: Page, script: string): Promise<void> {
		await page.evaluate(script);
		await settleRoute(page);
		await page.evaluate('vscr.scores()');
	}

	async function next(page: Page, url: string): Promise<void> {
		await page.goto(url);
		await isLoaded(page);
		await page.evaluate('vscr.scores()');
	}

	test('whose router uses the Navigation API counts its screens', async (t) => {
		const visited = await visit(t, [setAccount, fire]);
		const { page } = visited;
		await page.evaluate('vscr.scores()');
		await page.evaluate(
			`navigation.addEventListener('navigate', (event) => event.intercept({ handler: async () => {} }))`,
		);
		await go(page, `navigation.navigate('/plans').finished.then(() => {})`);
		await go(page, `navigation.navigate('/plans?tab=2').finished.then(() => {})`);
		await go(page, `document.body.append(Object.assign(document.createElement('a'), { href: '/checkout' }))`);
		await go(page, `document.querySelector('a').click()`);
		await go(page, `navigation.back().finished.then(() => {})`);
		assert.deepEqual(await pages(visited), ['pricing', 'plans', 'checkout', 'plans']);
	});

	test('that keeps others from changing its history does all of it', async (t) => {
		const visited = await visit(t, [ownHistory, setAccount, fire]);
		const { page, errors } = visited;
		await page.evaluate('vscr.scores()');
		await go(page, `history.pushState(null, '', '/plans')`);
		assert.deepEqual(await pages(visited), ['pricing', 'plans']);
		assert.deepEqual(errors, []);
	});

	test('with a library that replaces Array.from has a seed', async (t) => {
		const { page } = await visit(t, [arrayFrom, setAccount]);
		const [body] = await Promise.all([
			page.waitForRequest('**/hit').then((request) => request.postDataJSON()),
			page.evaluate(fire),
		]);
		assert.match(body.seed, /^[0-9a-f]{32}$/);
	});

	test('with a library by which arrays are texts in JSON has its events', async (t) => {
		const visited = await visit(t, [arrayToJson, setAccount, `vscr('addEvent', 'seen')`, fire]);
		const { page, warnings, site } = visited;
		await page.evaluate('vscr.scores()');
		await page.evaluate(`${noBeacon}; vscr('addEvent', { name: 'bought', tid: 'order-1', rvn: 499 })`);
		await next(page, `${site}/next`);
		assert.deepEqual(await names(visited), ['seen', 'bought', 'seen']);
		assert.deepEqual(
			warnings.filter((line) => !line.includes('sendBeacon')),
			[],
		);
	});

	test('that is left before it fires hands on what the page before could not send', async (t) => {
		const elsewhere = `location.pathname !== '/passing' && ${fire}`;
		const visited = await visit(t, [noBeacon, setAccount, elsewhere]);
		const { page, site } = visited;
		await page.evaluate('vscr.scores()');
		await page.evaluate(`vscr('addEvent', 'bought')`);
		await page.goto(`${site}/passing`);
		await isLoaded(page);
		await next(page, `${site}/next`);
		assert.deepEqual(await names(visited), ['bought']);
		await next(page, `${site}/last`);
		assert.deepEqual(await names(visited), ['bought']);
	});

	test('with a frame of the site, where neither can send: both hand on what they have', async (t) => {
		const visited = await visit(t, [noBeacon, setAccount, fire]);
		const { page, site } = visited;
		await page.evaluate('vscr.scores()');
		await page.evaluate(`new Promise((resolve) => {
			const frame = Object.assign(document.createElement('iframe'), { src: '/frame', onload: resolve });
			document.body.append(frame);
		})`);
		const frame = page.frame({ url: /\/frame$/ });
		assert.ok(frame);
		await frame.waitForFunction('window.vscr && vscr.scores');
		await frame.evaluate('vscr.scores()');
		await page.evaluate(`vscr('addEvent', 'of the page')`);
		await frame.evaluate(`vscr('addEvent', 'of the frame')`);
		await next(page, `${site}/next`);
		assert.deepEqual((await names(visited)).toSorted(), ['of the frame', 'of the page']);
	});
});
