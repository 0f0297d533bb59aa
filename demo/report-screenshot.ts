import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

// Takes docs/report.png: npx caskade report paths c-a-demo-local --html paths.html, npm run screenshot:report paths.html.

const [page] = process.argv.slice(2);
if (!page) throw new Error('name the page of a report');
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
try {
	const tab = await browser.newPage({ viewport: { width: 820, height: 660 } });
	await tab.goto(pathToFileURL(resolve(page)).href);
	await tab.screenshot({ path: join(import.meta.dirname, '../docs/report.png') });
} finally {
	await browser.close();
}
