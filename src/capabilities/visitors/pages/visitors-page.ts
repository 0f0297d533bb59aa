import { touchDimensions, touchNames } from '../../../core/domain/touch.ts';
import { moneyOf } from '../../../core/format/money.ts';
import { formatNumber } from '../../../core/format/numbers.ts';
import { profilesOf } from '../../../core/store/account/reading/visitors.ts';
import { redirect } from '../../../kit/console/exchange.ts';
import { gatewaysNote } from '../../../kit/console/gateways-note.ts';
import { customerPath, eventPath, visitorPath } from '../../../kit/console/links.ts';
import { type AccountRequest, accountPage } from '../../../kit/console/page.ts';
import { nameOf, sortedTable } from '../../../kit/console/page-table.ts';
import { includeOf, queryText } from '../../../kit/console/view.ts';
import { type Html, html } from '../../../kit/format/html.ts';
import { may } from '../../../kit/person.ts';
import { eventsWith, type TracedEvent } from '../../../kit/reading/event-finding.ts';
import { gatewaysOf } from '../../../kit/reading/gateways.ts';
import { hitsBefore } from '../../../kit/reading/histories.ts';
import { visitorsWith } from '../../../kit/reading/visitor-finding.ts';
import { addDays } from '../../../kit/reports/calendar.ts';
import { type ListedVisitor, listedVisitors, visitorsWhoCame } from '../visitor-lists.ts';

/** Of the latest hits, the visitors are recent. */
const recentHits = 2000;
const maxListed = 1000;

/** Visitors that somebody looks for, or the recent ones. */
export const visitorsPage = accountPage({
	path: ':aid/visitors',
	title: 'Visitors',
	menu: 'Visitors',
	place: 11,
	right: 'visitors',
	async get(asked) {
		const { query, request, store, account, calendar } = asked;
		const text = query.get('find')?.trim() ?? '';
		if (/^[0-9a-f]{32}$/.test(text) && (await store.read(account.id, profilesOf([text]))).size > 0)
			return redirect(visitorPath(account.aid, text));
		const rule = chosenRule(asked);
		return html`<form method="get" action="${request.path}" class="view">
<label>Visitor, customer id, transaction or subscription <input type="search" name="find" value="${text}"></label>
<button>Find</button> ${text !== '' && html`<a href="${request.path}">Recent visitors</a>`}
</form>
${text !== '' ? await found(asked, text) : rule ? await members(asked, rule) : isOfPeriod(asked) ? await cameIn(asked) : await recent(asked)}
<p class="note">Times are in ${calendar.timezone}. The audit log records who looks at a visitor.</p>`;
	},
});

async function recent(asked: AccountRequest): Promise<Html> {
	const { store, account, view, now } = asked;
	const hits = await store.read(account.id, hitsBefore(now(), recentHits));
	const period = { fromMs: hits.at(-1)?.atMs ?? now(), toMs: now() + 1 };
	const gateways = await gatewaysOf(store, account, { asOfMs: now(), period, include: includeOf(view) });
	const vids = [...new Set(hits.map(({ vid }) => vid))]
		.filter((vid) => !gateways.has(vid))
		.slice(0, maxListed);
	if (hits.length === 0)
		return html`<p class="empty">Nobody has visited yet. Pages report visits through the tag, which begins with <code>vscr('setAccount', '${account.aid}'); vscr('fire');</code></p>`;
	return html`<section class="section"><h2>Recent visitors</h2>
${visitorTable(asked, await listedVisitors(asked, vids))}
${hits.length === recentHits && html`<p class="note">These are the latest ${formatNumber(vids.length)}. Find others by an id, or by when they came.</p>`}
${gatewaysNote(asked, gateways.size)}</section>`;
}

/** Whether the address asks for who came in some days, or by some channel, campaign or the like. */
function isOfPeriod({ query }: AccountRequest): boolean {
	return ['from', 'period', ...touchDimensions].some((name) => query.has(name));
}

async function cameIn(asked: AccountRequest): Promise<Html> {
	const { account, view, calendar, now, request } = asked;
	const { visitors, lookedThrough, gatewayVisitors } = await visitorsWhoCame(asked, maxListed);
	const days =
		view.from === null
			? 'at any time'
			: `from ${view.from} to ${addDays(view.to ?? calendar.dayOf(now()), view.to === null ? 0 : -1)}`;
	const by = touchDimensions
		.filter((name) => view.texts[name])
		.map((name) => html`, ${touchNames[name]} <bdi>${view.texts[name]}</bdi>`);
	return html`<section class="section"><h2>Who came ${days}${by}</h2>
<p><a href="${request.path}">Recent visitors</a> <a href="/console/${account.aid}/subscriptions${queryText(view)}">Subscriptions with these filters</a></p>
${visitors.length === 0 ? html`<p class="empty">Nobody, as far as hits are kept.</p>` : visitorTable(asked, visitors)}
${visitors.length === maxListed && html`<p class="note">These are the latest ${formatNumber(maxListed)}. Shorter periods show others.</p>`}
${visitors.length < maxListed && lookedThrough !== undefined && html`<p class="note">The latest ${formatNumber(lookedThrough)} arrivals were looked through. Shorter periods show others.</p>`}
${gatewaysNote(asked, gatewayVisitors)}</section>`;
}

const bands = ['high', 'medium', 'low'];

