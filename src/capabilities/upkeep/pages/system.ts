import { dayMs, hourMs, minuteMs } from '../../../core/durations.ts';
import { isoTime } from '../../../core/format/iso-time.ts';
import { formatNumber } from '../../../core/format/numbers.ts';
import type { MeasuredFigure } from '../../../core/metrics.ts';
import { commit, version } from '../../../core/version.ts';
import { systemPath } from '../../../kit/console/exchange.ts';
import { formOf } from '../../../kit/console/form.ts';
import type { ConsolePage, PageRequest } from '../../../kit/console/page.ts';
import { factList, pageTable, sortedTable, timeOf } from '../../../kit/console/page-table.ts';
import { planTable } from '../../../kit/console/plan-table.ts';
import { type Html, html } from '../../../kit/format/html.ts';
import { checkInstallation } from '../checks.ts';
import { waitingIn } from '../store/waiting-work.ts';

/** What `caskade status`, `doctor` and `GET /metrics` know. */
export const systemPage: ConsolePage = {
	path: 'system',
	title: 'System',
	menu: 'System',
	place: 16,
	right: 'administer',
	async get(asked) {
		const { store, request } = asked;
		return html`${await status(asked)}
<section class="section"><h2>Checks</h2>
<p>Disk space, keys, the integrity and schema of every database, the stored figures of past days and missing erasures, as <code>caskade doctor</code> checks them. Large databases take a while, and other pages wait.</p>
${formOf(asked, 'doctor', null, 'Check now')}</section>
<section class="section"><h2>Measured since the start</h2>
${request.serving ? figures(request.serving.figures) : html`<p class="empty">There are no figures from the server yet.</p>`}</section>
<section class="section"><h2>Active models</h2>
${models(asked)}</section>
<section class="section"><h2>Usage plans</h2>
${planTable(await store.control.plans())}
<p class="note">A plan is added with <code>caskade plan create NAME --rate 20</code>, and an account with <code>caskade account create AID --client NAME</code>.</p></section>`;
	},
	demands: { doctor: 'session' },
	actions: {
		async doctor({ store, note }) {
			const checks = await Array.fromAsync(checkInstallation(store));
			await note('system checked');
			const table = pageTable('Checks', checks, {
				State: ({ ok, isNote }) =>
					isNote ? 'note' : ok ? html`<span class="good">ok</span>` : html`<span class="bad">CARE</span>`,
				Check: ({ check }) => check,
				Found: ({ detail }) => detail,
			});
			return {
				once: html`${table}
<p><a href="${systemPath}">Back to the system</a></p>`,
			};
		},
	},
};

async function status({ store, request, now }: PageRequest): Promise<Html> {
	const { servers, url, lastBackupAt } = await store.status();
	const { control, accounts } = store.schemas;
	const startedAtMs = request.serving?.startedAtMs;
	const backup = lastBackupAt
		? `${timeOf(lastBackupAt)}, ${formatNumber((now() - Date.parse(lastBackupAt)) / dayMs)} days ago`
		: 'never; run caskade backup FOLDER';
	const waiting = await waitingIn(store);
	return factList({
		Version: version,
		Commit: commit,
		'Schema of the control database': control,
		'Schema of accounts': accounts,
		Started: startedAtMs && `${timeOf(isoTime(startedAtMs))}, ${agoText(now() - startedAtMs)}`,
		'Servers now': servers,
		Address: url,
		Accounts: waiting.accounts,
		'Accounts that cannot be read': waiting.accountsFailing,
		'Profile updates waiting': waiting.foldingWaiting,
		'Webhook messages waiting': waiting.messagesWaiting,
		'Webhooks failing': waiting.webhooksFailing,
		'Last backup': store.takesManyServers ? 'PostgreSQL has backups of its own' : backup,
	});
}

const agoText = (ms: number) =>
	ms < hourMs ? `${Math.floor(ms / minuteMs)} min ago` : `${formatNumber(ms / hourMs)} h ago`;

const digits = new Intl.NumberFormat('en-GB', { maximumSignificantDigits: 3 });

function figures(all: readonly MeasuredFigure[]): Html {
	return html`<p>Names are those of <code>GET /metrics</code>, for this process; durations are in seconds.</p>
${pageTable('Measured', all, {
	'Metric…': ({ name }) => html`<code>${name}</code>`,
	'#Value': ({ value }) => value,
	'#Mean': ({ mean }) => mean !== undefined && digits.format(mean),
	'#99 % at most': ({ p99 }) => p99 !== undefined && (Number.isFinite(p99) ? digits.format(p99) : 'more'),
})}`;
}

function models(asked: PageRequest): Html {
	const all = asked.directory.accounts.flatMap(({ aid, models: active }) =>
		active.map((model) => ({ aid, ...model })),
	);
	if (all.length === 0)
		return html`<p class="empty">No model is active, so everybody gets the base rate. Train some: <code>caskade train AID</code>.</p>`;
	return sortedTable(asked, 'Active models', all, {
		Account: ({ aid }) => html`<a href="/console/${aid}/">${aid}</a>`,
		Goal: ({ goal }) => goal,
		Scores: ({ scope }) => (scope === 'vid' ? 'visitors' : 'visits'),
		Version: ({ version: of }) => of,
		State: ({ isOutside }) =>
			isOutside ? html`<span class="bad">lately, a different rate was observed</span>` : 'as expected',
	});
}
