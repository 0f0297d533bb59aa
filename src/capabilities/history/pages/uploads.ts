import { OperatorError } from '../../../core/errors.ts';
import { moneyOf } from '../../../core/format/money.ts';
import { counted, formatNumber, listed } from '../../../core/format/numbers.ts';
import { isUsable, type KeyUsage } from '../../../core/store/control/control-store.ts';
import { aboveTables } from '../../../kit/console/figures.ts';
import { filePage, tableFiles } from '../../../kit/console/files.ts';
import { mayKeys, notOnAll } from '../../../kit/console/key-rights.ts';
import { eventPath } from '../../../kit/console/links.ts';
import { type AccountRequest, accountPage } from '../../../kit/console/page.ts';
import { nameOf, sortedTable, tabs, timeOf } from '../../../kit/console/page-table.ts';
import { capitalised } from '../../../kit/format/capitalised.ts';
import { type Html, html } from '../../../kit/format/html.ts';
import { day } from '../../../kit/format/values.ts';
import { latestEvents, type TracedEvent } from '../../../kit/reading/event-finding.ts';
import { addDays, type Span } from '../../../kit/reports/calendar.ts';
import { notesUnder } from '../../../kit/reports/day-notes.ts';
import type { FlatRow } from '../../../kit/reports/report.ts';
import { curves } from '../../../kit/reports/report-curves.ts';
import { bars } from '../../../kit/reports/report-rows.ts';

const readEvents = 500;

const usualPeriod = '28';
const periods = [
	['today', 'Today'],
	['yesterday', 'Yesterday'],
	['7', '7 days'],
	['28', '28 days'],
] as const;

/** Which uploads failed, what came, and what keys have used of their quotas. */
export const uploadsPage = accountPage({
	path: ':aid/uploads',
	title: 'Uploads',
	menu: 'Uploads',
	place: 12,
	right: 'operate',
	isLive: true,
	async get(asked) {
		const { request, query, now, calendar } = asked;
		const { days, period, when } = chosenDays(asked);
		const links = periods.map(
			([name, text]) => [`${request.path}?days=${name}`, text, name === period] as const,
		);
		return html`${tabs(links)}
<form class="choice" method="get" action="${request.path}"><label>Day <input type="date" name="day" value="${query.get('day')}" max="${calendar.dayOf(now())}" required></label>
<button>Show</button> <span class="zone">Days and times in ${calendar.timezone}</span></form>
${await answers(asked, days, when)}
${await latest(asked, days)}
${await quotas(asked)}`;
	},
});

/** Answers by day and cause, as a file. */
export const uploadFilePage = filePage(
	':aid/uploads',
	'operate',
	'Answers to uploads',
	tableFiles('answers', async (asked) => (await answersByDay(asked, chosenDays(asked).days)).rows),
);

/** The days that the address asks for, and how a sentence begins about them. */
function chosenDays({ query, now, calendar }: AccountRequest) {
	const today = calendar.dayOf(now());
	const daysOf = (first: string, last: string) =>
		calendar.spans('day', calendar.startOfDay(first), calendar.startOfDay(last));
	const given = query.get('day')?.trim();
	if (given) return { days: daysOf(day(given), given), period: undefined, when: `On ${given}` };
	const names = periods.map(([name]) => name);
	const text = query.get('days') || usualPeriod;
	const period = names.find((name) => name === text);
	if (!period) throw new OperatorError(`days must be ${names.join(', ')}; or day a day, such as ${today}.`);
	if (period === 'today') return { days: daysOf(today, today), period, when: 'Today' };
	const yesterday = addDays(today, -1);
	if (period === 'yesterday') return { days: daysOf(yesterday, yesterday), period, when: 'Yesterday' };
	const days = daysOf(addDays(today, 1 - Number(period)), today);
	return { days, period, when: `In the last ${period} days` };
}

/** The day of a moment, among some. */
const dayAmong = (days: readonly Span[], ms: number) =>
	days.find(({ fromMs, toMs }) => ms >= fromMs && ms < toMs)?.name;

/** Requests by day, a column for each cause. */
async function answersByDay(
	asked: AccountRequest,
	days: readonly Span[],
): Promise<{ rows: FlatRow[]; causes: string[] }> {
	const { store, account } = asked;
	const { clientId, aid } = account;
	const names = days.map(({ name }) => name);
	const all = await store.control.uploadAnswers.byDay(clientId, aid, names, (ms) => dayAmong(days, ms));
	const seesClient = await mayKeys(asked);
	const own = all.filter(({ aid }) => aid !== null || seesClient);
	const causes = [...new Set(own.map(({ cause }) => cause))].sort();
	const rows = names.map((day) => {
		const counts = causes.map((cause) => {
			const same = own.filter((one) => one.day === day && one.cause === cause);
			return [cause, same.reduce((sum, { requests }) => sum + requests, 0)];
		});
		return { day, ...Object.fromEntries(counts) };
	});
	const first = rows.findIndex((row) => Object.values(row).some(Number));
	return { rows: rows.slice(Math.max(0, first)), causes };
}

