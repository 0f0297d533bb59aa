import { touchDimensions } from '../../../core/domain/touch.ts';
import { moneyOf } from '../../../core/format/money.ts';
import { formatNumber, formatShare } from '../../../core/format/numbers.ts';
import { aboveTables, answerOf, newWarnings, nothingIn, sectionOf } from '../../../kit/console/figures.ts';
import { noteForm } from '../../../kit/console/note-form.ts';
import { type AccountRequest, accountPage } from '../../../kit/console/page.ts';
import { tabs } from '../../../kit/console/page-table.ts';
import { linksOf, rowsPath } from '../../../kit/console/row-links.ts';
import { queryText, reportQueryOf, spanLengthOf } from '../../../kit/console/view.ts';
import { type Html, type HtmlValue, html } from '../../../kit/format/html.ts';
import { may } from '../../../kit/person.ts';
import type { FlatRow, Report } from '../../../kit/reports/report.ts';
import { sparkline } from '../../../kit/reports/report-curves.ts';
import { htmlTable } from '../../../kit/reports/report-drawing.ts';
import { bars } from '../../../kit/reports/report-rows.ts';
import { tableOf } from '../../../kit/reports/report-table.ts';
import { activityReport } from '../activity.ts';
import { attributionReport } from '../attribution.ts';
import { coverageReport } from '../coverage.ts';
import { firstSteps } from './first-steps.ts';
import { attention } from './report-attention.ts';

/** With the page that tells more, and the rows. */
const tiles = [
	['arrivals', 'Arrivals', 'attribution', null],
	['hits', 'Hits', 'attribution', null],
	['subscriptions', 'New subscriptions', 'attribution', { having: 'acquisition' }],
	['renewals', 'Renewals', 'retention', { having: 'renewal' }],
	['netPence', 'Net revenue', 'revenue', {}],
	['refundPence', 'Refunds', 'revenue', { having: 'refund' }],
] as const;

/** What came in, against the period before, and what needs attention. */
export const overviewPage = accountPage({
	path: ':aid/',
	title: 'Overview',
	menu: 'Overview',
	place: 1,
	right: 'aggregates',
	takesView: true,
	isLive: true,
	async get(asked) {
		const { view, now, account } = asked;
		const compare = view.from === null ? null : view.texts.compare === 'year' ? 'year' : 'previous';
		const every = spanLengthOf(view, now());
		const activity = await asked.report(reportQueryOf(activityReport, view, { compare, every }, now()));
		// It takes seconds where there are millions of touches.
		const crediting = asked.report(
			reportQueryOf(attributionReport, view, { compare, intervals: '0' }, now()),
		);
		// It knows no touches.
		const hasJoined = ![...touchDimensions, 'segment'].some((name) => view.texts[name]);
		const joining = hasJoined
			? asked.report(reportQueryOf(coverageReport, view, { compare, by: 'none' }, now()))
			: Promise.resolve(undefined);
		const [credited, joined] = await Promise.all([asked.soon(crediting), asked.soon(joining)]);
		const { compared: _, ...shownActivity } = activity;
		const steps = await firstSteps(asked);
		const top = html`${steps}${await attention(asked, joined)}`;
		if (activity.rows.length === 0 && (joined || !hasJoined))
			return html`${top}${!steps && html`<p class="empty">${await nothingIn(asked)}</p>`}`;
		const page = html`${top}
${compare !== null && comparisons(asked, compare)}
${answerOf(activity)}
${newWarnings(asked, activity)}
${totals(asked, activity, joined)}
${
	credited
		? channels(asked, credited)
		: html`<section class="section"><h2>Channels</h2><p class="empty" role="status">The credit of each channel is being calculated, and will appear here.</p></section>`
}
${await sectionOf(asked, activityReport, activity, { title: `What came in, by ${every}`, texts: { every }, tabled: shownActivity, isAnswered: false })}
${may(asked.person, account.aid, 'visitors') && noteForm(asked)}
<p class="note">Amounts are in ${account.currency}. ${compare === null ? '' : `Changes are measured against ${compare === 'year' ? 'the same weekdays a year earlier' : 'the previous period'}.`}</p>`;
		return credited && (joined || !hasJoined) ? page : { unfinished: page };
	},
});

/** What came in lately, of an account beside others. */
export async function accountCard(asked: AccountRequest): Promise<Html> {
	const query = reportQueryOf(activityReport, asked.view, { compare: 'previous' }, asked.now());
	return answerOf(await asked.report(query)) ?? html`<p>Nothing has come in during the last 28 days.</p>`;
}

function sum(report: Report | undefined, name: string): number | null {
	if (!report || report.rows.every((row) => row[name] == null)) return null;
	return report.rows.reduce((total, row) => total + Number(row[name] ?? 0), 0);
}

/** What changes are against. */
function comparisons({ request, view }: AccountRequest, compare: 'previous' | 'year'): Html {
	const tab = (name: 'previous' | 'year', text: string) =>
		[request.path + queryText(view, { compare: name }), text, name === compare] as const;
	return tabs([
		tab('previous', 'Compared with the previous period'),
		tab('year', 'Compared with a year earlier'),
	]);
}

