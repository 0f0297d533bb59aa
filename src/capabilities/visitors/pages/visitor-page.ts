import type { Profile } from '../../../core/domain/profile.ts';
import { OperatorError } from '../../../core/errors.ts';
import { isoTime } from '../../../core/format/iso-time.ts';
import { moneyOf } from '../../../core/format/money.ts';
import { counted, formatNumber, formatShare } from '../../../core/format/numbers.ts';
import { lowering } from '../../../core/scoring/serve/reasons.ts';
import { download } from '../../../kit/console/exchange.ts';
import { filePage, json } from '../../../kit/console/files.ts';
import { formOf } from '../../../kit/console/form.ts';
import { customerPath, eventPath, searchPath, visitorPath } from '../../../kit/console/links.ts';
import { type AccountRequest, accountPage } from '../../../kit/console/page.ts';
import { arranged, commaed, factList, nameOf, sortedTable } from '../../../kit/console/page-table.ts';
import { withoutHidden } from '../../../kit/format/hidden-characters.ts';
import { type Html, type HtmlValue, html } from '../../../kit/format/html.ts';
import { may } from '../../../kit/person.ts';
import { visitorRecord } from '../../../kit/reading/visitor-record.ts';
import { creditedTo, defaultModel } from '../../../kit/reports/attribution-model.ts';
import { noteList } from '../../../kit/reports/day-notes.ts';
import { type Lane, lifeLine } from '../../../kit/reports/life-line.ts';
import { htmlTable } from '../../../kit/reports/report-drawing.ts';
import { rowsCsv } from '../../../kit/reports/report-table.ts';
import { eraseOneVisitor } from '../acts.ts';
import { erasable } from '../store/erasure.ts';
import { type TimelineEntry, timelineColumns, timelineRows } from '../timeline.ts';
import type { VisitorChanges } from '../visitor-changes.ts';
import { exportedVisitor, shownLife, type VisitorLife, visitorLife } from '../visitor-life.ts';
import { eventTable } from './visitors-page.ts';

/** Of a visitor's hits and visits, the latest are read. The files have all. */
const maxRead = 2000;
/** Ids in a list. */
const maxIds = 40;
const maxLanes = 6;

/** One visitor: one life, one line. */
export const visitorPage = accountPage({
	path: ':aid/visitors/:vid',
	title: 'Visitor',
	right: 'visitors',
	async get(asked) {
		const { account, parts, person, calendar, store } = asked;
		const known = await store.read(account.id, visitorRecord(parts.vid as string, 1));
		if (!known) {
			const missing = html`<p class="empty">Nothing is stored about a visitor ${nameOf(parts.vid as string)}.</p>
<p><a href="/console/${account.aid}/visitors">Find another</a></p>`;
			return { missing };
		}
		const life = await lifeOf(asked);
		const path = visitorPath(account.aid, parts.vid as string);
		return html`${facts(asked, life)}
${life.isGateway && html`<p class="note">This is a mail gateway: it came with many others at once through one mailing, with a single hit. Figures about visitors leave it out.</p>`}
${await lifeSection(asked, life, path)}
${life.changes && scoreSection(asked, life.changes, path)}
${timelineSection(asked, life, path)}
${eventsSection(asked, life)}
${hitsSection(asked, life)}
<section class="section"><h2>Everything stored</h2>
<p>For a request of this person to see their data: one JSON document, with every hit.</p>
${formOf(asked, 'export', null, 'Export')}
${customersOf(life).map((cid) => html`<p><a href="${customerPath(account.aid, cid)}">All data of customer ${nameOf(cid)}: export or erase</a></p>`)}
${may(person, account.aid, 'operate') && html`<p><a href="${path}/erase">Erase this visitor</a></p>`}</section>
<p class="note">Times are in ${calendar.timezone}. The audit log records that you looked at this visitor.</p>`;
	},
	actions: {
		async export(asked) {
			const { store, account, parts } = asked;
			const vid = parts.vid as string;
			const exported = await exportedVisitor(store, account, vid);
			await asked.note('visitor exported', vid);
			return download(`${account.aid}-${vid}.json`, json(exported));
		},
	},
});