/** Of requests that have not failed. */
const causeTexts: Readonly<Record<string, string>> = {
	stored: 'stored',
	simulated: 'simulated',
	conflict: 'stored, with conflicts',
};

const words = (cause: string) => cause.replaceAll('_', ' ').replace('json', 'JSON');

function causeText(cause: string): string {
	return causeTexts[cause] ?? capitalised(words(cause));
}

/** How many requests failed, and why. */
function answerText(rows: readonly FlatRow[], causes: readonly string[], when: string): string {
	const counts = causes
		.map((cause) => ({ cause, count: rows.reduce((sum, row) => sum + Number(row[cause]), 0) }))
		.toSorted((a, b) => b.count - a.count);
	const all = counts.reduce((sum, { count }) => sum + count, 0);
	if (all === 0) return `${when}, no upload came through the API.`;
	const failed = counts.filter(({ cause }) => !(cause in causeTexts));
	const sum = failed.reduce((total, { count }) => total + count, 0);
	const conflicts = counts.find(({ cause }) => cause === 'conflict')?.count ?? 0;
	const why = failed.map(({ cause, count }) => `${formatNumber(count)} ${words(cause)}`);
	return `${when}, ${sum === 0 ? 'none' : formatNumber(sum)} of ${counted(all, 'API upload')} failed${sum > 0 ? `: ${listed(why)}` : ''}.${conflicts > 0 ? ` ${counted(conflicts, 'other')} had conflicts.` : ''}`;
}

async function answers(asked: AccountRequest, days: readonly Span[], when: string): Promise<Html> {
	const { account, request, dayNotes } = asked;
	const notes = await dayNotes();
	const { rows, causes } = await answersByDay(asked, days);
	const table = sortedTable(asked, 'Answers to uploads', rows.toReversed(), {
		Day: ({ day = '' }) => day,
		...Object.fromEntries(
			causes.map((cause) => [`#${capitalised(causeText(cause))}`, (row: FlatRow) => Number(row[cause])]),
		),
	});
	const title = 'Uploads by answer';
	const picture =
		rows.length > 1
			? curves(
					causes.map((cause) => ({
						name: causeText(cause),
						points: rows.map((row) => ({ x: String(row.day), y: Number(row[cause]) })),
					})),
					{ title, noted: { notes, every: 'day' } },
				)
			: bars(
					causes.map((cause) => ({ answer: causeText(cause), uploads: rows[0]?.[cause] ?? 0 })),
					'uploads',
					{ title },
				);
	return html`<section class="figure" aria-labelledby="answers"><h2 id="answers">Which uploads failed</h2>
<div data-part="answer"><p class="answer">${answerText(rows, causes, when)}</p>
${await problems(asked, days)}</div>
${causes.length > 0 && aboveTables(html`${picture}${notesUnder(picture, notes, { from: days[0]?.name ?? null, to: null })}`, table)}
<footer><details><summary>What these figures are</summary><p>Requests to <code>POST /subscription</code> with a key of ${account.client} by their answer: stored; simulated; stored, with conflicts, where an event of the same transaction id was stored before with different content; else the error, as <code>docs/reference/errors.md</code> lists them. Requests that named no account of the client count in each of its accounts, but only operators of all its accounts see them. Counts appear within some seconds and are kept for 400 days. Those more than 35 days old are by days of UTC.</p></details>
<a href="${request.path}/answers.csv?${request.query}">CSV</a> <a href="${request.path}/answers.json?${request.query}">JSON</a></footer></section>`;
}

async function problems(asked: AccountRequest, days: readonly Span[]): Promise<Html | null> {
	const { store, account, calendar } = asked;
	const all = await store.control.uploadAnswers.problems(account.clientId, account.aid);
	const seesClient = await mayKeys(asked);
	const own = all.filter(({ aid, atMs }) => (aid !== null || seesClient) && dayAmong(days, atMs));
	if (own.length === 0) return null;
	return html`${sortedTable(asked, 'Failed uploads, and those with conflicts', own, {
		When: ({ atMs }) => calendar.timeOf(atMs),
		Answer: ({ cause }) => causeText(cause),
		'What was wrong…': ({ detail }) => nameOf(problemText(detail) || null),
		'Key…': ({ keyId }) => html`<code>${keyId}</code>`,
		'Request…': ({ requestId }) => html`<code>${requestId}</code>`,
	})}
<p class="note">The content of failed uploads is not stored. These are the client's latest 100. Refusals by rate, quota or scope are only counted.</p>`;
}

