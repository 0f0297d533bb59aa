import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BrowserContext, chromium } from 'playwright-core';

// Takes docs/demo.png from a running server: npm start, npx caskade demo, npm run screenshot.

const shop = process.argv[2] ?? 'http://127.0.0.1:8080/demo/';
const target = join(import.meta.dirname, '../docs/demo.png');
const viewport = { width: 620, height: 560 };

// A browser that says it is headless is a bot, and bots are in no segment.
const userAgent =
	'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';
const browser = await chromium.launch({
	executablePath: '/usr/bin/chromium',
	args: ['--no-sandbox', `--user-agent=${userAgent}`],
});

/** The first page, as a data URL, once scores and segments are there. */
async function firstPage(context: BrowserContext): Promise<string> {
	const page = await context.newPage();
	await page.goto(shop);
	await page.waitForSelector('#segments[data-ready]');
	await page.waitForSelector('#scores[data-ready]');
	const image = await page.screenshot();
	await page.close();
	return `data:image/png;base64,${image.toString('base64')}`;
}

try {
	const context = await browser.newContext({ viewport });
	const before = await firstPage(context);
	const page = await context.newPage();
	for (let view = 0; view < 3; view++) {
		await page.goto(`${shop}pricing/`);
		await page.waitForSelector('#segments[data-ready]');
	}
	const after = await firstPage(context);
	await page.setViewportSize({ width: 2 * viewport.width + 60, height: viewport.height + 70 });
	await page.setContent(`
		<style>
			body { display: flex; gap: 20px; margin: 20px; background: #d9dde2; font: 15px system-ui, sans-serif }
			figure { margin: 0 } img { display: block; margin-top: 8px; border-radius: 8px }
		</style>
		<figure>The first visit<img src="${before}"></figure>
		<figure>The plans looked at three times<img src="${after}"></figure>`);
	writeFileSync(target, await page.screenshot());
} finally {
	await browser.close();
}
