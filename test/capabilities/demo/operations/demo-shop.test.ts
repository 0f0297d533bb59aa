import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { launchBrowser, openContext, openPage, withoutBrowser } from '../../../core/collect/browser.ts';
import { ServeProcess } from '../../../process.ts';
import { takesLong } from '../../../quick.ts';
import { temporaryFolder } from '../../../support.ts';

test('the demo shop greets a new visitor, one who considers the plans, and a subscriber differently', {
	skip: takesLong || withoutBrowser,
}, async (t) => {
	await using server = await ServeProcess.start([
		'--demo',
		...['--database', `sqlite:${join(temporaryFolder(t), 'data')}`],
	]);
	const [, key = ''] = await server.printed(/x-api-key: (\S+)'/);
	const browser = await launchBrowser();
	t.after(() => browser.close());
	const context = await openContext(t, browser);
	const { page, errors } = await openPage(context, `${server.url}/demo`, server.url);
	const heading = async () => {
		await page.waitForSelector('#segments[data-ready]');
		return page.textContent('h1:visible');
	};
	const segments = () => page.locator('#segments li').allTextContents();

	assert.equal(await heading(), 'Stories from the cellar, each Friday');
	assert.deepEqual(await segments(), ['New visitors']);
	await page.waitForSelector('#scores[data-ready]');
	assert.match((await page.textContent('#scores')) ?? '', /subscription: .* %/);

	for (const _ of [1, 2]) {
		await page.click('text=See the plans');
		assert.equal(await heading(), 'Pricing');
		assert.equal(await page.textContent('[data-segments] :visible'), 'Every plan has this week’s story.');
		await page.click('text=Home');
		assert.equal(await heading(), 'Stories from the cellar, each Friday');
	}
	await page.click('text=See the plans');
	await heading();
	assert.equal(
		await page.textContent('[data-segments] :visible'),
		'Leave whenever you like. Most people stay.',
	);
	await page.click('text=Home');
	assert.equal(await heading(), 'Still thinking it over?');
	assert.deepEqual(await segments(), ['New visitors', 'Considering the plans']);

	await page.click('text=See the plans');
	await page.click('#subscribe');
	await heading();
	await page.click('#order');
	await heading();
	// What the shop's back end does once the order is paid, as the page says.
	const [, body = ''] = /-d '(.+)'$/.exec((await page.textContent('#upload')) ?? '') ?? [];
	assert.equal((await server.upload(key, JSON.parse(body))).status, 201);
	await page.click('text=Back to the first page');
	assert.equal(await heading(), 'Good to have you with us');
	assert.deepEqual(errors, []);

	await page.uncheck('#consent');
	assert.deepEqual(await context.cookies(), []);
	await page.reload();
	assert.equal(await heading(), 'Stories from the cellar, each Friday');
});