/** The segment or the band that the address asks for. */
function chosenRule({
	query,
	account,
}: AccountRequest): { name: string; rule: string; command: string } | undefined {
	const id = query.get('segment');
	const segment = account.segments.find((one) => one.id === id);
	if (segment)
		return {
			name: `the segment ${segment.name}`,
			rule: segment.rule,
			command: `caskade segment members ${account.aid} ${segment.id}`,
		};
	const [goal, band] = [query.get('goal'), query.get('band')];
	const isKnown = account.goals.some(({ name }) => name === goal) && bands.some((one) => one === band);
	return isKnown
		? {
				name: `the band ${band} of ${goal}`,
				rule: `bands[${JSON.stringify(goal)}] == ${JSON.stringify(band)}`,
				command: `caskade score ${account.aid} --goal ${goal}`,
			}
		: undefined;
}

async function members(
	asked: AccountRequest,
	{ name, rule, command }: NonNullable<ReturnType<typeof chosenRule>>,
): Promise<Html> {
	const { account, request, view, computed } = asked;
	const { visitors, lookedThrough, gatewayVisitors } = await computed({
		type: 'members',
		aid: account.aid,
		rule,
		include: includeOf(view),
	});
	return html`<section class="section"><h2>Who is in <bdi>${name}</bdi> now: ${formatNumber(visitors.length)}</h2>
<p><a href="${request.path}">Recent visitors</a></p>
${visitors.length > 0 && visitorTable(asked, visitors)}
${lookedThrough !== undefined && html`<p class="note">These, and their number, are from a random sample of ${formatNumber(lookedThrough)} visitors. All are listed by <code>${command}</code>.</p>`}
${gatewaysNote(asked, gatewayVisitors)}</section>`;
}

async function found(asked: AccountRequest, text: string): Promise<Html> {
	const { store, account } = asked;
	const matches = await Promise.all(
		(['cid', 'tid', 'subid'] as const).map(async (kind) => ({
			kind,
			visitors: await store.read(account.id, visitorsWith({ kind, value: text }, maxListed + 1)),
			events: await store.read(account.id, eventsWith({ kind, value: text }, maxListed + 1)),
		})),
	);
	const isCustomer = matches.some(
		({ kind, visitors, events }) => kind === 'cid' && visitors.length + events.length > 0,
	);
	if (isCustomer) await asked.note('customer searched', text);
	const vids = [...new Set(matches.flatMap(({ visitors }) => visitors.map(({ vid }) => vid)))];
	const events = new Map(
		matches.flatMap((match) => match.events.map((event) => [event.tid, event] as const)),
	);
	if (vids.length + events.size === 0)
		return html`<p class="empty">Nothing is found for ${nameOf(text)}. Type the whole id; capitals matter.</p>`;
	const path = customerPath(account.aid, text);
	return html`${
		isCustomer &&
		html`<section class="section"><h2>Customer ${nameOf(text)}</h2>
<p><a href="${path}">All data of this customer</a>${may(asked.person, account.aid, 'operate') && html` · <a href="${path}/erase">Erase this customer</a>`}</p></section>`
	}
<section class="section"><h2>Visitors</h2>
${vids.length === 0 ? html`<p>No visitor is linked to it.</p>` : visitorTable(asked, await listedVisitors(asked, vids.slice(0, maxListed)))}
${vids.length > maxListed && html`<p class="note">These are the first ${formatNumber(maxListed)}. <code>caskade visitor find ${account.aid}</code> lists all.</p>`}</section>
${
	events.size > 0 &&
	html`<section class="section"><h2>Subscription events</h2>
${eventTable(asked, [...events.values()].slice(0, maxListed))}
${events.size > maxListed && html`<p class="note">These are the latest ${formatNumber(maxListed)}.</p>`}</section>`
}`;
}

function visitorTable(asked: AccountRequest, visitors: readonly ListedVisitor[]): Html {
	const { account, calendar } = asked;
	const money = moneyOf(account.currency);
	return sortedTable(asked, 'Visitors', visitors, {
		Visitor: ({ vid }) => html`<a href="${visitorPath(account.aid, vid)}">${vid.slice(0, 12)}…</a>`,
		'Last seen': ({ lastAtMs }) => (lastAtMs === undefined ? 'hits deleted' : calendar.timeOf(lastAtMs)),
		'First seen': ({ firstAtMs }) => firstAtMs && calendar.timeOf(firstAtMs),
		'#Visits': ({ visits }) => visits,
		'#Hits': ({ hits }) => hits,
		'Latest channel': ({ lastChannel }) => lastChannel !== undefined && nameOf(lastChannel),
		'#Subscription events': ({ visits, subscriptions }) => subscriptions?.count ?? (visits && 0),
		'#Revenue': ({ visits, subscriptions }) =>
			subscriptions ? money(subscriptions.revenuePence) : visits && '-',
	});
}

/** Subscription events, each with a link to its page. */
export function eventTable(
	asked: AccountRequest,
	events: readonly Pick<TracedEvent, 'tid' | 'subid' | 'evt' | 'rvn' | 'at' | 'receivedAt'>[],
): Html {
	const { account, calendar } = asked;
	const money = moneyOf(account.currency);
	const timeOf = (time: string) => calendar.timeOf(Date.parse(time));
	const happened = { Happened: ({ at, receivedAt }: (typeof events)[number]) => timeOf(at ?? receivedAt) };
	return sortedTable(asked, 'Subscription events', events, {
		...(events.some(({ at }) => at !== undefined) && happened),
		Received: ({ receivedAt }) => timeOf(receivedAt),
		'Transaction…': ({ tid }) => html`<a href="${eventPath(account.aid, tid)}">${nameOf(tid)}</a>`,
		'Subscription…': ({ subid }) => nameOf(subid),
		'Event type': ({ evt }) => nameOf(evt),
		'#Amount': ({ rvn }) => money(rvn),
	});
}
