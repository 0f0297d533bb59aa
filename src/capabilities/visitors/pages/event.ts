import type { Touch } from '../../../core/domain/touch.ts';
import { OperatorError } from '../../../core/errors.ts';
import { isoTime } from '../../../core/format/iso-time.ts';
import { moneyOf } from '../../../core/format/money.ts';
import { formatNumber } from '../../../core/format/numbers.ts';
import { filePage, tableFiles } from '../../../kit/console/files.ts';
import { customerPath, eventPath, searchPath, visitorPath } from '../../../kit/console/links.ts';
import { type AccountRequest, accountPage, type PageAnswer } from '../../../kit/console/page.ts';
import { commaed, factList, nameOf, pageTable } from '../../../kit/console/page-table.ts';
import { type Html, html } from '../../../kit/format/html.ts';
import { eventsOfUpload, eventsWith, type TracedEvent } from '../../../kit/reading/event-finding.ts';
import { visitorsWith } from '../../../kit/reading/visitor-finding.ts';
import { apportion } from '../../../kit/reports/apportion.ts';
import { type PathModel, pathModels } from '../../../kit/reports/attribution-model.ts';
import { type CoursedJourney, readCoursesWith } from '../../../kit/reports/courses.ts';
import { defaultLookbackDays, pathOf } from '../../../kit/reports/path.ts';
import type { FlatRow } from '../../../kit/reports/report.ts';
import { weightsOfPath } from '../timeline.ts';
import { arrivalsOf } from '../visitor-life.ts';
import { eventTable } from './visitors-page.ts';

const maxRows = 40;
/** Of an upload, which by default has at most 30. */
const maxEvents = 1000;

/** One subscription event: follow the penny. */
export const eventPage = accountPage({
	path: ':aid/events/:tid',
	title: 'Subscription event',
	right: 'visitors',
	async get(asked) {
		const { account, parts, calendar } = asked;
		const traced = await traceOf(asked);
		if (!traced) return unknownEvent(asked, parts.tid as string);
		const { event, journey, path } = traced;
		await noteViewed(asked, traced);
		const money = moneyOf(account.currency);
		const step = journey?.subscription.steps.find(
			({ atMs, evt, revenuePence }) =>
				atMs === event.happenedAtMs && evt === event.evt && revenuePence === event.rvn,
		);
		const search = (text: string) => html`<a href="${searchPath(account.aid, text)}">${nameOf(text)}</a>`;
		return html`${factList({
			Transaction: html`<code>${nameOf(event.tid)}</code>`,
			Amount: html`<strong>${money(event.rvn)}</strong>${step && `, ${step.kind}`}`,
			'Event type': nameOf(event.evt),
			Happened: [
				calendar.timeOf(event.happenedAtMs),
				event.at === undefined && ', the time of the upload: no other was sent',
			],
			Subscription: [search(event.subid), journey?.course && `, ${journey.course.state}`],
			'Customer id':
				event.cid === null
					? 'none: not sent, or erased'
					: html`${search(event.cid)} (<a href="${customerPath(account.aid, event.cid)}">all data of this customer</a>)`,
		})}
${await uploadSection(asked, event)}
${visitorSection(asked, event)}
${path && creditSection(asked, event, path)}
<p class="note">Times are in ${calendar.timezone}.${event.vid !== null && ' The audit log records that you looked at this visitor.'}</p>`;
	},
});

/** The credit of an event's touches, as a file. */
export const eventFilePage = filePage(
	':aid/events/:tid',
	'visitors',
	'Subscription event',
	tableFiles('touches', async (asked) => {
		const { account, parts } = asked;
		const traced = await traceOf(asked);
		if (!traced) throw new OperatorError(`Account ${account.aid} has no event ${parts.tid}.`);
		await noteViewed(asked, traced, 'visitor exported');
		return creditRows(traced.event, traced.path);
	}),
	{ isOfPersons: true },
);

interface EventTrace {
	readonly event: TracedEvent;
	/** Its subscription. */
	readonly journey: CoursedJourney | undefined;
	/** The touches of its owner that led to the subscription; null where nobody owns it. */
	readonly path: Path | null;
}

interface Path {
	readonly touches: readonly Touch[];
	readonly weights: Record<PathModel, readonly number[]>;
}

async function traceOf({ store, account, parts }: AccountRequest): Promise<EventTrace | undefined> {
	const [event] = await store.read(account.id, eventsWith({ kind: 'tid', value: parts.tid as string }, 1));
	if (!event) return undefined;
	const asOfMs = store.now();
	const [journey] = await store.read(account.id, readCoursesWith([event.subid], asOfMs, account));
	const { owner = null, convertedAtMs = event.happenedAtMs } = journey?.subscription ?? {};
	if (owner === null) return { event, journey, path: null };
	// A subscription is credited to the touches of its owner, whoever has paid this.
	const all = await arrivalsOf(store, account, owner, asOfMs);
	const touches = pathOf(all, convertedAtMs, defaultLookbackDays);
	return { event, journey, path: { touches, weights: weightsOfPath(touches, { convertedAtMs }) } };
}

/** Whose touches and events are shown. */
async function noteViewed(
	{ note }: AccountRequest,
	{ event, journey }: EventTrace,
	action = 'visitor viewed',
): Promise<void> {
	for (const vid of new Set([event.vid, journey?.subscription.owner ?? null]))
		if (vid !== null) await note(action, vid);
}