/** The share of events that belong to a visitor. */
function joinedShare(report: Report | undefined): number | null {
	const [{ events, unjoined } = {}] = report?.rows ?? [];
	return typeof events === 'number' && events > 0 ? 1 - Number(unjoined) / events : null;
}

function totals(asked: AccountRequest, activity: Report, coverage: Report | undefined): Html {
	const [joined, joinedBefore] = [joinedShare(coverage), joinedShare(coverage?.compared)];
	const { account, view, person } = asked;
	const seesRows = may(person, account.aid, 'visitors');
	const money = moneyOf(account.currency);
	const shown = (name: string, value: number) =>
		unbroken(name.endsWith('Pence') ? money(value) : formatNumber(value));
	return html`<ul class="tiles" data-part="tiles">${tiles.map(([name, title, page, rows]) => {
		const [value, before] = [sum(activity, name), sum(activity.compared, name)];
		if (value === null) return null;
		const path =
			seesRows && rows
				? rowsPath(asked, rows, { row: {}, report: activity })
				: `/console/${account.aid}/${page}${queryText(view)}`;
		return html`<li><a href="${path}"><span class="name">${title}</span> <span class="value">${shown(name, value)}</span> ${before !== null && change(value, before, (of) => shown(name, of), name === 'refundPence')}${sparkline(wholeDays(activity).map((row) => Math.abs(Number(row[name] ?? 0))))}</a></li>
`;
	})}${
		joined !== null &&
		html`<li><a href="/console/${account.aid}/attribution${queryText(view)}#coverage"><span class="name">Events matched to a visitor</span> <span class="value">${formatShare(joined)}</span> ${joinedBefore !== null && html`<span class="change">from ${formatShare(joinedBefore)}</span>`}</a></li>
`
	}</ul>`;
}

/** Without the last day, week or month where it is not over: it would look like a fall. */
function wholeDays({ rows }: Report): Report['rows'] {
	return rows.at(-1)?.part ? rows.slice(0, -1) : rows;
}

/** A text that has no line between a minus and the sign of a currency. */
function unbroken(text: string): string {
	return text.replace('−', '−\u2060');
}

/** As a count, or in minor units: fewer are told as they are. */
const fewBefore = 30;

/** @param isLoss whether amounts are negative: then more of it is no gain */
function change(value: number, before: number, shown: (of: number) => string, isLoss = false): Html {
	if (before === 0) return html`<span class="change">before: ${shown(before)}</span>`;
	const share = (value - before) / Math.abs(before);
	const more = isLoss ? -share : share;
	const percent = Math.round(100 * Math.abs(more));
	const direction = percent === 0 ? '' : (isLoss ? share >= 0 : share > 0) ? 'up' : 'down';
	// A per cent of a few says little.
	const isOfFew = Math.abs(before) < fewBefore || percent > 100;
	const difference = percent > 0 && isOfFew ? shown(Math.abs(value - before)) : `${percent} %`;
	// A sign beside that of a loss is read as two.
	const [text, than] =
		percent > 0 && (isOfFew || isLoss)
			? [`${difference} ${more > 0 ? 'more' : 'less'}`, 'than']
			: [`${percent === 0 ? '±' : more > 0 ? '+' : '−'}${difference}`, 'from'];
	return html`<span class="change ${direction}">${text}</span> <span class="change">${than} ${shown(before)}</span>`;
}

const shownChannels = 8;

/** The channels that changed most. */
function channels(asked: AccountRequest, credited: Report): HtmlValue {
	const { account, view } = asked;
	const { compared } = credited;
	const key = (row: FlatRow) => String(row.channel);
	const rows = tableOf(attributionReport, credited);
	const earlier = new Map(
		(compared ? tableOf(attributionReport, compared) : []).map((row) => [key(row), row] as const),
	);
	const all = new Set([...rows.map(key), ...earlier.keys()]);
	const found = new Map(rows.map((row) => [key(row), row] as const));
	const table = [...all].map((channel): FlatRow & { netPence: number; changePence: number } => {
		const [now, before] = [found.get(channel), earlier.get(channel)];
		const netPence = Number(now?.netPence ?? 0);
		return {
			channel,
			arrivals: now?.arrivals ?? 0,
			subscriptions: now?.subscriptions ?? 0,
			netPence,
			changePence: netPence - Number(before?.netPence ?? 0),
		};
	});
	if (table.length === 0) return null;
	const sorted = table.toSorted((a, b) =>
		compared ? Math.abs(b.changePence) - Math.abs(a.changePence) : b.netPence - a.netPence,
	);
	const shown = sorted
		.slice(0, shownChannels)
		.map(({ changePence, ...row }): FlatRow => (compared ? { ...row, changePence } : row));
	const money = moneyOf(account.currency);
	const picture = compared
		? bars(shown, 'changePence', { title: 'Change of net revenue', money })
		: bars(shown, 'netPence', { title: 'Net revenue', money });
	return html`<section class="section"><h2>${compared ? 'Channels that changed most' : 'Channels'}</h2>
${answerOf(credited)}
${aboveTables(picture, htmlTable(shown, money, { subscriptions: { heading: 'new subscriptions' }, changePence: { heading: 'change' } }, { linkOf: linksOf(asked, attributionReport, credited) }))}
<p><a href="/console/${account.aid}/attribution${queryText(view)}">All channels</a></p></section>`;
}
