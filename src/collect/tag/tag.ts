import { cookie, deleteCookies, isOptedOut, keepCookies, optOut, seedOf } from './cookies.ts';
import type { HitAnswer, HitEvent, Score, Segment, Vscr } from './vscr.ts';

/** The host rejects hits with more. */
const maxEvents = 20;

// Runs once, even if the page includes the tag twice.
if (!window.vscr?.scores) start(window.vscr?.q ?? []);

function start(early: readonly ArrayLike<unknown>[]): void {
	const script = document.currentScript as HTMLScriptElement | null;
	let server = script ? script.src.replace(/\/[^/?]*(\?.*)?$/, '') : '';
	let hitPath = '/hit';
	let aid: string | undefined;
	let cid: string | undefined;
	let events: HitEvent[] = [];
	let isConsented = true;
	let wantsToFire = false;
	/** The page of the latest hit. The page itself is sent once; later hits on it send only events. */
	let sentPath: string | undefined;
	/** The referrer, also after navigation that loads no new document. */
	let previousUrl = document.referrer;
	/** The latest answer. It replaces the cookies where they are blocked. */
	let visitor: Partial<HitAnswer> = {};
	/** Replaces the cookie likewise. */
	let seed: string | undefined;
	let begin: (() => void) | undefined;
	/** Serialises hits: the second needs the `vid` that the first one receives. */
	let hits: Promise<unknown> = new Promise<void>((resolve) => {
		begin = resolve;
	});

	/** Lines in the console. A page may do the same wrong thing a thousand times. */
	const told = new Set<string>();
	function tell(line: string): void {
		if (!told.has(line)) console.warn(`vscr: ${line}`);
		told.add(line);
	}

	const asksNotTo =
		navigator.globalPrivacyControl || navigator.doNotTrack === '1' || window.doNotTrack === '1';
	// A link of the site with this behind it, for its own people: their browser is not counted from then on.
	const choice = /^#vscr-(off|on)$/.exec(location.hash)?.[1];
	if (choice) optOut(choice === 'off');
	const isOut = isOptedOut();
	const isAllowed = () => isConsented && !asksNotTo && !isOut;

	function forget(): void {
		visitor = {};
		seed = undefined;
		events = [];
		cid = undefined;
		sentPath = undefined;
		deleteCookies();
	}

	/** Builds a hit from the page and takes the queued events. The host rejects longer ones. */
	function takeHit(): object {
		const { pathname } = location;
		const url = location.href.replace(/#.*/, '').slice(0, 4000);
		const referrer = previousUrl.slice(0, 4000);
		const page = sentPath === pathname ? {} : { url, referrer, title: document.title.slice(0, 500) };
		sentPath = pathname;
		previousUrl = url;
		return { ...page, events: events.splice(0, maxEvents), cid };
	}

	function withVisitor(taken: object): string {
		const vid = cookie('vid') || visitor.vid;
		if (!vid) seed = seedOf(seed);
		return JSON.stringify({
			aid,
			vid,
			firstVid: cookie('first') || visitor.firstVid,
			seed: vid ? undefined : seed,
			cookieDomain: '',
			sid: cookie('sid') || visitor.sid,
			...taken,
		});
	}

	async function post(taken: object): Promise<void> {
		if (!isAllowed()) return;
		// `text/plain` needs no preflight.
		const options: RequestInit = { method: 'POST', keepalive: true, credentials: 'same-origin' };
		const response = await fetch(server + hitPath, { ...options, body: withVisitor(taken) });
		if (!response.ok) return tell(await refusalOf(response));
		if (response.headers.get('x-hit-stored') === '0')
			tell(
				'hits of this browser are not stored: it counts as a bot, as headless browsers do, or its network is ignored',
			);
		const answer: HitAnswer = await response.json();
		// Consent may have been withdrawn while the hit was in flight.
		if (!isAllowed()) return;
		visitor = answer;
		keepCookies(answer);
	}

	async function refusalOf(response: Response): Promise<string> {
		const { message, validationErrors } = await response.json().catch(() => ({}));
		if (message === 'Forbidden') return `the account ${aid} does not allow pages of ${location.origin}`;
		const detail = validationErrors === 'Invalid account' ? message : validationErrors || message;
		return `the hit was refused: ${detail || `status ${response.status}`}`;
	}

	function hit(): void {
		// A prerendered page may never be seen.
		if (document.prerendering) document.addEventListener('prerenderingchange', () => begin?.());
		else begin?.();
		if (!aid) tell('setAccount comes before fire');
		if (asksNotTo) tell('nothing is sent: this browser asks not to be tracked');
		if (isOut) tell('nothing is sent: this browser has opted out by #vscr-off');
		if (!aid || !isAllowed()) return;
		const taken = takeHit();
		hits = hits.then(() => post(taken)).catch(({ message }) => tell(`no answer to the hit: ${message}`));
		if (events.length) hit();
	}

	async function read<Entry>(path: string, list: string, again?: boolean): Promise<Entry[]> {
		if (!isAllowed()) return [];
		await hits;
		if (!visitor.cask || !isAllowed()) return [];
		const response = await fetch(`${server}/${path}?cask=${visitor.cask}`, { credentials: 'omit' });
		if (response.status === 401 && !again) {
			hit();
			return read(path, list, true);
		}
		return response.ok ? (await response.json())[list] : [];
	}

	const scores = () => read<Score>('visscores', 'scores').catch(() => []);
	const segments = () => read<Segment>('visscores/segments', 'segments').catch(() => []);

	const commands = {
		setAccount(value: string) {
			aid = value;
		},
		setServer(value: string) {
			if (typeof value !== 'string') throw Error('setServer: a URL is required');
			server = value.replace(/\/+$/, '');
		},
		setHitPath(value: string) {
			hitPath = value;
		},
		addEvent(event: string | HitEvent) {
			const { name, tid, rvn, currency }: Partial<HitEvent> =
				typeof event === 'string' ? { name: event } : event || {};
			if (!name) throw Error('addEvent: an event needs a name');
			if (isAllowed()) events.push({ name, tid, rvn, currency });
		},
		addCustomerId(value: string) {
			if (isAllowed()) cid = value;
		},
		setConsent(value: boolean) {
			const before = isConsented;
			isConsented = value;
			if (!value) forget();
			else if (!before && wantsToFire) hit();
		},
		fire() {
			wantsToFire = true;
			hit();
		},
		scores(callback: (scores: Score[]) => void) {
			scores().then(callback);
		},
		segments(callback: (segments: Segment[]) => void) {
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
			if (!Object.keys(commands).includes(name as string)) throw Error(`there is no command ${name}`);
			commands[name as 'setAccount'](value as string);
		});
	}

	function navigated(): void {
		// Deferred: a router may redirect again, and sets the title later.
		setTimeout(() => {
			if (wantsToFire && location.pathname !== sentPath) hit();
		});
	}

	/** Sends events that were added after the last hit. The page is unloading, so the answer is not read. */
	function leave(): void {
		safely(() => {
			while (sentPath && events.length && isAllowed()) {
				const some = events.slice(0, maxEvents);
				if (navigator.sendBeacon(server + hitPath, withVisitor(takeHit()))) continue;
				events.unshift(...some);
				return;
			}
		});
	}

	const vscr: Vscr = (...command) => run(command);
	vscr.scores = scores;
	vscr.segments = segments;
	window.vscr = vscr;

	if (asksNotTo || isOut) safely(forget);
	// Safari keeps it for seven days at a time.
	if (isOut) optOut(true);
	if (choice) alert(isOut ? 'Your visits are not counted.' : 'Your visits are counted again.');
	for (const name of ['pushState', 'replaceState'] as const) {
		const original = history[name];
		history[name] = function (...state) {
			original.apply(this, state);
			navigated();
		};
	}
	addEventListener('popstate', navigated);
	addEventListener('pagehide', leave);
	addEventListener('visibilitychange', () => document.hidden && leave());
	addEventListener('pageshow', ({ persisted }) => {
		// Restored from the back/forward cache.
		if (!persisted || !wantsToFire) return;
		sentPath = undefined;
		hit();
	});
	for (const command of early) run(command);
}
