import assert from 'node:assert/strict';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { dayMs } from '../../src/core/durations.ts';
import { newContext } from '../core/collect/browser.ts';
import { readStored } from '../core/store/stored-log.ts';
import { type Lasting, startService, type TestService } from '../support.ts';
import { type Compared, compare, Truth } from './browsers-truth.ts';
import { HitTraffic, type Way, type Web } from './browsers-web.ts';

/** The script begins so long ago, so that 13 months are over today. */
const longestDays = 400;
const tagPath = '/assets/shop.js';
/** A tab that is asked to close while it loads something may not hear it. */
const closingMs = 5000;

export interface WorldOptions {
	/** The site's own domain, such as `shop.co.uk`. */
	readonly domain: string;
	/** Whether a path of each host of the site is the service's, or the service is another site. */
	readonly service: 'own path' | 'another site';
}

/** A visit of somebody's, with the moment at which it begins. */
export interface Visit {
	readonly atMs: number;
	play(): Promise<void>;
}

export interface Opening {
	/** Who sees it; the truth. */
	readonly visitor: string;
	readonly path: string;
	/** Default: `www.` and the domain. */
	readonly host?: string;
	readonly query?: string;
	/** Of a link on another site; one within the site is followed by a tab. */
	readonly referrer?: string;
	readonly way?: Way;
	/** Called before `fire`. */
	readonly commands?: readonly string[];
	/** How many events are added before `fire`. */
	readonly events?: number;
	/** In a frame of another page that may run scripts, and has no origin. */
	readonly isFramed?: boolean;
}

interface Planned {
	readonly url: string;
	readonly title: string;
	readonly html: (world: World) => string;
}

/** A site and its service, with a clock of its own, and what really happened there. */
export class World {
	readonly truth = new Truth();
	readonly traffic = new HitTraffic();
	readonly domain: string;
	readonly beganMs = Date.now() - longestDays * dayMs;
	readonly #options: WorldOptions;
	readonly #browser: Browser;
	readonly #service: TestService;
	readonly #devices: Device[] = [];
	/** What the site's pages have, by the parameter `v` of their addresses. */
	readonly #planned = new Map<string, Planned>();
	#count = 0;
	#aheadMs = -longestDays * dayMs;

	private constructor(
		browser: Browser,
		options: WorldOptions,
		service: TestService,
		clock: { now: () => number },
	) {
		this.#browser = browser;
		this.#options = options;
		this.#service = service;
		this.domain = options.domain;
		clock.now = () => this.nowMs;
	}

