import { OperatorError, QueueFullError } from '../../core/errors.ts';
import { concerned, demands, doneOf, refusedOf, runAct } from '../../kit/act.ts';
import { withLabels } from '../../kit/console/act-form.ts';
import type { Entrance } from '../../kit/console/entrance.ts';
import { addressOf, type ConsoleAnswer, redirect } from '../../kit/console/exchange.ts';
import { pageAnswer } from '../../kit/console/layout.ts';
import type { NamedView } from '../../kit/console/links.ts';
import { nameSuggestions } from '../../kit/console/name-suggestions.ts';
import {
	type AccountRequest,
	type ConsolePage,
	demandOf,
	NotAllowedError,
	type PageAnswer,
	type PageRequest,
} from '../../kit/console/page.ts';
import { withRefused } from '../../kit/console/refused-form.ts';
import { type View, viewOf } from '../../kit/console/view.ts';
import { html } from '../../kit/format/html.ts';
import { may } from '../../kit/person.ts';
import type { OfAccount } from './account-figures.ts';
import type { ConsoleOptions } from './console-options.ts';
import { doneOnce, leadingToDone } from './done-once.ts';
import { shownAgain, untilDue } from './in-time.ts';

/** How long a page that was not ready in time waits to be asked for again. */
const keptLateMs = 60_000;
/** A page whose figures change is asked for again after so long. */
const liveMs = 15_000;

/** Answers a request for a page of somebody who has signed in: rights, proof, acts with their entries in the audit log, deadline. */
export function pageAnswering(
	{ store, directory, now, monotonicMs, onError }: ConsoleOptions,
	waitMs: number,
	ofAccount: OfAccount,
) {
	/** Pages that were not ready in time, by who asked for which: the next request gets what this one has begun. */
	const late = new Map<string, Promise<PageAnswer>>();

	return async function answerPage(
		entrance: Entrance,
		page: ConsolePage,
		unnoted: PageRequest,
	): Promise<ConsoleAnswer> {
		const beganMs = monotonicMs();
		const { request, account, person } = unnoted;
		const { title } = page;
		const acting = actingOn(page, unnoted);
		const asked: PageRequest = { ...unnoted, ...acting.members };
		let view: View | undefined;
		let full = asked;
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
			if (isWrite) await asked.note(`refused: ${title}`);
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
			if (isWrite && !isRefused && !acting.isNoted()) await asked.note(`changed: ${title}`);
			const done = acting.done();
			if ('status' in made) return done === undefined ? made : leadingToDone(made, done);
			const body = 'once' in made ? made.once : made;
			const before = isWrite || request.isAnew ? undefined : doneOnce(request);
			const { headers, ...rest } = pageAnswer(isRefused ? 400 : 200, {
				...frame,
				body: [before?.text, body],
			});
			const more = 'once' in made ? made.headers : before?.headers;
			const shown = { ...rest, headers: { ...headers, ...more } };
			return page.isLive ? { ...shown, againAfterMs: liveMs } : shown;
		} catch (error) {
			if (error instanceof NotAllowedError) return problem(403, error.message);
			if (error instanceof OperatorError)
				return (isWrite && (await refused(error))) || problem(400, error.message);
			if (error instanceof QueueFullError)
				return problem(503, 'Too many figures are being calculated. Try again in a minute.');
			onError(error, page.path);
			return problem(500, `Something failed; the log of the server says what (${page.path}).`);
		}
	};

	/** How a page acts, and what it has done. */
	function actingOn(page: ConsolePage, { account, person, form }: PageRequest) {
		let notes = 0;
		let done: string | undefined;
		const note = async (action: string, about?: string, aid = account?.aid ?? null) => {
			notes++;
			await store.control.audit.add({ who: person.email, action, aid, about: about ?? null });
		};
		const act: PageRequest['act'] = async (of, given, acted = account) => {
			notes++;
			const taken = demandOf(page, form.get('action') ?? '');
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
		return { members: { note, act }, isNoted: () => notes > 0, done: () => done };
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
}

/** Those of the account that the person may see. */
async function namedViewsOf(
	entrance: Entrance,
	{ account, person, pages }: PageRequest,
): Promise<NamedView[]> {
	if (!account) return [];
	const views = await entrance.views(account.id, person);
	return views.filter(({ page }) => {
		const right = pages.find(({ path }) => path === `:aid/${page}`)?.right;
		return right !== undefined && may(person, account.aid, right);
	});
}

const foreignForm =
	'This form has expired, or was not sent by this console. Go back, reload the page, and send it again.';

const beingMade = html`<p class="empty" role="status">The figures are being calculated. The page will appear when they are ready.</p>`;

/** What a form asks for. */
function actionOf({ actions = {} }: ConsolePage, form: URLSearchParams) {
	const name = form.get('action') ?? '';
	const act = Object.hasOwn(actions, name) && actions[name];
	if (!act) throw new OperatorError('The form names nothing that this page can do.');
	return { name, act };
}
