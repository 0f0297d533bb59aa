import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { crc32, deflateSync } from 'node:zlib';
import { type BrowserContext, chromium, type Page } from 'playwright-core';

// Takes docs/tutorial/demo.png and docs/reference/console/*.png from a running server with a trained demo:
// npm start, bin/caskade demo, bin/caskade train c-a-demo-local, npm run screenshot. With --looks FOLDER, it takes every page in
// light, dark, 360 px wide and printed instead, to be looked at.

const { values } = parseArgs({
	options: {
		shop: { type: 'string', default: 'http://127.0.0.1:8080/demo/' },
		console: { type: 'string', default: 'http://127.0.0.1:8081' },
		database: { type: 'string', default: 'sqlite:./data' },
		looks: { type: 'string' },
	},
});
const docs = join(import.meta.dirname, '../docs');
const aid = 'c-a-demo-local';
const person = 'demo@example.com';

// A browser that says it is headless is a bot, and bots are in no segment.
const userAgent =
	'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';
const browser = await chromium.launch({
	executablePath: '/usr/bin/chromium',
	args: ['--no-sandbox', `--user-agent=${userAgent}`],
});
/** Reads the pixels of screenshots. */
const reader = await browser.newPage();

/** Colours of a PNG with a palette. */
const maxColours = 256;

/** Writes a screenshot as a PNG with a palette: a third of the size, and text stays sharp. */
async function save(name: string, screenshot: Buffer): Promise<void> {
	const { width, height, pixels } = (await reader.evaluate(`(async () => {
		const image = new Image();
		image.src = 'data:image/png;base64,${screenshot.toString('base64')}';
		await image.decode();
		const { width, height } = image;
		const canvas = new OffscreenCanvas(width, height).getContext('2d');
		canvas.drawImage(image, 0, 0);
		const { data } = canvas.getImageData(0, 0, width, height);
		const bytes = [];
		for (let from = 0; from < data.length; from += 32768)
			bytes.push(String.fromCharCode(...data.subarray(from, from + 32768)));
		return { width, height, pixels: btoa(bytes.join('')) };
	})()`)) as { width: number; height: number; pixels: string };
	const data = Buffer.from(pixels, 'base64');
	const counts = new Map<number, number>();
	for (let at = 0; at < data.length; at += 4) {
		const colour = data.readUIntBE(at, 3);
		counts.set(colour, (counts.get(colour) ?? 0) + 1);
	}
	// Bright colours are rare, and what a picture is about.
	const weightOf = ([colour, count]: readonly [number, number]) => {
		const parts = [colour >> 16, (colour >> 8) & 255, colour & 255];
		return count * (1 + (Math.max(...parts) - Math.min(...parts)) / 4);
	};
	const palette = [...counts]
		.sort((a, b) => weightOf(b) - weightOf(a))
		.slice(0, maxColours)
		.map(([colour]) => colour);
	const nearest = new Map(palette.map((colour, place) => [colour, place]));
	const placeOf = (colour: number) =>
		nearest.getOrInsertComputed(colour, () => {
			const distances = palette.map((known) =>
				[16, 8, 0].reduce(
					(sum, shift) => sum + (((known >> shift) & 255) - ((colour >> shift) & 255)) ** 2,
					0,
				),
			);
			return distances.indexOf(Math.min(...distances));
		});
	const rows = Buffer.alloc(height * (width + 1));
	for (let y = 0; y < height; y++)
		for (let x = 0; x < width; x++)
			rows[y * (width + 1) + 1 + x] = placeOf(data.readUIntBE(4 * (y * width + x), 3));
	const header = Buffer.alloc(13);
	header.writeUInt32BE(width, 0);
	header.writeUInt32BE(height, 4);
	// Eight bits, with a palette.
	header.set([8, 3, 0, 0, 0], 8);
	const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
	const chunks = [
		['IHDR', header],
		['PLTE', colours],
		['IDAT', deflateSync(rows, { level: 9 })],
		['IEND', Buffer.alloc(0)],
	] as const;
	const png = chunks.flatMap(([type, content]) => {
		const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
		length.writeUInt32BE(content.length);
		const named = Buffer.concat([Buffer.from(type), content]);
		sum.writeUInt32BE(crc32(named));
		return [length, named, sum];
	});
	const file = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), ...png]);
	writeFileSync(join(docs, name), file);
	process.stdout.write(`${name} ${Math.ceil(file.length / 1000)} kB\n`);
}

/** The first page of the shop, as a data URL, once scores and segments are there. */
async function firstPage(context: BrowserContext): Promise<string> {
	const page = await context.newPage();
	await page.goto(values.shop);
	await page.waitForSelector('#segments[data-ready]');
	await page.waitForSelector('#scores[data-ready]');
	const image = await page.screenshot();
	await page.close();
	return `data:image/png;base64,${image.toString('base64')}`;
}

async function ofShop(): Promise<void> {
	const viewport = { width: 620, height: 560 };
	const context = await browser.newContext({ viewport });
	const before = await firstPage(context);
	const page = await context.newPage();
	for (let view = 0; view < 3; view++) {
		await page.goto(`${values.shop}pricing/`);
		await page.waitForSelector('#segments[data-ready]');
	}
	const after = await firstPage(context);
	// Not on a page of the shop, whose policy allows no inline style.
	const both = await browser.newPage();
	await both.setViewportSize({ width: 2 * viewport.width + 60, height: viewport.height + 70 });
	await both.setContent(`
		<style>
			body { display: flex; gap: 20px; margin: 20px; background: #d9dde2; font: 15px system-ui, sans-serif }
			figure { margin: 0 } img { display: block; margin-top: 8px; border-radius: 8px }
		</style>
		<figure>The first visit<img src="${before}"></figure>
		<figure>The plans looked at three times<img src="${after}"></figure>`);
	await save('tutorial/demo.png', await both.screenshot());
}

