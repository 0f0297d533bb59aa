import { touchDimensions, touchNames } from '../../core/domain/touch.ts';
import { isoTime } from '../../core/format/iso-time.ts';
import { capitalised } from '../format/capitalised.ts';
import { type Html, type HtmlValue, html } from '../format/html.ts';
import { may } from '../person.ts';
import { addDays } from '../reports/calendar.ts';
import { periodText } from '../reports/report-table.ts';
import { scriptPaths, stylePath } from './assets.ts';
import type { ConsoleAnswer } from './exchange.ts';
import { hiddenFields, namesList } from './form.ts';
import { type NamedView, viewPath } from './links.ts';
import type { NameSuggestions } from './name-suggestions.ts';
import type { ConsolePage, PageRequest } from './page.ts';
import { nameOf, timeOf } from './page-table.ts';
import { saveViewForm } from './save-view-form.ts';
import { periodDays, queryText, type View } from './view.ts';

/** What is around the content of a page. */
export interface Frame {
	readonly title: string;
	/** Signed in; undefined on pages for everybody. */
	readonly asked?: PageRequest | undefined;
	readonly page?: ConsolePage | undefined;
	readonly view?: View | undefined;
	/** Pages of the account under a name. */
	readonly namedViews?: readonly NamedView[];
	/** What filters can be chosen from. */
	readonly known?: NameSuggestions | undefined;
	/** Figures of it are still being made. */
	readonly isBusy?: boolean;
	readonly body: HtmlValue;
}

/** A whole page. */
export function pageAnswer(status: number, frame: Frame): ConsoleAnswer {
	const { title, asked, page, view, isBusy, body } = frame;
	const account = asked?.account;
	const text = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}${account && ` · ${account.aid}`} · Caskade</title>
<link rel="stylesheet" href="${stylePath}">
${
	asked &&
	scriptPaths.map(
		(path) => html`<script type="module" src="${path}"></script>
`,
	)
}</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
${asked && menu(asked, frame)}
<main id="main"${isBusy && html` aria-busy="true"`}${(isBusy || page?.isLive) && html` data-live`}>
<div class="head"><h1>${title}</h1>
${view && asked && page?.takesView && [viewForm(asked, view, frame.known), printedHead(asked, view)]}</div>
${body}
${view && asked && page?.takesView && saveViewForm(asked)}
</main>
</body>
</html>
`;
	return {
		status,
		headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' },
		body: text.toString(),
	};
}

/** What is printed instead of forms. */
function printedHead({ account, now }: PageRequest, view: View): Html {
	const { period: _, from: _from, to: _to, ...filters } = view.texts;
	const chosen = Object.entries(filters).map(([name, value]) => `, ${name} ${value}`);
	return html`<p class="paper">${account?.aid}, ${periodText(view.from, view.to)} (${view.timezone})${chosen}. Printed ${timeOf(isoTime(now()))}.</p>`;
}

function menu(asked: PageRequest, { page: current, view, namedViews = [] }: Frame): Html {
	const { account, person, directory } = asked;
	const shown = (isOfAccount: boolean) => {
		const aid = isOfAccount ? account?.aid : null;
		const own = asked.pages.filter(({ menu, path }) => menu && path.startsWith(':aid') === isOfAccount);
		return own.filter(({ right }) => aid !== undefined && right !== null && may(person, aid, right));
	};
	const link = (page: ConsolePage) => {
		const path = page.path.replace(':aid', account?.aid ?? '');
		const query = page.takesView ? queryText(view) : '';
		return html`<li><a href="/console/${path}${query}"${page === current && html` aria-current="page"`}>${page.menu}</a></li>
`;
	};
	const others = directory.accounts.filter(
		({ aid }) => aid !== account?.aid && may(person, aid, 'aggregates'),
	);
	// The same figures of another account. Segments are an account's own, and parts of a path are.
	const samePage =
		current?.takesView && !current.path.slice(':aid/'.length).includes(':')
			? `${current.path.slice(':aid/'.length)}${queryText(view, { segment: null })}`
			: '';
	return html`<nav aria-label="Console">
