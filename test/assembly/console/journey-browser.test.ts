import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { demoAid, demoLink } from '../../../src/capabilities/demo/demo-account.ts';
import { browserTestMs, launchBrowser, openContext, withoutBrowser } from '../../core/collect/browser.ts';
import { engines } from '../../core/store/engines.ts';
import { freePort } from '../../free-port.ts';
import { caskade } from '../../process.ts';
import { takesLong } from '../../quick.ts';
import { serveHere } from '../../serve-here.ts';

/** Complaints of the browser about a page: errors, and what the page's own policy forbids. */
function complaintsOf(page: Page): string[] {
	const found: string[] = [];
	page.on('pageerror', (error) => found.push(String(error)));
	page.on('console', (message) => {
		const isIcon = message.location().url.endsWith('/favicon.ico');
		if (message.type() === 'error' && !isIcon) found.push(message.text());
	});
	return found;
}

const watchPolicy =
	"addEventListener('securitypolicyviolation', ({ violatedDirective }) => console.error(violatedDirective))";

/** Each way and each engine once: a page does not know where its figures are stored. */
const ways: readonly { name: string; options: BrowserContextOptions }[] = [
	{ name: 'with scripts', options: {} },
	{ name: 'with scripts off', options: { javaScriptEnabled: false } },
];

for (const [place, engine] of engines.entries())
	for (const { name, options } of ways.slice(place, place + 1))
		test(`a new user finds which channel's subscribers stay, and makes a segment that the tag sees, ${name}, on ${engine.name}`, {
			skip: withoutBrowser || (place > 0 && takesLong),
			timeout: browserTestMs,
		}, async (t) => {
			const at = ['--database', await engine.installedAddress(t)];
			const port = await freePort();
			assert.equal((await caskade(['demo', '--visitors', '300', ...at])).code, 0);
			await using server = await serveHere([...at, '--console-port', String(port), '--demo']);
			const link = (await demoLink(server.store, `http://127.0.0.1:${port}`)) as string;
			const browser = await launchBrowser();
			t.after(() => browser.close());
			const context = await openContext(t, browser, watchPolicy, options);
			const page = await context.newPage();
			const complaints = complaintsOf(page);
			const whole = () => page.locator('main:not([aria-busy])').waitFor();

			await page.goto(link);
			await page.getByRole('button', { name: 'Sign in' }).click();
			await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
			await whole();
			assert.match(await page.getByRole('main').ariaSnapshot(), /listitem:\s+- link "Arrivals [\d,]+/);

			// Which channel's subscribers stay?
			let stops = 0;
			const focused = () => page.evaluate('document.activeElement.textContent');
			do await page.keyboard.press('Tab');
			while (++stops < 15 && (await focused()) !== 'Retention');
			await page.keyboard.press('Enter');
			await page.getByRole('heading', { name: 'Retention', level: 1 }).waitFor();
			await whole();
			assert.ok(stops < 15, `${stops} stops of the keyboard to the page that begins with the answer`);
			const stays = page.getByRole('region', { name: 'Still subscribed by channel' });
			await stays.getByText('Show as table').click();
			const table = await stays.ariaSnapshot();
			for (const channel of ['email', 'organic search'])
				assert.match(table, new RegExp(`row "${channel} [^"]*\\d %`), table);

			// A segment of those who came once, whose rule is begun before the page's script has come.
			await page.getByRole('link', { name: 'Segments' }).click();
			await page.getByRole('heading', { name: 'Segments', level: 1 }).waitFor();
			await whole();
			const typed = Promise.withResolvers<void>();
			await page.route('**/preview.js', async (route) => {
				await typed.promise;
				await route.continue();
			});
			await page.reload({ waitUntil: 'commit' });
			await page.getByLabel('Id', { exact: true }).fill('newcomers');
			await page.getByLabel('Name', { exact: true }).fill('Newcomers');
			await page.getByLabel('Rule').fill('visitor.visits > ');
			typed.resolve();
			if (options.javaScriptEnabled === false) await page.getByRole('button', { name: 'Preview' }).click();
			await page.getByRole('alert').waitFor();
			assert.equal(await page.getByLabel('Rule').getAttribute('aria-invalid'), 'true');
			await page.getByLabel('Rule').fill('visitor.visits == 1');
			if (options.javaScriptEnabled === false) await page.getByRole('button', { name: 'Preview' }).click();
			await page.getByRole('region', { name: 'Preview' }).waitFor();
			await whole();
			assert.equal(await page.getByRole('alert').count(), 0);
			await page.getByRole('button', { name: 'Save as newcomers' }).click();
			await page.getByRole('heading', { name: 'Change newcomers' }).waitFor();
			await whole();
			assert.match(await page.getByRole('region', { name: 'Segments' }).ariaSnapshot(), /newcomers/);
			assert.deepEqual(complaints, []);

			// What the shop's page is told of whoever comes now.
			const shop = await (await openContext(t, browser)).newPage();
			await shop.goto(`${server.url}/demo/`);
			await shop.locator('#segments[data-ready]').waitFor();
			assert.match(await shop.locator('#segments').innerText(), /newcomers/i);
			assert.equal((await server.store.control.account(demoAid)).aid, demoAid);
		});