/** What the page of a visitor shows, as files with all rows. */
export const visitorFilePage = filePage(
	':aid/visitors/:vid',
	'visitors',
	'Visitor',
	{
		'timeline.csv': async (asked) => rowsCsv(timelineRows((await wholeLifeOf(asked)).timeline, true)),
		'timeline.json': async (asked) => json(shownLife(asked.account.aid, await wholeLifeOf(asked))),
		'scores.csv': async (asked) =>
			rowsCsv(
				scoresOf(await wholeLifeOf(asked)).map(({ reasons, ...score }) => ({
					...score,
					reasons: reasons.join('; '),
				})),
			),
		'scores.json': async (asked) => json(scoresOf(await wholeLifeOf(asked))),
	},
	{ isOfPersons: true },
);

async function lifeOf(asked: AccountRequest): Promise<VisitorLife> {
	const { store, account, parts } = asked;
	const life = await visitorLife(store, account, parts.vid as string, maxRead);
	await asked.note('visitor viewed', parts.vid);
	return life;
}

/** For the files. */
async function wholeLifeOf({ store, account, parts, note }: AccountRequest): Promise<VisitorLife> {
	const life = await visitorLife(store, account, parts.vid as string);
	await note('visitor exported', parts.vid);
	return life;
}

function scoresOf({ changes }: VisitorLife) {
	return (changes?.scores ?? []).map(({ atMs, ...score }) => ({ at: isoTime(atMs), ...score }));
}

/** What erasing a visitor would erase, and the button that does it. */
export const eraseVisitorPage = accountPage({
	path: ':aid/visitors/:vid/erase',
	title: 'Erase a visitor',
	right: 'operate',
	async get(asked) {
		const { store, account, parts } = asked;
		const vid = parts.vid as string;
		const { hits, visits, events, links, customers } = await erasable(store, account.id, { vid });
		const path = visitorPath(account.aid, vid);
		if (hits + visits + events + links === 0)
			return { missing: html`<p class="empty">Nothing is stored about a visitor ${nameOf(vid)}.</p>` };
		const fields = html`<p><label><input type="checkbox" name="sure" value="yes" required> Erase all of this</label></p>`;
		return html`<p><a href="${path}">Visitor ${vid}</a></p>
<p>To be deleted:</p>
<ul><li>${counted(hits, 'hit')} of ${counted(visits, 'visit')}, with the profile and the touches</li>
<li>${counted(links, 'id')} of customers and transactions, reported by pages</li></ul>
<p>Kept without visitor and customer id: ${counted(events, 'subscription event')}.</p>
${customers && html`<p class="warning">This visitor has reported ${customers} customers, and the data of all of them would be deleted. To split the visitor first, run <code>caskade visitor rebuild ${account.aid}</code>.</p>`}
<p>This takes effect within a second, and cannot be undone. Earlier backups still contain the data.</p>
${formOf(asked, 'erase', fields, 'Erase the visitor', { look: 'danger' })}
<p><a href="${path}">Cancel</a></p>`;
	},
	actions: {
		async erase(asked) {
			const { account, parts, form } = asked;
			if (form.get('sure') !== 'yes')
				throw new OperatorError('Tick “Erase all of this” to confirm. It cannot be undone.');
			const { hits, visits, events } = await asked.act(eraseOneVisitor, { vid: parts.vid as string });
			return {
				once: html`<p class="warning" role="status">The visitor is erased: ${counted(hits, 'hit')} of ${counted(visits, 'visit')}. Kept without visitor and customer id: ${counted(events, 'subscription event')}. Other visitors of the same customer are as they were. Earlier backups still contain the data.</p>
<p><a href="/console/${account.aid}/visitors">Back to the visitors</a></p>`,
			};
		},
	},
});

function customersOf({ record }: VisitorLife): string[] {
	return record.identityLinks.flatMap(({ kind, value }) => (kind === 'cid' ? value : [])).slice(0, maxIds);
}

