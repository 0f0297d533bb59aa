import type { AccessDirectory } from '../../core/access/directory.ts';
import { compareTexts } from '../../core/domain/compare-texts.ts';
import { OperatorError, QueueFullError } from '../../core/errors.ts';
import type { KnownAccount } from '../../core/store/control/control-store.ts';
import type { OpenStore } from '../../core/store/store.ts';
import { concerned, demands, doneOf, refusedOf, runAct } from '../../kit/act.ts';
import type { ConsolePart } from '../../kit/capability-declaration.ts';
import { withLabels } from '../../kit/console/act-form.ts';
import { asset } from '../../kit/console/assets.ts';
import type { Entrance, EntranceSettings } from '../../kit/console/entrance.ts';
import { addressOf, type ConsoleAnswer, type ConsoleRequest, redirect } from '../../kit/console/exchange.ts';
import { type Frame, pageAnswer } from '../../kit/console/layout.ts';
import type { NamedView } from '../../kit/console/links.ts';
import { nameSuggestions } from '../../kit/console/name-suggestions.ts';
import {
	type AccountRequest,
	type ComputeInBackground,
	type ConsolePage,
	demandOf,
	NotAllowedError,
	type PageAnswer,
	type PageRequest,
} from '../../kit/console/page.ts';
import { withRefused } from '../../kit/console/refused-form.ts';
import { type View, viewOf } from '../../kit/console/view.ts';
import { html } from '../../kit/format/html.ts';
import { may, type OpenSession } from '../../kit/person.ts';
import { calendarOf } from '../../kit/reports/calendar.ts';
import { type DayNote, dayNotes } from '../../kit/reports/day-notes.ts';
import { FairQueue } from '../../kit/reports/fair-queue.ts';
import { reportedAccount } from '../../kit/reports/report-query.ts';
import { KeptAnswers } from './kept-answers.ts';

export interface ConsoleOptions extends EntranceSettings {
	readonly store: OpenStore;
	readonly directory: AccessDirectory;
	/** What capabilities add. */
	readonly parts: readonly ConsolePart[];
	readonly compute: ComputeInBackground;
	readonly now: () => number;
	readonly monotonicMs: () => number;
	/** Something failed that is no fault of the request. */
	readonly onError: (error: unknown, path: string) => void;
	/** A page that is not ready by then says so, and is asked for again. */
	readonly waitMs?: number;
}

/** The web console: answers a request with a page. It listens nowhere. */
export interface Console {
	answer(request: ConsoleRequest): Promise<ConsoleAnswer>;
	stop(): void;
}

/** Everything comes from the console itself, without inline scripts and styles, and no other page may show it in a frame. */
const policy =
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const alwaysHeaders = {
	'content-security-policy': policy,
	'x-content-type-options': 'nosniff',
	'referrer-policy': 'same-origin',
	'cross-origin-opener-policy': 'same-origin',
	'cross-origin-resource-policy': 'same-origin',
} as const;

const waitMsByDefault = 450;
/** A page that is being made is asked for again after so long, and one whose figures change. */
const busyMs = 1000;
const liveMs = 15_000;
/** The part of that time, from the request on, for what a page can be without. */
const soonPart = 4;
const keptLateMs = 60_000;
/** Whoever sees more accounts gets their names. */
const maxCards = 12;
/** Of one account. They are made one at a time. */
const maxWaitingReports = 100;