	static async start(lasting: Lasting, web: Web, browser: Browser, options: WorldOptions): Promise<World> {
		const clock = { now: Date.now };
		const isOwn = options.service === 'own path';
		const service = await startService(lasting, {
			now: () => clock.now(),
			behindProxy: 1,
			// All browsers come from one address.
			hitsPerAddress: 1_000_000,
			...(isOwn && { tagPath, hitPath: '/basket' }),
		});
		const world = new World(browser, options, service, clock);
		const hitPath = isOwn ? '/basket' : '/hit';
		const paths = new Set([isOwn ? tagPath : '/tag.js', hitPath, '/visscores', '/visscores/segments']);
		const toService = { url: service.url, paths, hitPath, traffic: world.traffic };
		const page = (url: URL) => world.#planned.get(url.searchParams.get('v') ?? '')?.html(world);
		for (const name of ['www', 'checkout'])
			web.add(`${name}.${options.domain}`, { page, ...(isOwn && { service: toService }) });
		if (!isOwn) web.add(world.#serviceHost, { page: () => undefined, service: toService });
		return world;
	}

	/** Whether the service can set the cookies. */
	get isOwnPath(): boolean {
		return this.#options.service === 'own path';
	}

	get aheadMs(): number {
		return this.#aheadMs;
	}

	get nowMs(): number {
		return Date.now() + this.#aheadMs;
	}

	/** Time only goes on. */
	moveTo(atMs: number): void {
		this.#aheadMs = Math.max(this.#aheadMs, Math.round(atMs) - Date.now());
	}

	async play(visits: readonly Visit[]): Promise<void> {
		for (const { atMs, play } of visits.toSorted((a, b) => a.atMs - b.atMs)) {
			this.moveTo(atMs);
			await play();
			// Answers that come later would find other cookies.
			await this.traffic.quiet(20);
		}
		await this.traffic.quiet(1000);
		for (const device of this.#devices) await device.close();
	}

	/** A number that nothing else of this world has. */
	number(): number {
		this.#count++;
		return this.#count;
	}

	async device(kind: Partial<DeviceKind> = {}): Promise<Device> {
		const device = await Device.start(this.#browser, this, kind);
		this.#devices.push(device);
		return device;
	}

	/** Prepares a page that can be opened once, or again and again. */
	plan(opening: Opening): Planned & { readonly events: readonly string[] } {
		const number = this.number();
		const { host = `www.${this.domain}`, path, query, way, isFramed = false } = opening;
		const title = `${path} ${number}`;
		const search = new URLSearchParams(query);
		search.set('v', String(number));
		const url = `https://${host}${path}?${search}`;
		if (way) this.traffic.ways.set(title, way);
		const events = Array.from({ length: opening.events ?? 0 }, () => `event ${this.number()}`);
		const commands = [
			...(opening.commands ?? []),
			...events.map((name) => `vscr('addEvent','${name}')`),
			`vscr('fire')`,
		];
		const html = (world: World) => world.#html(host, title, commands);
		const planned = { url, title, html, events };
		this.#planned.set(String(number), planned);
		if (!isFramed) return planned;
		const outer = this.number();
		const framed = `<title>Partner</title><iframe sandbox="allow-scripts" src="${url}"></iframe>`;
		const outside = { ...planned, url: `https://www.${this.domain}/outer?v=${outer}`, html: () => framed };
		this.#planned.set(String(outer), outside);
		return outside;
	}

	/** Uploads a sale, as the shop's back end does. */
	async upload(event: Readonly<Record<string, unknown>>): Promise<void> {
		const { aid } = this.#service;
		const answer = await this.#service.upload({ aid, data: [{ evt: 'order', rvn: 4900, ...event }] });
		assert.equal(answer.status, 201, await answer.text());
	}

	/** Compares what the service tells with what happened. */
	async compared(): Promise<Compared> {
		const { store, aid, client, planName, url, server } = this.#service;
		const { id } = await store.control.account(aid);
		const { log } = await readStored(store, id);
		const { key } = await store.control.issueKey(client, planName, { scope: 'read' });
		await server.directory.refresh();
		const query = new URLSearchParams({ aid, by: 'channel,landing', model: 'first' });
		const answer = await fetch(`${url}/reports/attribution?${query}`, { headers: { 'x-api-key': key } });
		assert.equal(answer.status, 200, await answer.clone().text());
		const { rows } = (await answer.json()) as { rows: readonly AttributionRow[] };
		const credited = new Map(
			rows.map(({ channel, landing, models }) => [`${channel}, ${landing}`, models.first.subscriptions]),
		);
		return compare(this.truth, log, credited);
	}

	get #serviceHost(): string {
		return `collect.${this.domain.replaceAll('.', '-')}.caskade.example`;
	}

	#html(host: string, title: string, commands: readonly string[]): string {
		const isOwn = this.isOwnPath;
		const setAccount = `vscr('setAccount','${this.#service.aid}')`;
		const address = isOwn ? [`vscr('setServer','https://${host}')`, `vscr('setHitPath','/basket')`] : [];
		const script = isOwn ? tagPath : `https://${this.#serviceHost}/tag.js`;
		return `<!doctype html><title>${title}</title><script>${movedDate(this.#aheadMs)}</script><script>
	window.vscr=window.vscr||function(){(vscr.q=vscr.q||[]).push(arguments)};
	${[...address, setAccount, ...commands].join(';\n\t')};
</script>
<script async src="${script}"></script><h1>${title}</h1>`;
	}
}

interface AttributionRow {
	readonly channel: string;
	readonly landing: string;
	readonly models: { readonly first: { readonly subscriptions: number } };
}

/** The page's clock is that of the world. */
function movedDate(aheadMs: number): string {
	return `Date=class extends Date{
	constructor(...args){super(...(args.length?args:[Date.now()]))}
	static now(){return super.now()+${aheadMs}}}`;
}

/** Safari's rules for cookies that scripts write: a week, or a day after a link with an id from another site. */
const safariCookies = `(() => {
	const cookie = Object.getOwnPropertyDescriptor(Document.prototype, 'cookie');
	const isFromElsewhere = () => document.referrer !== '' && new URL(document.referrer).host !== location.host;
	const isDecorated = /[?&](gclid|fbclid)=/.test(location.search) && isFromElsewhere();
	const longestSeconds = (isDecorated ? 1 : 7) * 86400;
	Object.defineProperty(Document.prototype, 'cookie', {
		configurable: true,
		get() { return cookie.get.call(this); },
		set(text) {
			cookie.set.call(this, text.replace(/max-age=(\\d+)/i, (_, seconds) => 'max-age=' + Math.min(seconds, longestSeconds)));
		},
	});
})()`;

/** A browser that refuses cookies. */
const noCookies = `Object.defineProperty(Document.prototype, 'cookie', { get: () => '', set: () => {} })`;

/** A tab in the background, until somebody looks at it. */
const hiddenTab = `(() => {
	let isHidden = true;
	Object.defineProperty(Document.prototype, 'hidden', { get: () => isHidden });
	Object.defineProperty(Document.prototype, 'visibilityState', { get: () => (isHidden ? 'hidden' : 'visible') });
	window.show = () => {
		isHidden = false;
		document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
	};
})()`;

export interface DeviceKind {
	readonly isSafari: boolean;
	/** The browser refuses scripts their cookies. */
	readonly blocksCookies: boolean;
	readonly isSlow: boolean;
}

/** A browser of somebody's. Its cookies grow older as the world's time goes on. */
export class Device {
	readonly world: World;
	readonly #context: BrowserContext;
	readonly #kind: Partial<DeviceKind>;
	#aheadMs: number;