<p class="brand"><a href="/console/">Caskade</a></p>
${account && html`<p class="account"><strong>${account.aid}</strong></p>`}
<label class="fold"><input type="checkbox"> Menu</label>
${
	account &&
	html`${[...Map.groupBy(shown(true), ({ right }) => right).values()].map((group) => html`<ul>${group.map(link)}</ul>`)}
${namedViews.length > 0 && html`<p class="hint">Views</p><ul>${namedViews.map((one) => html`<li><a href="${viewPath(account.aid, one)}">${nameOf(one.name)}</a></li>`)}</ul>`}`
}
${
	others.length > 0 &&
	html`<details${!account && html` open`}><summary>${account ? 'Other accounts' : 'Accounts'}</summary><ul>${others.map(({ aid }) => html`<li><a href="/console/${aid}/${samePage}">${aid}</a></li>`)}</ul></details>`
}
<ul>${shown(false).map(link)}</ul>
<form class="person" method="post" action="/console/sign-out">
<a href="/console/account">${person.email}</a>
${hiddenFields({ token: asked.formToken })}
<button>Sign out</button>
</form>
</nav>
`;
}

/** A zone may be any other. */
const usualTimezones = [
	'UTC',
	'Europe/London',
	'Europe/Berlin',
	'America/New_York',
	'America/Los_Angeles',
	'Asia/Tokyo',
	'Australia/Sydney',
];

/** The other properties of touches are shown where a link has chosen one. */
const usualFilters: ReadonlySet<string> = new Set(['channel', 'campaign']);

function viewForm(asked: PageRequest, view: View, known: Frame['known']): Html {
	const { request, account } = asked;
	const preset = (period: string, name: string) =>
		html`<a href="${request.path}${queryText(view, { from: null, to: null, period })}"${view.period === period && html` aria-current="true"`}>${name}</a> `;
	const field = (name: string, label: string, value: string | null | undefined, type = 'text') =>
		html`<label>${label} <input type="${type}" name="${name}" value="${value ?? ''}"${type === 'text' && html` list="${name}-names"`}></label>
`;
	const compared = view.texts.compare ?? '';
	const option = (value: string, name: string) =>
		html`<option value="${value}"${value === compared && html` selected`}>${name}</option>`;
	const shown = [
		...touchDimensions.filter((name) => usualFilters.has(name) || view.texts[name]),
		'evt',
	] as const;
	const labels = { ...touchNames, evt: 'event type' };
	return html`<form class="view" method="get" action="${request.path}">
<p class="presets">${periodDays.map((days) => preset(String(days), `${days} days`))}${preset('this-month', 'This month')}${preset('last-month', 'Last month')}${preset('all', 'All time')}<span class="zone">Days in ${view.timezone}</span></p>
<details${view.period === null && html` open`}><summary>Period and filters</summary>
${field('from', 'From', view.from, 'date')}${field('until', 'Last day', view.to && addDays(view.to, -1), 'date')}
<label>Compare <select name="compare">${option('', 'with nothing')}${option('previous', 'with the previous period')}${option('year', 'with a year earlier')}</select></label>
${shown.map((name) => [field(name, capitalised(labels[name]), view.texts[name]), namesList(name, known?.[name] ?? [])])}
<label>Segment <select name="segment"><option value="">all</option>${account?.segments.map(({ id, name }) => html`<option value="${id}"${id === view.texts.segment && html` selected`}>${name}</option>`)}</select></label>
<label>Mail gateways <select name="include"><option value="">left out</option><option value="gateways"${view.texts.include && html` selected`}>counted</option></select></label>
${field('timezone', 'Time zone', view.texts.timezone)}
<button>Show</button> <a href="${request.path}">Reset</a>
${namesList('timezone', [account?.timezone ?? 'UTC', ...usualTimezones])}
</details>
</form>`;
}