export function createConsole(options: ConsoleOptions): Console {
	const { store, directory, parts, now, monotonicMs, onError, compute, waitMs = waitMsByDefault } = options;
	const entrance = parts.find((part) => part.entrance)?.entrance?.({ ...options, control: store.control });
	const { pages, routeOf } = routesOf(parts);
	const kept = new KeptAnswers(monotonicMs);
	const making = new FairQueue<number>(maxWaitingReports);
	const stopping = new AbortController();
	/** Pages that were not ready in time, by who asked for which: the next request gets what this one has begun. */
	const late = new Map<string, Promise<PageAnswer>>();

	async function answer(request: ConsoleRequest): Promise<ConsoleAnswer> {
		// Nothing is stored or found by the character 0.
		if (/%00|\0/.test([request.path, request.query, request.form].join(' ')))
			return pageAnswer(400, {
				title: 'Error',
				body: html`<p class="problem">No field can have a character of the code 0.</p>`,
			});
		const forAll = asset(request.path) ?? (await entrance?.answer(request));
		if (forAll) return forAll;
		if (!entrance)
			return pageAnswer(404, { title: 'Not found', body: html`<p>Nobody can sign in here.</p>` });
		const open = await entrance.signedIn(request);
		if (!open) return entrance.toSignIn(request, routeOf(request.path)?.page.get !== undefined);
		return { ...(await answerSignedIn(entrance, request, open)), personId: open.person.id };
	}

	async function answerSignedIn(
		entrance: Entrance,
		request: ConsoleRequest,
		open: OpenSession,
	): Promise<ConsoleAnswer> {
		const asked: PageRequest = {
			request,
			pages,
			store,
			directory,
			now,
			compute,
			onError,
			...open,
			...entrance.known(request, open),
			consoleUrl: options.consoleUrl,
			tagUrl: options.tagUrl,
			note: async () => {},
			act: async () => {
				throw new Error('only a page acts');
			},
			parts: {},
			query: new URLSearchParams(request.query),
			form: new URLSearchParams(request.form),
		};
		if (['/', '/console', '/console/'].includes(request.path)) return home(entrance, asked);
		const { page, parts } = routeOf(request.path) ?? {};
		if (!page || !parts) return missing(asked);
		if (parts.aid === undefined) return answerPage(entrance, page, { ...asked, parts });
		const account = directory.account(parts.aid);
		if (!account || !may(asked.person, account.aid, 'aggregates')) return missing(asked);
		if (!request.isAnew) await entrance.rememberAid(asked.person, account.aid);
		return answerPage(entrance, page, { ...asked, parts, account });
	}

	/** Leads to the account of a person who sees one; whoever sees several gets a card for each, the one that was opened last first. */
	async function home(entrance: Entrance, asked: PageRequest): Promise<ConsoleAnswer> {
		const last = await entrance.lastAid(asked.person);
		const visible = directory.accounts.filter(({ aid }) => may(asked.person, aid, 'aggregates'));
		const [first, ...others] = visible.toSorted(
			(a, b) => Number(b.aid === last) - Number(a.aid === last) || compareTexts(a.aid, b.aid),
		);
		if (first && others.length > 0) return cards(asked, [first, ...others]);
		if (first) return redirect(`/console/${first.aid}/`);
		const body = html`<p class="empty">There is no account yet that you may see. An account is created with <code>caskade account create AID --client NAME</code>, and given to you with <code>caskade user grant</code>.</p>`;
		return pageAnswer(200, { title: 'Accounts', asked, body });
	}

	/** A card for each account, with what capabilities tell of it. */
	async function cards(asked: PageRequest, accounts: readonly KnownAccount[]): Promise<ConsoleAnswer> {
		const made = await Promise.all(
			accounts.slice(0, maxCards).map((account) => {
				const full = { ...asked, ...ofAccount(account, viewOf(new URLSearchParams(), account, now())) };
				const told = Promise.all(parts.map(({ cardOf }) => cardOf?.(full)));
				return untilDue(
					told.catch(() => ['Its figures could not be made.']),
					waitMs,
				);
			}),
		);
		const body = html`<ul class="cards">${accounts.map(({ aid }, place) => {
			const told = place < maxCards && (made[place] ?? 'Its figures are being made.');
			return html`<li class="section"><h2><a href="/console/${aid}/">${aid}</a></h2>${told}</li>
`;
		})}</ul>`;
		const frame = { title: 'Accounts', asked, body };
		return made.includes(undefined) ? shownAgain(frame) : pageAnswer(200, frame);
	}

	function missing(asked: PageRequest): ConsoleAnswer {
		const body = html`<p class="problem" role="alert">There is no such page, or you may not see it.</p>
<p><a href="/console/">To your account</a></p>`;
		return pageAnswer(404, { title: 'Not found', asked, body });
	}

	async function answerPage(
		entrance: Entrance,
		page: ConsolePage,
		unnoted: PageRequest,
	): Promise<ConsoleAnswer> {
		const beganMs = monotonicMs();
		const { request, account, person } = unnoted;
		let notes = 0;
		let done: string | undefined;
		const note = async (action: string, about?: string, aid = account?.aid ?? null) => {
			notes++;
			await store.control.audit.add({ who: person.email, action, aid, about: about ?? null });
		};
		const act: PageRequest['act'] = async (of, given, acted = account) => {
			notes++;
			const taken = demandOf(page, unnoted.form.get('action') ?? '');
			if (demands.indexOf(taken) < demands.indexOf(of.demand ?? 'proof'))
				throw new Error(`${page.path} does ${of.noun} ${of.verb} for less than that takes`);
			const aid = acted?.aid ?? null;
			if (!may(person, aid, of.right)) {
				await note(refusedOf(of), concerned(of.takes, given) ?? undefined, aid);
				throw new NotAllowedError();
			}
			try {
				const result = await runAct(of, person.email, { store, account: acted as never }, given);
				done = doneOf(of, given);
				return result;
			} catch (error) {
				if (error instanceof OperatorError) error.message = withLabels(of.takes, error.message);
				throw error;
			}
		};
		const asked = { ...unnoted, note, act };
		const { title } = page;
		let view: View | undefined;
		let full: PageRequest = asked;
		const problem = (status: number, message: string) => {
			const body = html`<p class="problem" role="alert">${message}</p>
<p><a href="${request.path}">Back to the page</a></p>`;
			return pageAnswer(status, { title, page, asked, view, body });
		};
		/** The page with its form as it was sent. */
		const refused = async ({ message }: OperatorError) => {
			// Whoever has typed something does not wait for figures.
			const shown = page.get && (await untilDue(page.get(full), waitMs).catch(() => undefined));
			if (!shown || 'status' in shown || 'missing' in shown) return undefined;
			const body = 'unfinished' in shown ? shown.unfinished : shown;
			const answer = pageAnswer(400, { title, page, asked, view, body });
			const text = html`<p class="problem" role="alert" tabindex="-1" autofocus>${message}</p>`;
			const refilled = withRefused(answer.body, asked.form, text);
			return refilled === undefined ? undefined : { ...answer, body: refilled };
		};
		const isWrite = request.method === 'POST';
		// A form of filters sends what nobody has chosen, too.
		const given = [...unnoted.query].filter(([, value]) => value !== '');
		if (!isWrite && page.takesView && given.length < unnoted.query.size)
			return redirect(`${request.path}${given.length > 0 ? `?${new URLSearchParams(given)}` : ''}`);
		if (!may(person, account?.aid ?? null, page.right)) {
			if (isWrite) await note(`refused: ${title}`);
			const body = html`<p class="problem" role="alert">${new NotAllowedError().message}</p>`;
			return pageAnswer(403, { title, asked, body });
		}
		if (!(isWrite ? page.actions : page.get))
			return problem(405, 'This page cannot be asked for in this way.');
		if (isWrite && !entrance.isOwnForm(request, asked.form, asked)) return problem(403, foreignForm);
		try {
			if (account) view = viewOf(asked.query, account, now());
			if (account && view) full = { ...asked, ...ofAccount(account, view) };
			const action = isWrite ? actionOf(page, asked.form) : undefined;
			const missing = await entrance.missingProof(full, page, action?.name ?? 'get');
			if (missing) return pageAnswer(403, { title, page, asked, view, body: missing });
			// What is written must be known to be written.
			const made = await (action
				? action.act(full).then((shown) => shown ?? redirect(addressOf(request)))
				: madeInTime(page, full, beganMs));
			// So that the page that it leads to shows it.
			if (isWrite) await directory.refresh();
			const known = page.takesView && view ? await nameSuggestions(full as AccountRequest) : undefined;
			const frame = { title, page, asked, view, known, namedViews: await namedViewsOf(entrance, asked) };
			if (made === undefined) return shownAgain({ ...frame, body: beingMade });
			if ('missing' in made) return pageAnswer(404, { ...frame, body: made.missing });
			if ('unfinished' in made) return shownAgain({ ...frame, body: made.unfinished });
			const isRefused = isWrite && !('status' in made || 'once' in made);
			// Whatever a page forgets to say of what it changed, that it did is known.
			if (isWrite && !isRefused && notes === 0) await note(`changed: ${title}`);
			if ('status' in made) return done === undefined ? made : toldOnce(made, done);
			const body = 'once' in made ? made.once : made;
			const told = isWrite || request.isAnew ? undefined : toldBy(request);
			const { headers, ...rest } = pageAnswer(isRefused ? 400 : 200, {
				...frame,
				body: [told && toldText(told), body],
			});
			const more = 'once' in made ? made.headers : told && { 'set-cookie': toldCookie('', 0) };
			const shown = { ...rest, headers: { ...headers, ...more } };
			return page.isLive ? { ...shown, againAfterMs: liveMs } : shown;
		} catch (error) {
			if (error instanceof NotAllowedError) return problem(403, error.message);
			if (error instanceof OperatorError)
				return (isWrite && (await refused(error))) || problem(400, error.message);
			if (error instanceof QueueFullError)
				return problem(503, 'Too many figures are being made. Try again in a minute.');
			onError(error, page.path);
			return problem(500, `Something failed; the log of the server says what (${page.path}).`);
		}
	}

	/** @returns undefined where the page is not ready in time; the next request for it gets what is being made */
	async function madeInTime(
		page: ConsolePage,
		asked: PageRequest,
		beganMs: number,
	): Promise<PageAnswer | undefined> {
		const name = `${asked.session.hash} ${asked.request.path}?${asked.request.query}`;
		const making = late.get(name) ?? (page.get?.(asked) as Promise<PageAnswer>);
		const made = await untilDue(making, Math.max(0, beganMs + waitMs - monotonicMs()));
		late.delete(name);
		if (made === undefined) {
			late.set(name, making);
			// Nobody may ask again.
			setTimeout(() => late.get(name) === making && late.delete(name), keptLateMs).unref();
		}
		return made;
	}

	function ofAccount(
		account: NonNullable<PageRequest['account']>,
		view: View,
	): Omit<AccountRequest, Exclude<keyof PageRequest, 'account'>> {
		const beganMs = monotonicMs();
		const calendar = calendarOf(view.timezone);
		const { signal } = stopping;
		let notes: Promise<DayNote[]> | undefined;
		const reported = reportedAccount(account);
		const { models, goals } = account;
		const inTurn: ComputeInBackground = (job) =>
			making.run(account.id, signal, () => compute(job, { signal, isKept: true }));
		return {
			account,
			view,
			calendar,
			dayNotes: () => (notes ??= dayNotes(store.control, account.id, calendar)),
			report: (query) =>
				kept.value(['report', reported, query], async () =>
					JSON.parse(await inTurn({ type: 'report', account: reported, query })),
				),
			computed: (job) => kept.value([job, models, goals], () => inTurn(job)),
			attention: async (asked) =>
				(await Promise.all(parts.map((part) => part.attention?.(asked) ?? []))).flat(),
			kept: (key, make) => kept.value([account.id, key], make),
			soon: (making) => untilDue(making, Math.max(0, beganMs + waitMs / soonPart - monotonicMs())),
		};
	}

	/** Those that the person may see. */
	async function namedViewsOf(entrance: Entrance, { account, person }: PageRequest): Promise<NamedView[]> {
		if (!account) return [];
		const views = await entrance.views(account.id, person);
		return views.filter(({ page }) => {
			const right = pages.find(({ path }) => path === `:aid/${page}`)?.right;
			return right !== undefined && may(person, account.aid, right);
		});
	}

	return {
		async answer(request) {
			const { headers, ...rest } = await answer(request).catch((error) => {
				onError(error, 'console');
				const body = html`<p class="problem">Something failed; the log says what.</p>`;
				return pageAnswer(500, { title: 'Error', body });
			});
			return { ...rest, headers: { ...alwaysHeaders, ...headers } };
		},
		stop: () => stopping.abort(new Error('the console is stopping')),
	};
}

