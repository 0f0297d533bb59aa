import type { Commands, HitEvent, Score, Segment, Vscr } from '../../../../client/tag/src/vscr.ts';
import {
	areOf,
	cookie,
	cookieDomain,
	deleteCookies,
	isOptedOut,
	keepCookies,
	optOut,
	seedOf,
} from './cookies.ts';
import type { HitAnswer } from './hit-answer.ts';
import { exchangeLeft, json, type UnsentHit } from './unsent.ts';

/** The host rejects hits with more. */
const maxEvents = 20;
/** Of 16 KiB that the host takes; the visitor is added when a hit is sent. */
const maxBytes = 15_000;
/** One click may change the address several times: a router redirects, adds a slash, and sets the title later. */
const routingMs = 300;

// Runs once, even if the page includes the tag twice.
if (!window.vscr?.scores) start(window.vscr?.q ?? []);

function start(early: readonly ArrayLike<unknown>[]): void {
	const script = document.currentScript as HTMLScriptElement | null;
	let server = script?.src.replace(/\/[^/?]*(\?.*)?$/, '') ?? '';
	let hitPath = '/hit';
	let credentials: RequestCredentials = 'same-origin';
	let narrowDomain: string | undefined;
	let aid = '';
	let cid: string | undefined;
	let routes: readonly string[] = [];
	/** What the page is called, and the path for which that is so. */
	let named = '';
	let namedPath = '';
	let events: HitEvent[] = [];
	/** Hits that the browser has not yet been given. A page's hits go one after the other, the rest when it is left. */
	let unsent: UnsentHit[] = [];
	let isConsented = true;
	let wantsToFire = false;
	/** What was to be fired while nobody looked at the page. */
	let isDue = false;
	let routing: number | undefined;
	/** The page of the latest hit, undefined before the first; the home page is ''. The page itself is sent once; later hits on it send only events. */
	let sentPage: string | undefined;
	/** The referrer, also after navigation that loads no new document. */
	let previousUrl = document.referrer;
	/** The latest answer. It replaces the cookies where they are blocked. */
	let visitor: Partial<HitAnswer> = {};
	/** Replaces the cookie likewise. */
	let seed: string | undefined;
	/** The latest cask that had expired. */
	let expired: string | undefined;
	let begin!: () => void;
	/** Serialises hits: the second needs the `vid` that the first one receives. */
	let hits: Promise<unknown> = new Promise<void>((resolve) => {
		begin = resolve;
	});

	/** Lines in the console. A page may do the same wrong thing a thousand times. */
	const told: Record<string, unknown> = {};
	function tell(line: string): void {
		told[line] ||= [console.warn(`vscr: ${line}`)];
	}

	const asksNotTo = navigator.globalPrivacyControl || navigator.doNotTrack === '1';
	// A link of the site with this behind it, for its own people: their browser is not counted from then on.
	const choice = /^#vscr-(off|on)$/.exec(location.hash)?.[1];
	if (choice) optOut(choice === 'off');
	const hasOptedOut = isOptedOut();
	const isOut = asksNotTo || hasOptedOut;
	const isAllowed = () => isConsented && !isOut;

	function forget(): void {
		visitor = {};
		seed = cid = sentPage = undefined;
		events = [];
		unsent = [];
		exchangeLeft();
		deleteCookies();
	}

	/** The path that names the page, without a slash at its end. */
	function currentPage(): string {
		const { pathname, search, hash } = location;
		let page = namedPath === pathname ? named : pathname;
		if (page === pathname)
			for (const route of routes) {
				const pattern = route === '#' ? /#!?\/([^?]*)/ : RegExp(`[?&](${route}=[^&#]+)`);
				page += `/${pattern.exec(search + hash)?.[1] || ''}`;
			}
		return page.replace(/\/+(?=\/|$)/g, '');
	}

	/** Makes hits of the page, if it is new and somebody sees it, and of the events, as many in each as the host takes. */
	function take(): void {
		const page = currentPage();
		let hit: UnsentHit = { aid, cid, events: [] };
		if (page !== sentPage && !document.hidden) {
			const referrer = previousUrl.slice(0, 4000);
			sentPage = page;
			previousUrl = location.origin + page + location.search;
			hit = { ...hit, url: previousUrl.slice(0, 4000), referrer, title: document.title.slice(0, 500) };
		}
		unsent.push(hit);
		for (const event of events) {
			if (hit.events.length >= maxEvents || new Blob([json([hit, event])]).size > maxBytes) {
				hit = { aid, cid, events: [] };
				unsent.push(hit);
			}
			hit.events.push(event);
		}
		events = [];
	}

	function withVisitor(hit: UnsentHit): string {
		const domain = cookieDomain(narrowDomain);
		if (narrowDomain && !domain) tell(`setCookieDomain: the browser refuses ${narrowDomain}`);
		const kept = areOf(hit.aid) ? cookie : () => undefined;
		const vid = kept('vid') || visitor.vid;
		if (!vid) seed = seedOf(seed);
		return json({
			vid,
			seed: vid ? undefined : seed,
			firstVid: kept('first') || visitor.firstVid,
			sid: kept('sid') || visitor.sid,
			cookieDomain: domain,
			...hit,
		});
	}

	/** @returns whether the next hit may follow */
	async function send(hit: UnsentHit): Promise<boolean> {
		// `text/plain` needs no preflight.
		const options: RequestInit = { method: 'POST', keepalive: true, credentials, body: withVisitor(hit) };
		const response = await fetch(server + hitPath, options);
		if (!response.ok) {
			const { message, validationErrors } = await response.json().catch(() => ({}));
			tell(`the hit was refused: ${[message || response.status, validationErrors].join(' ').trim()}`);
			return response.status !== 429 || !unsent.unshift(hit);
		}
		if (response.headers.get('x-hit-stored') === '0')
			tell('hits are not stored: a bot, or an ignored network');
		const answer: HitAnswer = await response.json();
		if (answer.ignored) tell(answer.ignored);
		// Consent may have been withdrawn while the hit was in flight.
		if (!isAllowed()) return false;
		if (hit.aid === aid) visitor = answer;
		keepCookies(answer, hit.aid);
		return true;
	}

	async function sendAll(): Promise<void> {
		while (unsent[0] && isAllowed()) if (!(await send(unsent.shift() as UnsentHit))) return;
	}

	function hit(): void {
		// A tab in the background, or a prerendered page, may never be seen.
		isDue = document.hidden;
		if (isDue) return;
		begin();
		if (!aid) tell('setAccount comes before fire');
		if (isOut) tell('nothing is sent: opted out by settings or #vscr-off');
		if (!aid || !isAllowed()) return;
		take();
		hits = hits.then(sendAll).catch(({ message }) => tell(`no answer to the hit: ${message}`));
	}

	async function ask<Entry>(list: string, path: string, again?: boolean): Promise<Entry[]> {
		if (!isAllowed()) return [];
		// Before the first hit it is another promise than after it.
		await hits.then(() => hits);
		const { cask } = visitor;
		if (!cask) return [];
		const response = await fetch(`${server}/visscores${path}?cask=${cask}`);
		if (response.status === 401 && !again) {
			if (expired !== cask) hit();
			expired = cask;
			return ask(list, path, true);
		}
		return response.ok ? (await response.json())[list] : [];
	}

	const scores = () => ask<Score>('scores', '').catch(() => []);
	const segments = () => ask<Segment>('segments', '/segments').catch(() => []);

	const commands: { [Name in keyof Commands]: (value: Commands[Name]) => void } = {
		setAccount(value) {
			if (value !== aid) visitor = {};
			aid = value;
		},
		setServer(value) {
			if (typeof value !== 'string') throw Error('setServer: a URL is required');
			server = value.replace(/\/+$/, '');
		},
		setHitPath(value) {
			hitPath = value;
		},
		setCredentials(value) {
			credentials = value === true ? 'include' : 'same-origin';
		},
		setCookieDomain(value) {
			narrowDomain = value;
		},
		setPage(value) {
			named = encodeURI(`/${value}`).replace(/[?#]/g, encodeURIComponent);
			namedPath = location.pathname;
			navigated();
		},
		setRoutes(value) {
			routes = `${value}`.split(',');
		},
		addEvent(event) {
			const { name, tid, rvn, currency }: Partial<HitEvent> =
				typeof event === 'string' ? { name: event } : event || {};
			if (!name) throw Error('addEvent: a name is required');
			const known = { name, tid, rvn, currency };
			// What is no JSON must not keep the others from being sent.
			if (isAllowed() && json(known)) events.push(known);
		},
		addCustomerId(value) {
			if (isAllowed()) cid = value ? `${value}` : undefined;
		},
		setConsent(value) {
			const before = isConsented;
			// Whatever a consent manager says otherwise, such as 'denied', is none.
			isConsented = value === true;
			if (!isConsented) forget();
			else if (!before && wantsToFire) hit();
		},
		fire() {
			wantsToFire = true;
			hit();
		},
		scores(callback) {
			scores().then(callback);
		},
		segments(callback) {
			segments().then(callback);
		},
	};

	/** The tag must never break the page. */
	function safely(action: () => unknown): void {
		try {
			action();
		} catch (error) {
			tell((error as Error).message);
		}
	}

	function run({ 0: name, 1: value }: ArrayLike<unknown>): void {
		safely(() => {
			if (!Object.keys(commands).includes(name as string)) throw Error(`no command ${name}`);
			commands[name as 'setAccount'](value as string);
		});
	}

	function arrive(): void {
		routing = undefined;
		safely(() => wantsToFire && currentPage() !== sentPage && hit());
	}

	function navigated(): void {
		clearTimeout(routing);
		routing = setTimeout(arrive, routingMs);
	}

	/** Hands over what is left, in the middle of a route as well. The page is unloading, so no answer is read. */
	function leave(): void {
		safely(() => {
			if (routing) {
				clearTimeout(routing);
				arrive();
			}
			if (sentPage === undefined) return;
			if (events.length) take();
			while (unsent[0] && navigator.sendBeacon(server + hitPath, withVisitor(unsent[0]))) unsent.shift();
		});
	}

	const vscr = ((...command: unknown[]) => run(command)) as Vscr;
	vscr.scores = scores;
	vscr.segments = segments;
	window.vscr = vscr;

	if (isOut) safely(forget);
	else [unsent] = exchangeLeft();
	// Safari keeps it for seven days at a time.
	if (hasOptedOut) optOut(true);
	if (choice) alert(`Your visits are ${hasOptedOut ? 'not ' : ''}counted.`);
	safely(() => {
		for (const name of ['pushState', 'replaceState'] as const) {
			const original = history[name];
			history[name] = function (...state) {
				original.apply(this, state);
				navigated();
			};
		}
	});
	addEventListener('popstate', navigated);
	// Routers that use this one call neither of the others, and where a page keeps others from changing those, it tells of all.
	window.navigation?.addEventListener?.('currententrychange', navigated);
	addEventListener('pagehide', () => {
		leave();
		if (unsent[0] || sentPage !== undefined) exchangeLeft([unsent, previousUrl]);
		unsent = [];
	});
	addEventListener('visibilitychange', () => (document.hidden ? leave() : isDue && hit()));
	addEventListener('pageshow', ({ persisted }) => {
		// Restored from the back/forward cache: what brought the visitor here is the page that was left last.
		if (!persisted || !wantsToFire) return;
		[unsent, previousUrl] = exchangeLeft();
		sentPage = undefined;
		hit();
	});
	for (const command of early) run(command);
}

declare global {
	interface Navigator {
		readonly globalPrivacyControl?: boolean;
	}
}