async function unknownEvent({ store, account }: AccountRequest, tid: string): Promise<PageAnswer> {
	const shown = await store.read(account.id, visitorsWith({ kind: 'tid', value: tid }, maxRows));
	const visitors = shown.map(
		({ vid }) => html`<a href="${visitorPath(account.aid, vid)}">visitor ${vid.slice(0, 12)}…</a>`,
	);
	const missing = html`<p class="empty">No subscription event with the transaction ${nameOf(tid)} is stored.
${shown.length > 0 && html`A page of ${commaed(visitors)} has reported it, so its upload is missing.`}</p>
<p><a href="/console/${account.aid}/visitors">Find another</a></p>`;
	return { missing };
}

async function uploadSection(asked: AccountRequest, event: TracedEvent): Promise<Html> {
	const { store, account, calendar } = asked;
	const { requestId, keyId, receivedAt } = event;
	const known = keyId === null ? [] : await store.control.keys(account.client);
	const key = known.find(({ id }) => id === keyId);
	const others = (await store.read(account.id, eventsOfUpload(event, maxEvents))).filter(
		({ tid }) => tid !== event.tid,
	);
	return html`<section class="section"><h2>The upload that brought it</h2>
${factList({
	Received: calendar.timeOf(Date.parse(receivedAt)),
	'Request id':
		requestId === null
			? 'none: it was imported, or stored by an early version'
			: html`<code>${requestId}</code>`,
	'API key':
		keyId === null
			? 'not known: it was imported, or stored before keys were recorded'
			: html`<code>${keyId}</code>${key?.name && html`, ${nameOf(key.name)}`}${key?.revokedAt && ', revoked since'}`,
})}
${others.length > 0 && html`<h3>Other events of this upload</h3>`}
${others.length > 0 && eventTable(asked, others)}</section>`;
}

const reasons = {
	2: 'Matched by transaction: this visitor was the first to prove it or, if nobody has, the first whose page reported it.',
	1: 'Matched by customer id: this visitor was the first to prove it or, if nobody has, the first whose page reported it.',
	0: 'Matched through its subscription, which belongs to this visitor.',
} as const;

function visitorSection({ account }: AccountRequest, { vid, named }: TracedEvent): Html {
	const { aid } = account;
	return html`<section class="section"><h2>Visitor</h2>
${vid === null && html`<p class="empty">Not matched to a visitor: no page has reported its transaction or customer id, or one of another event of its subscription. In attribution it counts as (none). <a href="/console/${aid}/attribution">How many events are matched</a></p>`}
${vid !== null && html`<p><a href="${visitorPath(aid, vid)}">Visitor ${vid}</a>. ${reasons[named]}</p>`}</section>`;
}

function creditSection({ account, calendar }: AccountRequest, event: TracedEvent, path: Path): Html {
	const money = moneyOf(account.currency);
	const file = (name: string) => `${eventPath(account.aid, event.tid)}/${name}`;
	const rows = creditRows(event, path);
	const touchOf = ({ channel, source, medium, campaign, landing }: FlatRow) =>
		nameOf(
			[channel, source, medium, campaign].filter(Boolean).join(' / ') + (landing ? ` to ${landing}` : ''),
		);
	const credited = (row: FlatRow, model: PathModel) =>
		Number(row[`${model}Share`]) === 0 ? '-' : money(Number(row[`${model}Pence`]));
	const columns = pathModels.map((model) => [
		`#${model}`,
		(row: FlatRow | null) => (row ? credited(row, model) : html`<strong>${money(event.rvn)}</strong>`),
	]);
	// The last row is that of all touches.
	const table = pageTable('Touches', [...rows.slice(0, maxRows), null], {
		When: (row) => row && calendar.timeOf(Date.parse(String(row.at))),
		'Touch…': (row) => (row ? touchOf(row) : html`<strong>all</strong>`),
		...Object.fromEntries(columns),
	});
	return html`<section class="figure" aria-labelledby="credit"><h2 id="credit">Touches, and what each model credits them with</h2>
${rows.length === 0 ? html`<p class="empty">No touch in the ${defaultLookbackDays} days before the subscription: all of it counts as (none).</p>` : table}
${rows.length > maxRows && html`<p class="note">These are the first ${maxRows} of ${formatNumber(rows.length)} touches; the CSV has all.</p>`}
<footer><details><summary>What these figures are</summary><p>Every event, also a renewal or a refund, is credited to the touches in the ${defaultLookbackDays} days before its subscription began. Pence are split by largest remainder, so that they add up. The model markov is only in the attribution report: it credits channels, not touches, by what all visitors did.</p></details>
<a href="${file('touches.csv')}">CSV</a> <a href="${file('touches.json')}">JSON</a></footer></section>`;
}

/** A row for each touch. */
function creditRows({ rvn }: TracedEvent, path: Path | null): FlatRow[] {
	if (!path) return [];
	const { touches, weights } = path;
	const pence = pathModels.map((model) => [model, apportion(rvn, weights[model])] as const);
	return touches.map(({ atMs, ...origin }, place) => ({
		at: isoTime(atMs),
		...origin,
		...Object.fromEntries(
			pence.flatMap(([model, parts]) => [
				[`${model}Share`, Math.round((weights[model][place] as number) * 1e4) / 1e4],
				[`${model}Pence`, parts[place] as number],
			]),
		),
	}));
}
