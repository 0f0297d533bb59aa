import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { quick } from '../../quick.ts';

/** The same engine without a window takes a fifth of the CPU time; all tests are shown on the whole browser. */
const shellPath = '/usr/bin/chromium-headless-shell';
const executablePath = quick && existsSync(shellPath) ? shellPath : '/usr/bin/chromium';

/** For a test's `skip`: the reason why browser tests cannot run here, or false. */
export const withoutBrowser = existsSync(executablePath) ? false : `there is no browser at ${executablePath}`;

/**
 * Starts a browser with the user agent of a person. Set as a flag, because emulation ends before a page's last beacon.
 * @param flags others of Chromium
 */
export async function launchBrowser(flags: readonly string[] = []): Promise<Browser> {
	// Loaded only when needed, because that takes long.
	const { chromium } = await import('playwright-core');
	const userAgent =
		'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';
	return chromium.launch({ executablePath, args: ['--no-sandbox', `--user-agent=${userAgent}`, ...flags] });
}

/** For tests with a browser: each wait of theirs, and the whole, may take long on a busy machine. */
const waitMs = 240_000;
export const browserTestMs = 900_000;

/** How long a page may take to close. */
const closeMs = 20_000;

/**
 * Closes a page or a context. A page that is just going elsewhere may never say that it is closed; it goes with its browser.
 * @returns whether it is closed
 */
export async function close(what: Page | BrowserContext): Promise<boolean> {
	const giveUp = new AbortController();
	const closed = what.close().then(() => true);
	const late = delay(closeMs, false, { signal: giveUp.signal });
	late.catch(() => {});
	return Promise.race([closed, late]).finally(() => giveUp.abort());
}

/** A browser context with its own cookies. */
export async function newContext(
	browser: Browser,
	options: BrowserContextOptions = {},
): Promise<BrowserContext> {
	const context = await browser.newContext(options);
	context.setDefaultTimeout(waitMs);
	return context;
}

/** The same for one test. */
export async function openContext(
	t: TestContext,
	browser: Browser,
	initScript?: string,
	options: BrowserContextOptions = {},
): Promise<BrowserContext> {
	const context = await newContext(browser, options);
	if (initScript !== undefined) await context.addInitScript(initScript);
	t.after(() => close(context));
	return context;
}

/** A page, its errors, what the tag says in its console, and its requests to the service. */
export interface Visited {
	readonly page: Page;
	readonly errors: string[];
	readonly warnings: string[];
	/** For example `POST /hit`, without query strings. */
	readonly asked: string[];
}

export async function openPage(context: BrowserContext, url: string, service: string): Promise<Visited> {
	const page = await context.newPage();
	const errors: string[] = [];
	const warnings: string[] = [];
	const asked: string[] = [];
	page.on('console', (message) => {
		if (message.text().startsWith('vscr')) warnings.push(message.text());
	});
	page.on('pageerror', (error) => errors.push(String(error)));
	page.on('request', (request) => {
		const { origin, pathname } = new URL(request.url());
		const isTag = pathname.endsWith('.js');
		if (origin === new URL(service).origin && !isTag) asked.push(`${request.method()} ${pathname}`);
	});
	await page.goto(url);
	return { page, errors, warnings, asked };
}

const types: Readonly<Record<string, string>> = { html: 'text/html', css: 'text/css', js: 'text/javascript' };

/** Starts a website on its own origin. `content` returns the body for a path. */
export async function startSite(
	t: TestContext,
	content: (path: string) => string | Buffer | undefined,
): Promise<string> {
	const server = createServer((request, response) => {
		const path = new URL(request.url ?? '/', 'http://site.test').pathname;
		const body = content(path);
		const type = types[/\.(\w+)$/.exec(path)?.[1] ?? 'html'] ?? 'text/plain';
		response.writeHead(body === undefined ? 404 : 200, { 'content-type': `${type}; charset=utf-8` });
		response.end(body);
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	t.after(() => {
		server.closeAllConnections();
		server.close();
	});
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