function facts({ account, calendar, now }: AccountRequest, { record, changes }: VisitorLife): Html {
	const { vid, profile, identityLinks } = record;
	const shown = (kind: 'cid' | 'tid', path: typeof searchPath) => {
		const values = identityLinks.flatMap((link) => (link.kind === kind ? link.value : []));
		const links = values.map((value) => html`<a href="${path(account.aid, value)}">${nameOf(value)}</a>`);
		return commaed(links.slice(0, maxIds));
	};
	// As the line below tells it. What only today's look tells began at no moment that is known.
	const latest = new Map(changes?.segments.map((change) => [change.segment, change]));
	const segments = [...latest.values()]
		.filter(({ isIn }) => isIn)
		.map(({ name, atMs }) => html`${nameOf(name)}${atMs < now() && ` since ${calendar.timeOf(atMs)}`}`);
	const seen = (of: Profile) => ({
		'First seen': calendar.timeOf(of.firstAtMs),
		'Last seen': calendar.timeOf(of.lastAtMs),
		Visits: `${formatNumber(of.visits)}, with ${counted(of.hits, 'hit')} on ${counted(of.activeDays, 'day')}`,
		Channel: html`${nameOf(of.firstChannel)} at first${of.lastChannel !== of.firstChannel && html`, ${nameOf(of.lastChannel)} at last`}`,
		Device: nameOf(of.device),
		Paid:
			of.subscriptions &&
			`${moneyOf(account.currency)(of.subscriptions.revenuePence)} in ${counted(of.subscriptions.count, 'subscription event')}`,
	});
	return factList({
		Visitor: html`<code>${vid}</code>`,
		...(profile ? seen(profile) : { Hits: 'deleted: they are kept for a time only' }),
		'Customer id': shown('cid', searchPath),
		'Transactions seen on pages': shown('tid', eventPath),
		Segments: commaed(segments),
	});
}

/** The picture: scores as step lines, and below them what happened. */
async function lifeSection(
	{ calendar, now, dayNotes }: AccountRequest,
	{ record, timeline, changes }: VisitorLife,
	path: string,
): Promise<Html> {
	const nowMs = now();
	const { scores = [], segments = [] } = changes ?? {};
	const moments = (isMeant: (entry: TimelineEntry) => boolean) =>
		timeline.filter(isMeant).map(({ at }) => Date.parse(at));
	const payments = moments((entry) => 'revenuePence' in entry && (entry.revenuePence ?? -1) >= 0);
	const refunds = moments((entry) => 'revenuePence' in entry && (entry.revenuePence ?? 0) < 0);
	const messages = moments((entry) => 'messages' in entry);
	const lanes: Lane[] = [
		{ name: 'visits', momentsMs: record.visits.map(({ profile }) => profile.firstAtMs) },
		{ name: 'payments', momentsMs: payments },
		{ name: 'refunds', momentsMs: refunds },
		...segmentLanes(segments, nowMs).slice(0, maxLanes),
		{ name: 'webhooks', momentsMs: messages },
	].filter(({ momentsMs, spans }: Lane) => (momentsMs ?? spans ?? []).length > 0);
	const times = [...timeline.map(({ at }) => Date.parse(at)), ...scores.map(({ atMs }) => atMs)];
	const fromMs = times.reduce((least, ms) => Math.min(least, ms), nowMs);
	const firstDay = calendar.dayOf(fromMs);
	const notes = (await dayNotes()).filter(({ day }) => day >= firstDay);
	if (notes.length > 0)
		lanes.push({
			name: 'notes',
			momentsMs: notes.map(({ day }) => calendar.startOfDay(day)).map((ms) => Math.max(ms, fromMs)),
		});
	const levels = [...Map.groupBy(scores, ({ goal }) => goal)].map(([goal, own]) => ({
		name: `chance of ${withoutHidden(goal)}`,
		points: own.map(({ atMs, score }) => [atMs, score] as const),
	}));
	const title = 'Timeline';
	return html`<section class="figure" aria-labelledby="life"><h2 id="life">${title}</h2>
${lanes.length > 0 && lifeLine({ title, fromMs, toMs: nowMs, levels, lanes, calendar })}
${noteList(notes)}
<footer><details><summary>What this is</summary><p>The upper part shows the scores that today's active models give the visitor: after each visit and event, from what was known at that moment, and now. The lower part shows what happened, and the segments by today's models and rules. Both are computed when somebody reads them; what pages were told at the time is not kept. The tables below have the same data.</p></details>
<a href="${path}/timeline.csv">CSV</a> <a href="${path}/timeline.json">JSON</a></footer></section>`;
}

/** A lane for each segment, from entering to leaving. */
function segmentLanes(changes: VisitorChanges['segments'], nowMs: number): Lane[] {
	return [...Map.groupBy(changes, ({ segment }) => segment).values()].map((own) => ({
		name: own[0]?.name as string,
		spans: own.flatMap(({ isIn, atMs }, place) =>
			isIn ? [{ fromMs: atMs, toMs: own[place + 1]?.atMs ?? nowMs }] : [],
		),
	}));
}

