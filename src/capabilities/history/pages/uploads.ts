import { isoTime } from '../../../core/format/iso-time.ts';
import { moneyOf } from '../../../core/format/money.ts';
import { counted, formatNumber } from '../../../core/format/numbers.ts';
import { isUsable, type KeyUsage } from '../../../core/store/control/control-store.ts';
import { aboveTables } from '../../../kit/console/figures.ts';
import { filePage, tableFiles } from '../../../kit/console/files.ts';
import { mayKeys, notOnAll } from '../../../kit/console/key-rights.ts';
import { eventPath } from '../../../kit/console/links.ts';
import { type AskedOfAccount, accountPage } from '../../../kit/console/page.ts';
import { nameOf, pageTable, timeOf } from '../../../kit/console/page-table.ts';
import { type Html, html } from '../../../kit/format/html.ts';
import { latestEvents, type TracedEvent } from '../../../kit/reading/events.ts';
import { addDays } from '../../../kit/reports/calendar.ts';
import type { FlatRow } from '../../../kit/reports/report.ts';
import { curves } from '../../../kit/reports/report-curves.ts';

const readEvents = 500;
const shownUploads = 50;
const shownKeys = 100;

/** What keys have used of their quotas, and what came last. */
export const uploadsPage = accountPage({
	path: ':aid/uploads',
	title: 'Uploads',
	menu: 'Uploads',
	place: 12,
	right: 'operate',
	isLive: true,
	get: async (asked) => html`${await quotas(asked)}
${await answers(asked)}
${await problems(asked)}
${await latest(asked)}`,
});

/** Answers by day and cause, as a file. */
export const uploadFilePage = filePage(
	':aid/uploads',
	'operate',
	'Answers to uploads',
	tableFiles('answers', async (asked) => (await answersByDay(asked)).rows),
);

/** Days of answers that are shown. */
const answerDays = 28;

/** Requests by day of UTC, a column for each cause. */
async function answersByDay(asked: AskedOfAccount): Promise<{ rows: FlatRow[]; causes: string[] }> {
	const { store, account, now } = asked;
	const today = isoTime(now()).slice(0, 10);
	const days = Array.from({ length: answerDays }, (_, place) => addDays(today, place - answerDays + 1));
	const all = await store.control.uploadAnswers.byDay(account.clientId, account.aid, days[0] as string);
	const seesClient = await mayKeys(asked);
	const own = all.filter(({ aid }) => aid !== null || seesClient);
	const causes = [...new Set(own.map(({ cause }) => cause))].sort();
	const rows = days.map((day) => {
		const counts = causes.map((cause) => {
			const same = own.filter((one) => one.day === day && one.cause === cause);
			return [cause, same.reduce((sum, { requests }) => sum + requests, 0)];
		});
		return { day, ...Object.fromEntries(counts) };
	});
	const first = rows.findIndex((row) => Object.values(row).some(Number));
	return { rows: rows.slice(Math.max(0, first)), causes };
}

const causeTexts: Readonly<Record<string, string>> = {
	stored: 'stored',
	simulated: 'simulated',
	conflict: 'stored, with conflicts',
};

function causeText(cause: string): string {
	return causeTexts[cause] ?? cause.replaceAll('_', ' ');
}

async function answers(asked: AskedOfAccount): Promise<Html> {
	const { account, request, dayNotes } = asked;
	const { rows, causes } = await answersByDay(asked);
	const lines = causes.map((cause) => ({
		name: causeText(cause),
		points: rows.map((row) => ({ x: String(row.day), y: Number(row[cause]) })),
	}));
	const table = pageTable('Answers to uploads', rows.toReversed(), {
		Day: ({ day = '' }) => day,
		...Object.fromEntries(
			causes.map((cause) => [`#${causeText(cause)}`, (row: FlatRow) => Number(row[cause])]),
		),
	});
	const noted = { notes: await dayNotes(), every: 'day' } as const;
	const picture = curves(lines, { title: 'Requests by answer', noted });
	return html`<section class="figure" aria-labelledby="answers"><h2 id="answers">Answers to uploads</h2>
${causes.length === 0 ? html`<p class="empty">No request was counted in the last ${answerDays} days. Uploads are counted within some seconds.</p>` : aboveTables(picture, table)}
<footer><details><summary>What these figures are</summary><p>Requests to <code>POST /subscription</code> with a key of ${account.client} by their answer: stored; simulated; stored, with conflicts, where events of another content were stored before under their tid; else the error, as <code>docs/reference/errors.md</code> lists them. Those that named no account of the client are counted for each of its accounts. Days are of UTC. Who sends no key that is known is not counted.</p></details>
<a href="${request.path}/answers.csv">CSV</a> <a href="${request.path}/answers.json">JSON</a></footer></section>`;
}

const shownProblems = 50;