/** Pages by the names of their pictures. Those of one visitor and one event are found on the pages before. */
const pages: readonly (readonly [name: string, path: string, height?: number])[] = [
	['overview', `${aid}/?period=91`],
	['attribution', `${aid}/attribution?period=91`],
	['journeys', `${aid}/journeys?period=91`],
	['revenue', `${aid}/revenue?period=364`, 1300],
	['retention', `${aid}/retention?period=364`, 1000],
	['scores', `${aid}/scores?period=91`, 1000],
	[
		'segments',
		`${aid}/segments?id=keen&name=Keen&rule=visitor.visits+%3E%3D+3+%26%26+visitor.subscriptions+%3D%3D+0`,
	],
	['experiments', `${aid}/experiments`, 1300],
	['subscriptions', `${aid}/subscriptions?period=28`],
	['visitors', `${aid}/visitors`],
	['uploads', `${aid}/uploads`],
	['webhooks', `${aid}/webhooks`],
	['settings', `${aid}/settings`],
	['system', 'system'],
	['people', 'people'],
	['audit', 'audit'],
	['account', 'account'],
];

/** Looked at, and not in the docs. */
const otherPages: typeof pages = [
	['campaigns', `${aid}/campaigns?period=last-month`],
	['threshold', `${aid}/scores?treating=1&worth=50`],
	['model', `${aid}/scores?part=model`],
	['tag', `${aid}/tag`],
	['notes', `${aid}/notes`],
	['views', `${aid}/views`],
	['keys', `${aid}/settings?part=keys`],
	['goals', `${aid}/settings?part=goals`],
	['came', `${aid}/visitors?period=28&channel=email`],
	['accounts', 'accounts'],
	['missing', `${aid}/none`],
];

const looks = [
	['light', { width: 1280, height: 860 }, { colorScheme: 'light', media: 'screen' }],
	['dark', { width: 1280, height: 860 }, { colorScheme: 'dark', media: 'screen' }],
	['narrow', { width: 360, height: 740 }, { colorScheme: 'light', media: 'screen' }],
	// What fits on A4 at 96 points to the inch, within its margins.
	['print', { width: 718, height: 1000 }, { colorScheme: 'light', media: 'print' }],
] as const;

async function signedIn(): Promise<Page> {
	const main = join(import.meta.dirname, '../src/main.js');
	const args = ['user', 'link', person, '--console-url', values.console, '--database', values.database];
	const { link } = JSON.parse(
		execFileSync(process.execPath, [main, ...args, '--json'], { encoding: 'utf8' }),
	);
	const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
	const page = await context.newPage();
	await page.goto(link);
	await page.getByRole('button', { name: 'Sign in' }).click();
	return page;
}

async function ofConsole(): Promise<void> {
	mkdirSync(join(docs, 'reference/console'), { recursive: true });
	const page = await signedIn();
	for (const [name, path, height = 860] of pages) {
		await take(page, name, `${values.console}/console/${path}`, height);
		if (name === 'visitors') await ofVisitor(page);
	}
}

/** A visitor who has paid, and what they paid. */
async function ofVisitor(page: Page): Promise<void> {
	const address = await paidVisitor(page);
	await take(page, 'visitor', `${values.console}${address}`, 1200);
	const event = await page.locator('a[href*="/events/"]').first().getAttribute('href');
	await take(page, 'event', `${values.console}${event}`, 860);
}

const paidVisitor = (page: Page) =>
	page.getByRole('row').filter({ hasText: '£' }).getByRole('link').first().getAttribute('href');

/** Every page in every look, whole. */
async function ofLooks(folder: string): Promise<void> {
	mkdirSync(folder, { recursive: true });
	const page = await signedIn();
	const console = `${values.console}/console`;
	await page.goto(`${console}/${aid}/visitors`);
	const visitor = await paidVisitor(page);
	await page.goto(`${values.console}${visitor}`);
	const event = await page.locator('a[href*="/events/"]').first().getAttribute('href');
	const all = [...pages, ...otherPages].map(([name, path]) => [name, `${console}/${path}`] as const);
	for (const [name, address] of [
		...all,
		['visitor', `${values.console}${visitor}`] as const,
		['event', `${values.console}${event}`] as const,
		['sign-in', `${console}/sign-in`] as const,
	]) {
		if (name === 'sign-in') await page.context().clearCookies();
		await page.goto(address);
		await page.locator('main:not([aria-busy])').waitFor({ timeout: 60_000 });
		for (const [look, viewport, media] of looks) {
			await page.setViewportSize(viewport);
			await page.emulateMedia(media);
			await page.screenshot({ path: join(folder, `${name}-${look}.png`), fullPage: true });
		}
	}
}

async function take(page: Page, name: string, address: string, height: number): Promise<void> {
	await page.setViewportSize({ width: 1280, height });
	await page.goto(address);
	await page.locator('main:not([aria-busy])').waitFor({ timeout: 60_000 });
	await save(`reference/console/${name}.png`, await page.screenshot({ animations: 'disabled' }));
}

try {
	if (values.looks === undefined) {
		await ofShop();
		await ofConsole();
	} else await ofLooks(values.looks);
} finally {
	await browser.close();
}
