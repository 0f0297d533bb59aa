import { after, before, type TestContext } from 'node:test';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { startService, type TestService } from '../../support.ts';
import { type LoggedHit, readStored } from '../store/stored-log.ts';
import {
	close,
	launchBrowser,
	newContext,
	openContext,
	openPage,
	startSite,
	type Visited,
} from './browser.ts';

export const setAccount = `vscr('setAccount','c-a-acme-uk')`;
export const fire = `vscr('fire')`;

/** A website whose pages have the queue, these commands, and the tag. */
export function siteWith(t: TestContext, tagOf: string, ...commands: string[]): Promise<string> {
	const queue = 'window.vscr=window.vscr||function(){(vscr.q=vscr.q||[]).push(arguments)};';
	return startSite(
		t,
		(path) =>
			`<title>Page ${path}</title><script>${queue}${commands.join(';')}</script>
			<script async src="${tagOf}/tag.js"></script>`,
	);
}

export interface Visit extends Visited {
	readonly service: TestService;
	readonly site: string;
	hits(): Promise<readonly LoggedHit[]>;
}

interface VisitOptions {
	readonly initScript?: string;
	readonly now?: () => number;
	/** The site's host, which must lead to this machine. */
	readonly host?: string;
	readonly path?: string;
}

/**
 * Opens a browser for the tests of a suite. Where nothing asks for another, one context is used and emptied after each test: a page of a
 * new one is slow.
 * @param flags of Chromium
 */
export function openBrowser(flags?: readonly string[]) {
	let browser: Browser;
	let emptied: BrowserContext;
	before(async () => {
		browser = await launchBrowser(flags);
		emptied = await newContext(browser);
	});
	after(() => browser.close());
	return {
		/** A context of its own for one test. */
		context: (t: TestContext, initScript?: string, options?: BrowserContextOptions) =>
			openContext(t, browser, initScript, options),

		/** Opens a page of a website with these commands, `/pricing` where no other is named, in a browser that has seen nothing. */
		async visit(t: TestContext, commands: readonly string[], options: VisitOptions = {}): Promise<Visit> {
			const { initScript, now, host = '127.0.0.1', path = '/pricing' } = options;
			const service = await startService(t, now ? { now } : {});
			const site = (await siteWith(t, service.url, ...commands)).replace('127.0.0.1', host);
			const context = initScript === undefined ? emptied : await openContext(t, browser, initScript);
			const visited = await openPage(context, `${site}${path}`, service.url);
			if (context === emptied)
				t.after(async () => {
					if (await close(visited.page)) await context.clearCookies();
					else emptied = await newContext(browser);
				});
			await isLoaded(visited.page);
			return { ...visited, service, site, hits: () => hitsOf(service) };
		},
	};
}

/** Waits for the tag. */
export async function isLoaded(page: Page): Promise<void> {
	await page.waitForFunction('window.vscr && vscr.scores');
}

/** What the service has stored, in order of arrival. */
export async function hitsOf({ store, aid }: TestService): Promise<readonly LoggedHit[]> {
	const { id } = await store.control.account(aid);
	return (await readStored(store, id)).log.hits;
}

/** Of a browser, without the date of the first sight. */
export async function cookies(page: Page): Promise<Record<string, string>> {
	const jar = await page.context().cookies();
	return Object.fromEntries(jar.map(({ name, value }) => [name, value.split('.')[0] ?? '']));
}

/** Long enough for whatever the page wanted to begin. */
export function settle(page: Page): Promise<void> {
	return page.waitForTimeout(150);
}

/** Long enough for a change of the address to be a page. */
export function settleRoute(page: Page): Promise<void> {
	return page.waitForTimeout(450);
}