async function problems(asked: AskedOfAccount): Promise<Html | null> {
	const { store, account, calendar } = asked;
	const all = await store.control.uploadAnswers.problems(account.clientId, account.aid);
	const seesClient = await mayKeys(asked);
	const own = all.filter(({ aid }) => aid !== null || seesClient).slice(0, shownProblems);
	if (own.length === 0) return null;
	return html`<section class="section" aria-labelledby="problems"><h2 id="problems">Refused lately, or with conflicts</h2>
${pageTable('Refused lately, or with conflicts', own, {
	When: ({ atMs }) => calendar.timeOf(atMs),
	Answer: ({ cause }) => causeText(cause),
	'Rows and fields…': ({ detail }) => nameOf(detail || null),
	'Key…': ({ keyId }) => html`<code>${keyId}</code>`,
	'Request…': ({ requestId }) => html`<code>${requestId}</code>`,
})}
<p class="note">Times are in ${calendar.timezone}. Nothing of what was sent is kept. Of each client the latest 100 are; refusals by rate, quota and scope are only counted.</p></section>`;
}

async function quotas(asked: AskedOfAccount): Promise<Html> {
	const { store, account, now } = asked;
	const heading = html`<h2 id="quotas">Keys and quotas</h2>`;
	if (!(await mayKeys(asked)))
		return html`<section class="section" aria-labelledby="quotas">${heading}
<p>${notOnAll(asked)}</p></section>`;
	const keys = new Map((await store.control.keys(account.client)).map((key) => [key.id, key]));
	const usage = await store.control.usage(account.client);
	const shown = usage.slice(-shownKeys);
	const table = pageTable('Keys and quotas', shown, {
		'Key…': ({ key: id }) => {
			const key = keys.get(id);
			return html`<code>${id}</code>${key?.name && html` ${nameOf(key.name)}`}${key && !isUsable(key, now()) && ' (ended)'}`;
		},
		Plan: ({ plan }) => plan,
		'#Used this month': ({ used }) => used,
		'#Left': ({ remaining }) => remaining,
		'#Quota': ({ quota }) => quota,
		'#Month at this pace': (one) => {
			const forecast = forecastOf(one, now());
			return forecast > one.quota ? html`<span class="bad">${formatNumber(forecast)}</span>` : forecast;
		},
		Reset: ({ resetsAt }) => timeOf(resetsAt),
	});
	return html`<section class="section" aria-labelledby="quotas">${heading}
${shown.length === 0 ? html`<p class="empty">No key has been issued, so nobody can upload. Issue one on the page <a href="/console/${account.aid}/settings">Settings</a>, or with <code>bin/caskade key issue --client ${account.client}</code>.</p>` : table}
${shown.length < usage.length && html`<p class="note">These are the latest ${shown.length} of ${usage.length} keys.</p>`}
<details><summary>What these figures are</summary><p>Requests with a key of ${account.client} to <code>POST /subscription</code> in this month of UTC, to all accounts of the client, simulated ones included, as <code>bin/caskade usage --client ${account.client}</code> counts them. The forecast is what the month will have if it goes on as it did so far. Beyond its quota a key is answered 429 until the reset.</p></details></section>`;
}

/** The requests of the whole month, if they come as often as until now. */
export function forecastOf({ month, used, resetsAt }: KeyUsage, nowMs: number): number {
	const [fromMs, toMs] = [Date.parse(`${month}-01T00:00:00Z`), Date.parse(resetsAt)];
	const part = (nowMs - fromMs) / (toMs - fromMs);
	return part > 0 && part < 1 ? Math.round(used / part) : used;
}

async function latest({ store, account, calendar, now }: AskedOfAccount): Promise<Html> {
	const events = await store.read(account.id, latestEvents(now(), readEvents));
	const money = moneyOf(account.currency);
	const nameOfUpload = ({ receivedAtMs, requestId }: TracedEvent) => `${receivedAtMs} ${requestId}`;
	const uploads = [...Map.groupBy(events, nameOfUpload).values()];
	// The last one may go on among events that were not read.
	const whole = events.length < readEvents || uploads.length === 1 ? uploads : uploads.slice(0, -1);
	const shown = whole.slice(0, shownUploads);
	const table = pageTable('Latest uploads', shown, {
		Received: ([one]) => one && calendar.timeOf(one.receivedAtMs),
		'Request…': ([one]) => (one?.requestId ? html`<code>${nameOf(one.requestId)}</code>` : 'imported'),
		'Key…': ([one]) => (one?.keyId ? html`<code>${one.keyId}</code>` : '-'),
		'#Events stored': (own) => own.length,
		'#Amount': (own) => money(own.reduce((sum, { rvn }) => sum + rvn, 0)),
		'One of them…': ([one]) =>
			one && html`<a href="${eventPath(account.aid, one.tid)}">${nameOf(one.tid)}</a>`,
	});
	return html`<section class="section" aria-labelledby="latest" data-part="latest"><h2 id="latest">Latest uploads</h2>
${shown.length === 0 ? html`<p class="empty">Nothing is stored yet. The back end sends events to <code>POST /subscription</code>; a file goes in with <code>bin/caskade upload FILE --aid ${account.aid}</code>.</p>` : table}
<p class="note">Times are in ${calendar.timezone}. ${shown.length > 0 && `These are the latest ${counted(shown.length, 'upload')}. `}Requests that stored nothing, repeats among them, are not here.</p></section>`;
}