/** What was done, which the page that an act leads to says once. */
const toldCookie = (done: string, seconds: number) =>
	`caskade-done=${encodeURIComponent(done)}; Path=/console; Max-Age=${seconds}; HttpOnly; SameSite=Strict`;
const toldText = (done: string) => html`<p class="note" role="status">Done: ${done}.</p>`;

function toldOnce({ headers, ...rest }: ConsoleAnswer, done: string): ConsoleAnswer {
	const isLed = rest.status === 303 && !('set-cookie' in headers);
	return { ...rest, headers: isLed ? { ...headers, 'set-cookie': toldCookie(done, 20) } : headers };
}

/** Others may set cookies for this host: nothing but words of acts is taken. */
function toldBy({ headers }: ConsoleRequest): string | undefined {
	return /(?:^|; )caskade-done=((?:[a-z-]|%20)+)/.exec(headers.cookie ?? '')?.[1]?.replaceAll('%20', ' ');
}

const foreignForm =
	'This form has expired, or is not of this console. Go back, reload the page, and send it again.';

const beingMade = html`<p class="empty" role="status">The figures are being made. The page appears by itself when they are ready.</p>`;

/** What a form asks for. */
function actionOf({ actions = {} }: ConsolePage, form: URLSearchParams) {
	const name = form.get('action') ?? '';
	const act = Object.hasOwn(actions, name) && actions[name];
	if (!act) throw new OperatorError('The form names nothing that this page can do.');
	return { name, act };
}

