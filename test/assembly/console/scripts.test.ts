import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { demoAid, demoLink } from '../../../src/capabilities/demo/demo-account.ts';
import { newLoginLink } from '../../../src/capabilities/people/access/sign-in.ts';
import { asset, scriptPaths, stylePath } from '../../../src/kit/console/assets.ts';
import { browserTestMs, launchBrowser, openContext, withoutBrowser } from '../../core/collect/browser.ts';
import { eventually } from '../../eventually.ts';
import { freePort } from '../../free-port.ts';
import { caskade } from '../../process.ts';
import { takesLong } from '../../quick.ts';
import { serveHere } from '../../serve-here.ts';
import { temporaryFolder } from '../../support.ts';

test('the scripts of a page are four modules of 8 kB together, and the style is about as much', () => {
	const bytes = (path: string) => Buffer.byteLength(asset(path)?.body ?? '');
	assert.equal(scriptPaths.length, 4);
	const all = scriptPaths.map(bytes);
	assert.ok(all.every((size) => size > 500));
	assert.ok(all.reduce((sum, size) => sum + size) <= 8192, `${all.join(' + ')} bytes`);
	assert.ok(bytes(stylePath) <= 14_000, `${bytes(stylePath)} bytes`);
});

test('scripts show what is new, and read curves by keyboard and pointer, within the policy of the page', {
	skip: takesLong || withoutBrowser,
	timeout: browserTestMs,
}, async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}/data`];
	assert.equal((await caskade(['demo', '--visitors', '300', ...at])).code, 0);
	const port = await freePort();
	await using server = await serveHere([...at, '--console-port', String(port)]);
	const url = `http://127.0.0.1:${port}`;
	const person = await server.store.control.people.create('ada@example.com', [{ aid: null, role: 'admin' }]);
	const { link } = await newLoginLink(server.store.control, person, url);
	const browser = await launchBrowser();
	t.after(() => browser.close());
	const context = await openContext(
		t,
		browser,
		"addEventListener('securitypolicyviolation', ({ violatedDirective }) => console.error(violatedDirective))",
	);
	const page = await context.newPage();
	const complaints: string[] = [];
	page.on('pageerror', (error) => complaints.push(String(error)));
	page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
	await page.goto(link);
	await page.getByRole('button', { name: 'Sign in' }).click();

	// A page that is being made appears by itself, without the reload that browsers without scripts are told of.
	const settings = `${url}/console/${demoAid}/settings`;
	await page.route(settings, async (route) => {
		const answer = await route.fetch();
		const body = (await answer.text()).replace(
			/<main id="main">[\s\S]*<\/main>/,
			'<main id="main" aria-busy="true" data-live>being made</main>',
		);
		await route.fulfill({ response: answer, headers: { ...answer.headers(), refresh: '1' }, body });
	});
	await page.goto(settings);
	await page.evaluate('globalThis.isSamePage = true');
	await page.getByRole('heading', { name: 'Account' }).waitFor();
	await delay(1200);
	assert.equal(await page.evaluate('globalThis.isSamePage'), true);

	// Curves, with the keyboard.
	await page.goto(`${url}/console/${demoAid}/`);
	await page.locator('main:not([aria-busy])').waitFor();
	const revenue = page.getByRole('group', { name: 'Net revenue by day' });
	await revenue.focus();
	await page.keyboard.press('ArrowRight');
	const tip = page.locator('.tip');
	const first = await tip.innerText();
	assert.match(first, /^now, \d{4}-\d\d-\d\d: £.*\nbefore, \d{4}-\d\d-\d\d: £/);
	await page.keyboard.press('ArrowRight');
	assert.notEqual(await tip.innerText(), first);
	await page.keyboard.press('Escape');
	assert.equal(await tip.count(), 0);
	// And with a pointer.
	await page.getByRole('img', { name: 'Arrivals by day' }).hover();
	assert.match(await tip.innerText(), /^now, \d{4}-\d\d-\d\d: \d/);
	assert.deepEqual(complaints, []);

	// Of a session that has ended, nothing more is sent.
	const cookie = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');
	const live = (of: string) =>
		fetch(`${url}/console/live?of=${encodeURIComponent(of)}`, { headers: { cookie } });
	const whole = await live(`/console/${demoAid}/settings`);
	assert.match(String(whole.headers.get('content-type')), /event-stream/);
	assert.match(await whole.text(), /^data: <!doctype html>[\s\S]*event: end\ndata:\n\n$/);
	const overview = await live(`/console/${demoAid}/`);
	const reader = (overview.body as ReadableStream<Uint8Array>).getReader();
	await reader.read();
	assert.equal((await live('/console/nothing')).status, 204);
	await server.store.control.sessions.end('ada@example.com', {});
	await eventually('nobody is signed in', async () => (await live(`/console/${demoAid}/`)).status === 204);
	await Promise.race([reader.read(), delay(100)]);
	await reader.cancel();
});

/** A tab that nobody looks at until `look(true)`. */
const inBackground = `{
	let isHidden = true;
	Object.defineProperty(document, 'hidden', { get: () => isHidden });
	window.look = (isLookedAt) => {
		isHidden = !isLookedAt;
		document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
	};
}`;

test('a tenth tab opens, too: those that nobody looks at hold none of the six connections, and are up to date when somebody does', {
	skip: withoutBrowser,
	timeout: browserTestMs,
}, async (t) => {
	const port = await freePort();
	const at = ['--database', `sqlite:${temporaryFolder(t)}/data`];
	assert.equal((await caskade(['account', 'create', demoAid, '--client', 'demo', ...at])).code, 0);
	await using server = await serveHere([...at, '--console-port', String(port)]);
	const link = (await demoLink(server.store, `http://127.0.0.1:${port}`)) as string;
	const browser = await launchBrowser();
	t.after(() => browser.close());
	const context = await openContext(t, browser, inBackground);
	const first = await context.newPage();
	await first.goto(link);
	await first.getByRole('button', { name: 'Sign in' }).click();
	await first.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
	await first.evaluate('look(true)');
	const waiting = first.getByText('Waiting for the first hit.');
	await waiting.waitFor();
	await first.evaluate('look(false)');
	for (let count = 1; count < 10; count++)
		await (await context.newPage()).goto(first.url(), { timeout: 10_000 });
	const hit = { aid: demoAid, url: 'https://shop.example/', referrer: '', title: 'Shop', events: [] };
	const headers = {
		'content-type': 'text/plain',
		'user-agent': (await first.evaluate('navigator.userAgent')) as string,
	};
	await fetch(`${server.url}/hit`, { method: 'POST', headers, body: JSON.stringify(hit) });
	await first.evaluate('look(true)');
	await first.getByText('The first hit has arrived.').waitFor();
	assert.equal(await waiting.count(), 0);
});
