import { type Html, html } from '../../format/html.ts';
import { moneyOf } from '../../format/money.ts';
import { counted, formatNumber } from '../../format/numbers.ts';
import { latestEvents, type TracedEvent } from '../../store/account/reading/events.ts';
import { isUsable, type KeyUsage } from '../../store/control/control-store.ts';
import { eventPath } from '../links.ts';
import { type AskedOfAccount, accountPage } from '../page.ts';
import { nameOf, pageTable } from '../page-table.ts';
import { timeOf } from './account.ts';
import { mayKeys, notOnAll } from './settings.ts';

const readEvents = 500;
const shownUploads = 50;
const shownKeys = 100;

/** What keys have used of their quotas, and what came last. */
export const uploadsPage = accountPage({
	path: ':aid/uploads',
	title: 'Uploads',
	menu: 'Uploads',
	right: 'operate',
	get: async (asked) => html`${await quotas(asked)}
${await latest(asked)}`,
});

async function quotas(asked: AskedOfAccount): Promise<Html> {
	const { store, account, now } = asked;
	const heading = html`<h2 id="quotas">Keys and quotas</h2>`;
	if (!(await mayKeys(asked)))
		return html`<section class="section" aria-labelledby="quotas">${heading}
<p>${notOnAll(asked)}</p></section>`;
	const keys = new Map((await store.control.keys(account.client)).map((key) => [key.id, key]));
	const usage = await store.control.usage(account.client);
	const rows = usage.slice(-shownKeys).map((one) => {
		const key = keys.get(one.key);
		const forecast = forecastOf(one, now());
		return [
			html`<code>${one.key}</code>${key?.name && html` ${nameOf(key.name)}`}${key && !isUsable(key, now()) && ' (ended)'}`,
			...[one.plan, formatNumber(one.used), formatNumber(one.remaining), formatNumber(one.quota)],
			forecast > one.quota
				? html`<span class="bad">${formatNumber(forecast)}</span>`
				: formatNumber(forecast),
			timeOf(one.resetsAt),
		];
	});
	return html`<section class="section" aria-labelledby="quotas">${heading}
${
	rows.length === 0
		? html`<p class="empty">No key has been issued, so nobody can upload. Issue one on the page <a href="/console/${account.aid}/settings">Settings</a>, or with <code>npx caskade key issue --client ${account.client}</code>.</p>`
		: pageTable(
				'Keys and quotas',
				['Key…', 'Plan', '#Used this month', '#Left', '#Quota', '#Month at this pace', 'Reset'],
				rows,
			)
}
${rows.length < usage.length && html`<p class="note">These are the latest ${rows.length} of ${usage.length} keys.</p>`}
<details><summary>What these figures are</summary><p>Requests with a key of ${account.client} to <code>POST /subscription</code> in this month of UTC, to all accounts of the client, simulated ones included, as <code>npx caskade usage --client ${account.client}</code> counts them. The forecast is what the month will have if it goes on as it did so far. Beyond its quota a key is answered 429 until the reset.</p></details></section>`;
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
	return html`<section class="section" aria-labelledby="latest"><h2 id="latest">Latest uploads</h2>
${
	shown.length === 0
		? html`<p class="empty">Nothing is stored yet. The back end sends events to <code>POST /subscription</code>; a file goes in with <code>npx caskade upload FILE --aid ${account.aid}</code>.</p>`
		: pageTable(
				'Latest uploads',
				['Received', 'Request…', 'Key…', '#Events stored', '#Amount', 'One of them…'],
				shown.map((own) => {
					const [{ receivedAtMs, requestId, keyId, tid }] = own as [TracedEvent, ...TracedEvent[]];
					return [
						calendar.timeOf(receivedAtMs),
						requestId === null ? 'imported' : html`<code>${nameOf(requestId)}</code>`,
						keyId === null ? '-' : html`<code>${keyId}</code>`,
						formatNumber(own.length),
						money(own.reduce((sum, { rvn }) => sum + rvn, 0)),
						html`<a href="${eventPath(account.aid, tid)}">${nameOf(tid)}</a>`,
					];
				}),
			)
}
<p class="note">Times are in ${calendar.timezone}. ${shown.length > 0 && `These are the latest ${counted(shown.length, 'upload')}. `}Requests that stored nothing, repeats among them, are not here. Requests with wrong rows, and conflicts, are in the log of the server; <code>GET /metrics</code> counts refusals by kind.</p></section>`;
}