	private constructor(context: BrowserContext, world: World, kind: Partial<DeviceKind>) {
		this.#context = context;
		this.world = world;
		this.#kind = kind;
		this.#aheadMs = world.aheadMs;
	}

	static async start(browser: Browser, world: World, kind: Partial<DeviceKind>): Promise<Device> {
		const context = await newContext(browser, { ignoreHTTPSErrors: true });
		if (kind.isSafari) await context.addInitScript(safariCookies);
		if (kind.blocksCookies) await context.addInitScript(noCookies);
		return new Device(context, world, kind);
	}

	/** Opens a page in a new tab: from an address, or by a link on another site. */
	async open(opening: Opening, { isHidden = false } = {}): Promise<Tab> {
		const tab = await this.tab(isHidden);
		await tab.go(opening, isHidden ? 'unseen' : 'seen');
		return tab;
	}

	close(): Promise<void> {
		return this.#context.close();
	}

	async tab(isHidden = false): Promise<Tab> {
		const page = await this.#context.newPage();
		if (isHidden) await page.addInitScript(hiddenTab);
		await this.#prepare(page);
		return new Tab(this, page);
	}

	/** A tab that a page opens by a link. */
	async opened(by: () => Promise<unknown>): Promise<Tab> {
		const [page] = await Promise.all([this.#context.waitForEvent('page'), by()]);
		await this.#prepare(page);
		return new Tab(this, page);
	}

	async #prepare(page: Page): Promise<void> {
		if (!this.#kind.isSlow) return;
		const session = await this.#context.newCDPSession(page);
		const slow = { latency: 400, downloadThroughput: 50_000, uploadThroughput: 20_000 };
		await session.send('Network.enable');
		await session.send('Network.emulateNetworkConditions', { offline: false, ...slow });
	}

	/** The browser's own clock cannot be moved, so cookies end sooner by as much as the world's time has gone on. */
	async passTime(): Promise<void> {
		const passedSeconds = (this.world.aheadMs - this.#aheadMs) / 1000;
		this.#aheadMs = this.world.aheadMs;
		if (passedSeconds < 1) return;
		const cookies = await this.#context.cookies();
		if (cookies.length === 0) return;
		await this.#context.clearCookies();
		const older = cookies.map((cookie) =>
			cookie.expires === -1 ? cookie : { ...cookie, expires: cookie.expires - passedSeconds },
		);
		const nowSeconds = Date.now() / 1000;
		await this.#context.addCookies(older.filter(({ expires }) => expires === -1 || expires > nowSeconds + 1));
	}
}

/** An event as a page gives it to the tag. */
interface FiredEvent {
	readonly name: string;
	readonly tid?: string;
	readonly rvn?: number;
	readonly currency?: string;
}

/** A tab with a page of the site. */
export class Tab {
	readonly page: Page;
	readonly #device: Device;
	readonly #world: World;
	#opening: Opening | undefined;
	#title = '';
	#unseen: (() => void) | undefined;

	constructor(device: Device, page: Page) {
		this.#device = device;
		this.page = page;
		this.#world = device.world;
	}

	/** Opens a page in this tab: from an address, or by a link on another site. */
	async go(opening: Opening, isSeen: 'seen' | 'unseen' = 'seen'): Promise<void> {
		const { referrer } = opening;
		await this.#device.passTime();
		const { url } = this.#expect(opening, isSeen);
		await this.page.goto(url, { waitUntil: 'commit', ...(referrer !== undefined && { referer: referrer }) });
	}

	/** Follows a link of the page. */
	async follow(opening: Opening): Promise<void> {
		const { url } = this.#expect(opening);
		await Promise.all([
			this.page.waitForURL(({ href }) => href === url, { waitUntil: 'commit' }),
			this.page.evaluate(`location.href=${JSON.stringify(url)}`),
		]);
	}

	/** Follows a link into a new tab. @param keepsOpener as `window.open` does */
	async followInNewTab(opening: Opening, keepsOpener = false): Promise<Tab> {
		const planned = this.#world.plan(opening);
		const features = keepsOpener ? '' : 'noopener';
		const script = `void window.open(${JSON.stringify(planned.url)}, '_blank', '${features}')`;
		const tab = await this.#device.opened(() => this.page.evaluate(script));
		tab.#note(opening, planned);
		return tab;
	}

	#expect(opening: Opening, isSeen: 'seen' | 'unseen' = 'seen') {
		const planned = this.#world.plan(opening);
		this.#note(opening, planned, isSeen);
		return planned;
	}

	#note(opening: Opening, { title, events }: ReturnType<World['plan']>, isSeen = 'seen'): void {
		const { truth } = this.#world;
		this.#opening = opening;
		this.#title = title;
		const see = () => {
			truth.seen.set(title, opening.visitor);
			for (const name of events) truth.fired.set(name, opening.visitor);
			this.#unseen = undefined;
		};
		if (isSeen === 'seen') see();
		else this.#unseen = see;
	}

	/** Until the service has the hit of the page. */
	arrived(): Promise<boolean> {
		return this.#world.traffic.arrived(this.#title);
	}

	/** Until the browser has the answer to it. */
	async answered(): Promise<boolean> {
		const isAnswered = await this.#world.traffic.answered(this.#title);
		// The answer is on its way to the page.
		await this.page.waitForTimeout(20);
		return isAnswered;
	}

	/** Somebody looks at a hidden tab. */
	async look(): Promise<void> {
		this.#unseen?.();
		await this.page.waitForFunction('window.show');
		await this.page.evaluate('show()');
	}

	/** Changes the page without loading one, as an app of one page does. The title follows a moment later. */
	async show(
		path: string,
		change: (url: string) => string,
		visitor = this.#opening?.visitor ?? '',
	): Promise<void> {
		const title = `${path} ${this.#world.number()}`;
		this.#world.truth.seen.set(title, visitor);
		this.#title = title;
		await this.page.evaluate(
			`${change(path)}; setTimeout(() => { document.title = ${JSON.stringify(title)}; }, 20)`,
		);
	}

	/** Adds events to the next hit. */
	async add(events: readonly FiredEvent[]): Promise<void> {
		const added = `for (const event of ${JSON.stringify(events)}) vscr('addEvent', event)`;
		await (this.#frame ?? this.page).evaluate(added);
		for (const { name } of events) this.#world.truth.fired.set(name, this.#opening?.visitor ?? '');
	}

	/** Adds events and sends them. */
	async fire(events: readonly FiredEvent[]): Promise<void> {
		await this.add(events);
		await (this.#frame ?? this.page).evaluate(`vscr('fire')`);
	}

	get #frame() {
		return this.#opening?.isFramed ? this.page.frames()[1] : undefined;
	}

	/** Goes to another site. */
	async leave(url = 'https://elsewhere.example/'): Promise<void> {
		await this.page.goto(url);
	}

	async close(): Promise<void> {
		const isClosed = this.page.waitForEvent('close', { timeout: closingMs }).catch(() => {});
		await this.page.close({ runBeforeUnload: true });
		await isClosed;
		await this.page.close();
	}
}