/** Details count events from 0, as programs do. */
function problemText(detail: string): string {
	return detail
		.replace(
			/^rows (.*) of data$/,
			(_, rows: string) => `event ${counting(rows)}: its tid is stored with other content, which stays`,
		)
		.replaceAll(/data\[(\d+)\]\.?/g, (_, row) => `event ${counting(row)}: `);
}

const counting = (rows: string) => rows.replaceAll(/\d+/g, (row) => String(Number(row) + 1));

async function quotas(asked: AccountRequest): Promise<Html> {
	const { store, account, now } = asked;
	const heading = html`<h2 id="quotas">Keys and quotas</h2>`;
	if (!(await mayKeys(asked)))
		return html`<section class="section" aria-labelledby="quotas">${heading}
<p>${notOnAll(asked)}</p></section>`;
	const keys = new Map((await store.control.keys(account.client)).map((key) => [key.id, key]));
	const usage = await store.control.usage(account.client);
	const table = sortedTable(asked, 'Keys and quotas', usage, {
		'Key…': ({ key: id }) => {
			const key = keys.get(id);
			return html`<code>${id}</code>${key?.name && html` ${nameOf(key.name)}`}${key && !isUsable(key, now()) && ' (ended)'}`;
		},
		Plan: ({ plan }) => plan,
		'#Used this month': ({ used }) => used,
		'#Left': ({ remaining }) => remaining,
		'#Quota': ({ quota }) => quota,
		'#Forecast for the month': (one) => {
			const forecast = forecastOf(one, now());
			return forecast > one.quota ? html`<span class="bad">${formatNumber(forecast)}</span>` : forecast;
		},
		Reset: ({ resetsAt }) => timeOf(resetsAt),
	});
	return html`<section class="section" aria-labelledby="quotas">${heading}
${usage.length === 0 ? html`<p class="empty">No key has been issued, so nobody can upload. Issue one on the page <a href="/console/${account.aid}/settings?part=keys">Settings</a>, or with <code>caskade key issue --client ${account.client}</code>.</p>` : table}
<details><summary>What these figures are</summary><p>Requests with a key of ${account.client} to <code>POST /subscription</code> this month (UTC), to all accounts of the client, simulated ones included, as <code>caskade usage --client ${account.client}</code> counts them. The forecast is for the whole month, at the pace so far. Beyond its quota, a key gets 429 until the reset.</p></details></section>`;
}

/** The requests of the whole month, if they come as often as until now. */
export function forecastOf({ month, used, resetsAt }: KeyUsage, nowMs: number): number {
	const [fromMs, toMs] = [Date.parse(`${month}-01T00:00:00Z`), Date.parse(resetsAt)];
	const part = (nowMs - fromMs) / (toMs - fromMs);
	return part > 0 && part < 1 ? Math.round(used / part) : used;
}

async function latest(asked: AccountRequest, days: readonly Span[]): Promise<Html> {
	const { store, account, now, calendar } = asked;
	const endMs = days.at(-1)?.toMs ?? 0;
	const events = await store.read(account.id, latestEvents(Math.min(now(), endMs - 1), readEvents));
	const money = moneyOf(account.currency);
	const nameOfUpload = ({ receivedAtMs, requestId }: TracedEvent) => `${receivedAtMs} ${requestId}`;
	const uploads = [...Map.groupBy(events, nameOfUpload).values()];
	// The last one may go on among events that were not read.
	const whole = events.length < readEvents || uploads.length === 1 ? uploads : uploads.slice(0, -1);
	const shown = whole.filter(([one]) => one && dayAmong(days, one.receivedAtMs));
	const table = sortedTable(asked, 'Stored uploads and imports', shown, {
		Received: ([one]) => one && calendar.timeOf(one.receivedAtMs),
		'Request…': ([one]) => (one?.requestId ? html`<code>${nameOf(one.requestId)}</code>` : 'imported'),
		'Key…': ([one]) => (one?.keyId ? html`<code>${one.keyId}</code>` : '-'),
		'#Events stored': (own) => own.length,
		'#Amount': (own) => money(own.reduce((sum, { rvn }) => sum + rvn, 0)),
		'One of its events…': ([one]) =>
			one && html`<a href="${eventPath(account.aid, one.tid)}">${nameOf(one.tid)}</a>`,
	});
	return html`<section class="section" aria-labelledby="latest" data-part="latest"><h2 id="latest">Stored uploads and imports</h2>
${
	events.length === 0
		? html`<p class="empty">Nothing is stored yet. The back end sends events to <code>POST /subscription</code>; a file goes in with <code>caskade upload FILE --aid ${account.aid}</code>.</p>`
		: shown.length === 0
			? html`<p class="empty">Nothing was stored in these days.</p>`
			: table
}
<p class="note">${whole.length === shown.length && shown.length > 0 && `These are the latest ${formatNumber(shown.length)}. `}Uploads that repeat what is stored are not listed.</p></section>`;
}
