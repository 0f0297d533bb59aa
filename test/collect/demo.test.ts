import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { event, startService } from '../support.ts';
import { launchBrowser, openContext, openPage, startSite, withoutBrowser } from './browser.ts';

const folder = new URL('../../demo/', import.meta.url);

test('the demo shop greets a new visitor, and a subscriber as one', { skip: withoutBrowser }, async (t) => {
	const service = await startService(t);
	const browser = await launchBrowser();
	t.after(() => browser.close());
	const site = await startSite(t, (path) => {
		if (path === '/account.js')
			return `window.shop = ${JSON.stringify({ server: service.url, aid: service.aid })}`;
		const file = new URL(`.${path}`, folder);
		return existsSync(file) ? readFileSync(file) : undefined;
	});
	const context = await openContext(t, browser);
	const { page, errors } = await openPage(context, `${site}/index.html`, service.url);
	const heading = async () => {
		await page.waitForSelector('#segments[data-ready]');
		return page.textContent('h1:visible');
	};

	assert.equal(await heading(), 'Stories from the cellar, each Friday');
	assert.deepEqual(await page.locator('#segments li').allTextContents(), ['New visitors']);
	assert.match((await page.textContent('#scores')) ?? '', /subscription: .* %/);

	await page.click('text=See the plans');
	await page.click('#subscribe');
	await heading();
	// What the shop's back end does once the order is paid.
	const tid = await page.evaluate(`sessionStorage.getItem('order')`);
	const upload = await service.upload({ aid: service.aid, data: [event({ tid })] });
	assert.equal(upload.status, 201);

	await page.click('text=Back to the first page');
	assert.equal(await heading(), 'Good to have you with us');
	assert.deepEqual(errors, []);

	await page.uncheck('#consent');
	assert.deepEqual(await context.cookies(), []);
	await page.reload();
	assert.equal(await heading(), 'Stories from the cellar, each Friday');
	if (process.env.SHOT) await page.screenshot({ path: process.env.SHOT, fullPage: true });
});
