import type { AccessDirectory } from '../access/directory.ts';
import { formToken } from '../access/tokens.ts';
import { may } from '../domain/person.ts';
import { OperatorError, QueueFullError } from '../errors.ts';
import { type Html, html } from '../format/html.ts';
import { calendarOf } from '../reports/calendar.ts';
import { type DayNote, dayNotes } from '../reports/day-notes.ts';
import { reportedAccount } from '../reports/report-query.ts';
import type { MakeReport } from '../reports/report-runner.ts';
import type { StoredView } from '../store/control/control-store.ts';
import type { OpenStore } from '../store/store.ts';
import { asset } from './assets.ts';
import { Entrance, type EntranceSettings } from './entrance.ts';
import { type ConsoleAnswer, type ConsoleRequest, redirect } from './exchange.ts';
import { Kept } from './kept.ts';
import { layout } from './layout.ts';
import type { Asked, AskedOfAccount, ConsolePage } from './page.ts';
import { allPages } from './pages.ts';
import { KeptReports } from './reports.ts';
import { Trainings, type TrainModels } from './trainings.ts';
import { type View, viewOf } from './view.ts';

export interface ConsoleOptions extends EntranceSettings {
	readonly store: OpenStore;
	readonly directory: AccessDirectory;
	readonly makeReport: MakeReport;
	readonly train: TrainModels;
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

const pageHeaders = { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' } as const;

/** What is around the content of a page. */
interface PageFrame {
	readonly page: ConsolePage;
	readonly asked: Asked;
	readonly view: View | undefined;
	readonly namedViews: readonly StoredView[];
}

const waitMsByDefault = 900;
/** A page that is being made is asked for again after so long, and one whose figures change. */
const busyMs = 1000;
const liveMs = 15_000;
/** The part of that time, from the request on, for what a page can be without. */
const soonPart = 4;
const keptLateMs = 60_000;

export function createConsole(options: ConsoleOptions): Console {
	const { store, directory, now, monotonicMs, onError, waitMs = waitMsByDefault } = options;
	const entrance = new Entrance({ ...options, control: store.control });
	const kept = new Kept(monotonicMs);
	const reports = new KeptReports(options.makeReport, kept);
	const trainings = new Trainings(options.train, onError);
	/** Pages that were not ready in time, by who asked for which: the next request gets what this one has begun. */
	const late = new Map<string, ReturnType<NonNullable<ConsolePage['get']>>>();
	const routes = allPages.map((page) => ({ page, pattern: patternOf(page.path) }));

	async function answer(request: ConsoleRequest): Promise<ConsoleAnswer> {
		const found = asset(request.path);
		if (found) return found;
		const atEntrance = await entrance.answer(request);
		if (atEntrance) return atEntrance;
		const open = await entrance.signedIn(request);
		if (!open) return entrance.toSignIn(request);
		const all = {
			request,
			store,
			directory,
			now,
			...open,
			signIn: entrance.signIn,
			sso: entrance.sso,
			consoleUrl: entrance.consoleUrl,
			isFresh: entrance.isFresh(open),
			formToken: formToken(open.token),
			note: async () => {},
			query: new URLSearchParams(request.query),
			form: new URLSearchParams(request.form),
		};
		if (request.path === '/' || request.path === '/console' || request.path === '/console/') return home(all);
		for (const { page, pattern } of routes) {
			const parts = partsOf(pattern, request.path);
			if (!parts) continue;
			const account = parts.aid === undefined ? undefined : directory.account(parts.aid);
			const isForeign = parts.aid !== undefined && !(account && may(all.person, account.aid, 'aggregates'));
			if (isForeign) break;
			return answerPage(page, { ...all, parts, ...(account && { account }) });
		}
		return missing(all);
	}

	/** Leads to the first account that the person may see. */
	function home(asked: Omit<Asked, 'parts'>): ConsoleAnswer {
		const account = directory.accounts.find(({ aid }) => may(asked.person, aid, 'aggregates'));
		if (account) return redirect(`/console/${account.aid}/`);
		const body = html`<p class="empty">There is no account yet that you may see. An account is created with <code>npx caskade account create AID --client NAME</code>, and given to you with <code>npx caskade user grant</code>.</p>`;
		return shown(200, layout({ title: 'Accounts', asked: { ...asked, parts: {} }, pages: allPages, body }));
	}

	async function answerPage(page: ConsolePage, unnoted: Asked): Promise<ConsoleAnswer> {
		const { request, account, person } = unnoted;
		let notes = 0;
		const note: Asked['note'] = async (action, about) => {
			notes++;
			await store.control.audit.add({
				who: person.email,
				action,
				aid: account?.aid ?? null,
				about: about ?? null,
			});
		};
		const asked = { ...unnoted, note };
		if (page.right !== null && !may(person, account?.aid ?? null, page.right)) return refused(page, asked);
		const handle = request.method === 'POST' ? page.post : page.get;
		if (!handle) return problem(405, page, asked, 'This page cannot be asked for in this way.');
		if (request.method === 'POST' && !entrance.isOwnForm(request, asked.form, asked))
			return problem(
				403,
				page,
				asked,
				'This form has expired, or is not of this console. Go back, reload the page, and send it again.',
			);
		let view: View | undefined;
		try {
			if (account) view = viewOf(asked.query, account, now());
			const full = account && view ? { ...asked, ...ofAccount(account, view) } : asked;
			const isWrite = request.method === 'POST';
			// What is written must be known to be written.
			const made = await (isWrite
				? handle(full)
				: madeInTime(full, handle as NonNullable<ConsolePage['get']>));
			if (made === undefined) return waiting({ page, asked, view, namedViews: await namedViewsOf(asked) });
			// So that the page that it leads to shows it.
			if (isWrite) await directory.refresh();
			const frame = { page, asked, view, namedViews: await namedViewsOf(asked) };
			if ('unfinished' in made) return shownAgain(made.unfinished, frame);
			const isRefused = isWrite && !('status' in made || 'once' in made);
			// Whatever a page forgets to say of what it changed, that it did is known.
			if (isWrite && !isRefused && notes === 0) await note(`changed: ${page.title}`);
			if ('status' in made) return made;
			const body = 'once' in made ? made.once : made;
			const status = isRefused ? 400 : 200;
			const text = layout({ title: page.title, pages: allPages, ...frame, body });
			return { ...shown(status, text), ...(page.isLive && { againAfterMs: liveMs }) };
		} catch (error) {
			if (error instanceof OperatorError) return problem(400, page, asked, error.message, view);
			if (error instanceof QueueFullError)
				return problem(503, page, asked, 'Too many figures are being made. Try again in a minute.', view);
			onError(error, page.path);
			return problem(
				500,
				page,
				asked,
				`Something failed; the log of the server says what (${page.path}).`,
				view,
			);
		}
	}

	async function madeInTime(asked: Asked, get: NonNullable<ConsolePage['get']>) {
		const name = `${asked.session.hash} ${asked.request.path}?${asked.request.query}`;
		const making = late.get(name) ?? get(asked);
		const made = await untilDue(making, waitMs);
		late.delete(name);
		if (made === undefined) {
			late.set(name, making);
			// Nobody may ask again.
			setTimeout(() => late.get(name) === making && late.delete(name), keptLateMs).unref();
		}
		return made;
	}

	function ofAccount(
		account: NonNullable<Asked['account']>,
		view: View,
	): Omit<AskedOfAccount, keyof Asked> & Pick<AskedOfAccount, 'account'> {
		const beganMs = monotonicMs();
		const calendar = calendarOf(view.timezone);
		let notes: Promise<DayNote[]> | undefined;
		return {
			account,
			view,
			calendar,
			trainings,
			dayNotes: () => (notes ??= dayNotes(store.control, account.id, calendar)),
			report: (query) => reports.report(reportedAccount(account), query),
			kept: (key, make) => kept.value([account.id, key], make),
			soon: (making) => untilDue(making, Math.max(0, beganMs + waitMs / soonPart - monotonicMs())),
		};
	}

	function problem(
		status: number,
		page: ConsolePage,
		asked: Asked,
		message: string,
		view?: View,
	): ConsoleAnswer {
		const body = html`<p class="problem" role="alert">${message}</p>
<p><a href="${asked.request.path}">This page as it is at first</a></p>`;
		return shown(status, layout({ title: page.title, page, pages: allPages, asked, view, body }));
	}

	function refused(page: ConsolePage, asked: Asked): ConsoleAnswer {
		const body = html`<p class="problem" role="alert">Your role does not allow this. An administrator can change it on the page People.</p>`;
		return shown(403, layout({ title: page.title, pages: allPages, asked, body }));
	}

	function missing(asked: Omit<Asked, 'parts'>): ConsoleAnswer {
		const body = html`<p class="problem" role="alert">There is no such page, or you may not see it.</p>
<p><a href="/console/">To the first account</a></p>`;
		return shown(404, layout({ title: 'Not found', pages: allPages, asked: { ...asked, parts: {} }, body }));
	}

	/** Those that the person may see. */
	async function namedViewsOf({ account, person }: Asked): Promise<StoredView[]> {
		if (!account) return [];
		const views = await store.control.views.list(account.id, person.id);
		return views.filter(({ page }) => {
			const shownPage = allPages.find(({ path }) => path === `:aid/${page}`);
			return shownPage?.right != null && may(person, account.aid, shownPage.right);
		});
	}

	function waiting(frame: PageFrame): ConsoleAnswer {
		const body = html`<p class="empty" role="status">The figures of this page are being made. It appears by itself when they are ready.</p>`;
		return shownAgain(body, frame);
	}

	/**
	 * A page that the browser asks for again after a second. The header `Refresh` says so, not the markup, in which a checker
	 * of accessibility cannot tell a page that is being made from one that never stands still.
	 */
	function shownAgain(body: Html, frame: PageFrame): ConsoleAnswer {
		const { headers, ...rest } = shown(
			200,
			layout({ title: frame.page.title, pages: allPages, ...frame, isBusy: true, body }),
		);
		return { ...rest, headers: { ...headers, refresh: String(busyMs / 1000) }, againAfterMs: busyMs };
	}

	return {
		async answer(request) {
			const { headers, ...rest } = await answer(request).catch((error) => {
				onError(error, 'console');
				return shown(
					500,
					layout({ title: 'Error', body: html`<p class="problem">Something failed; the log says what.</p>` }),
				);
			});
			return { ...rest, headers: { ...alwaysHeaders, ...headers } };
		},
		stop: () => reports.stop(),
	};
}

function shown(status: number, body: string): ConsoleAnswer {
	return { status, headers: pageHeaders, body };
}

function patternOf(path: string): RegExp {
	const parts = path
		.split('/')
		.map((part) => (part.startsWith(':') ? `(?<${part.slice(1)}>[^/]+)` : part.replaceAll('.', '\\.')));
	return new RegExp(`^/console/${parts.join('/')}$`);
}

function partsOf(pattern: RegExp, path: string): Record<string, string> | undefined {
	const found = pattern.exec(path);
	if (!found) return undefined;
	try {
		return Object.fromEntries(
			Object.entries(found.groups ?? {}).map(([name, text]) => [name, decodeURIComponent(text)]),
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