function scoreSection(
	asked: AccountRequest,
	{ scores, moments, looks, without }: VisitorChanges,
	path: string,
): HtmlValue {
	const { calendar } = asked;
	const jumps = scores.filter(({ change, reasons }) => change === null || reasons.length > 0).toReversed();
	const table = sortedTable(asked, 'Why the score jumped', jumps, {
		When: ({ atMs }) => calendar.timeOf(atMs),
		Goal: ({ goal }) => nameOf(goal),
		'#Score': ({ score }) => formatShare(score),
		'#Change': ({ change }) =>
			change === null
				? 'first'
				: `${change < 0 ? '−' : '+'}${formatShare(Math.abs(change)).replace('%', 'points')}`,
		'Reasons…': ({ reasons: [first = '', ...more] }) =>
			commaed([first, ...more.map((reason) => reason.replace(lowering, ''))].filter(Boolean).map(nameOf)),
	});
	return html`<section class="figure" aria-labelledby="jumps"><h2 id="jumps">Why the score jumped</h2>
${jumps.length === 0 ? html`<p class="empty">No model is trained, so everybody gets the same score, the base rate.</p>` : table}
<p class="note">Only changes of more than 10 % of the score.</p>
${looks < moments && html`<p class="note">Scores and segments are of ${looks} of ${formatNumber(moments)} moments, evenly chosen.</p>`}
${without.length > 0 && jumps.length > 0 && html`<p class="note">Without a model: ${commaed(without.map(nameOf))}.</p>`}
<footer><a href="${path}/scores.csv">CSV</a> <a href="${path}/scores.json">JSON</a></footer></section>`;
}

/** The latest first, a page at a time. */
function timelineSection(
	asked: AccountRequest,
	{ timeline, record, journeys }: VisitorLife,
	path: string,
): Html {
	const { account, calendar } = asked;
	const local = (text: unknown) =>
		String(text ?? '').replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (iso) => calendar.timeOf(Date.parse(iso)));
	const rows = timelineRows(timeline.toReversed(), journeys.length > 1);
	const { shown, sortOf, note } = arranged(asked, 'timeline', rows, (row, column) => row[column]);
	const inZone = shown.map(({ [defaultModel]: credit = null, ...row }) => {
		const others = Object.entries(row).filter(([name]) => !(name in creditedTo));
		return { ...Object.fromEntries(others), at: local(row.at), about: local(row.about), credit };
	});
	return html`<section class="figure" aria-labelledby="timeline"><h2 id="timeline">What happened</h2>
<p>The credit is how much of a subscription counts for a touch: all of it for ${creditedTo[defaultModel]}.</p>
${htmlTable(inZone, moneyOf(account.currency), timelineColumns, { fitsPaper: false, caption: 'What happened', sortOf })}
${note}
${record.visits.length === maxRead && html`<p class="note">Of the visits, the latest ${formatNumber(maxRead)} are here; the CSV has all.</p>`}
<footer><a href="${path}/timeline.csv">CSV</a> <a href="${path}/timeline.json">JSON</a></footer></section>`;
}

function eventsSection(asked: AccountRequest, { record }: VisitorLife): HtmlValue {
	const events = record.subscriptionEvents.toReversed();
	if (events.length === 0) return null;
	return html`<section class="section"><h2>Subscription events</h2>
${eventTable(asked, events)}</section>`;
}

function hitsSection(asked: AccountRequest, { record }: VisitorLife): HtmlValue {
	const { hits, profile } = record;
	if (hits.length === 0) return null;
	const latest = hits.toReversed();
	const all = profile?.hits ?? hits.length;
	return html`<section class="section"><h2>Hits</h2>
${sortedTable(asked, 'Hits', latest, {
	When: ({ at }) => asked.calendar.timeOf(Date.parse(at)),
	'Page…': ({ page }) => nameOf(page),
	Channel: ({ channel }) => nameOf(channel),
	'Page events…': ({ events }) => nameOf(events.map(({ name }) => name).join(', ') || null),
	'Referrer…': ({ referrer }) => nameOf(referrer),
})}
${all > latest.length && html`<p class="note">These are the latest ${formatNumber(latest.length)} of ${formatNumber(all)}; the export has all that are stored.</p>`}</section>`;
}