/**
 * A page that the browser asks for again after a second. The header `Refresh` says so, not the markup, in which a checker
 * of accessibility cannot tell a page that is being made from one that never stands still.
 */
function shownAgain(frame: Frame): ConsoleAnswer {
	const { headers, ...rest } = pageAnswer(200, { ...frame, isBusy: true });
	return { ...rest, headers: { ...headers, refresh: String(busyMs / 1000) }, againAfterMs: busyMs };
}

/** All pages, in the order of the menu, and what finds the page of a path with its named parts. */
function routesOf(parts: readonly ConsolePart[]) {
	const last = Number.POSITIVE_INFINITY;
	const pages = parts
		.flatMap((part) => part.pages)
		.sort((a, b) => (a.place === b.place ? 0 : (a.place ?? last) - (b.place ?? last)));
	const routes = pages.map((page) => ({
		page,
		pattern: new URLPattern({ pathname: `/console/${page.path}` }),
	}));
	const routeOf = (path: string) => {
		for (const { page, pattern } of routes) {
			const groups = pattern.exec({ pathname: path })?.pathname.groups;
			if (groups) return { page, parts: decoded(groups) };
		}
		return undefined;
	};
	return { pages, routeOf };
}

function decoded(parts: Readonly<Record<string, string | undefined>>): Record<string, string> | undefined {
	try {
		return Object.fromEntries(
			Object.entries(parts).map(([name, text = '']) => [name, decodeURIComponent(text)]),
		);
	} catch {
		return undefined;
	}
}

/** @returns undefined where it takes longer; it goes on, and its figures are kept */
async function untilDue<Made>(making: Promise<Made>, waitMs: number): Promise<Made | undefined> {
	const { promise, resolve } = Promise.withResolvers<undefined>();
	const timer = setTimeout(() => resolve(undefined), waitMs);
	try {
		return await Promise.race([making, promise]);
	} finally {
		clearTimeout(timer);
		making.catch(() => {});
	}
}
