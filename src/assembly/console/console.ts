import { compareTexts } from '../../core/domain/compare-texts.ts';
import type { KnownAccount } from '../../core/store/control/control-store.ts';
import type { ConsolePart } from '../../kit/capability-declaration.ts';
import { asset } from '../../kit/console/assets.ts';
import type { Entrance } from '../../kit/console/entrance.ts';
import { type ConsoleAnswer, type ConsoleRequest, redirect } from '../../kit/console/exchange.ts';
import { pageAnswer } from '../../kit/console/layout.ts';
import type { PageRequest } from '../../kit/console/page.ts';
import { viewOf } from '../../kit/console/view.ts';
import { html } from '../../kit/format/html.ts';
import { may, type OpenSession } from '../../kit/person.ts';
import { accountFigures } from './account-figures.ts';
import { pageAnswering } from './answer-page.ts';
import type { ConsoleOptions } from './console-options.ts';
import { shownAgain, untilDue } from './in-time.ts';

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
/** Whoever sees more accounts gets their names. */
const maxCards = 12;

export function createConsole(options: ConsoleOptions): Console {
	const { store, directory, parts, now, onError, compute, waitMs = waitMsByDefault } = options;
	const entrance = parts.find((part) => part.entrance)?.entrance?.({ ...options, control: store.control });
	const { pages, routeOf } = routesOf(parts);
	const stopping = new AbortController();
	const ofAccount = accountFigures(options, waitMs, stopping.signal);
	const answerPage = pageAnswering(options, waitMs, ofAccount);

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
					told.catch(() => ['Its figures could not be calculated.']),
					waitMs,
				);
			}),
		);
		const body = html`<ul class="cards">${accounts.map(({ aid }, place) => {
			const told = place < maxCards && (made[place] ?? 'Its figures are being calculated.');
			return html`<li class="section"><h2><a href="/console/${aid}/">${aid}</a></h2>${told}</li>
`;
		})}</ul>`;
		const frame = { title: 'Accounts', asked, body };
		return made.includes(undefined) ? shownAgain(frame) : pageAnswer(200, frame);
	}

	function missing(asked: PageRequest): ConsoleAnswer {
		const body = html`<p class="problem" role="alert">This page does not exist, or you may not see it.</p>
<p><a href="/console/">Back to the overview</a></p>`;
		return pageAnswer(404, { title: 'Not found', asked, body });
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
