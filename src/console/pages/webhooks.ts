import { may } from '../../domain/person.ts';
import { receiverUrl, webhookEvents, webhookEventsOf } from '../../domain/webhook.ts';
import { dayMs } from '../../durations.ts';
import { OperatorError } from '../../errors.ts';
import { type Html, html } from '../../format/html.ts';
import { formatNumber } from '../../format/numbers.ts';
import { pastMoment } from '../../format/values.ts';
import { type Delivery, deliveries } from '../../store/account/webhooks/outbox.ts';
import type { StoredWebhook, WebhookSecret } from '../../store/control/webhooks.ts';
import { deleteWebhook, replayMessages } from '../../webhooks/old-messages.ts';
import { checkReceiver } from '../../webhooks/receiver.ts';
import { keepMessagesMs } from '../../webhooks/retry.ts';
import { checkField, fieldOf, formOf, hiddenFields, linesField, linesOf, textField } from '../form.ts';
import { type Actions, type AskedOfAccount, accountPage } from '../page.ts';
import { factList, nameOf, pageTable, timeOf } from '../page-table.ts';

const shownDeliveries = 50;

/** The webhook that a form names. */
const idOf = ({ form }: AskedOfAccount) => form.get('webhook') ?? '';

const actions: Actions<AskedOfAccount> = {
	async create(asked) {
		const settings = await settingsOf(asked);
		const webhook = await asked.store.control.createWebhook(asked.account.id, settings);
		await asked.note('webhook created', webhook.id);
		return onceSecret(asked, webhook);
	},
	async update(asked) {
		const id = idOf(asked);
		const { control } = asked.store;
		const stored = await control.webhook(asked.account.id, id);
		await control.updateWebhook(asked.account.id, id, await settingsOf(asked, stored));
		await asked.note('webhook updated', id);
	},
	async test(asked) {
		const id = idOf(asked);
		const { sendTest } = await import('../../webhooks/test-message.ts');
		const { status, problem, tookMs, url } = await sendTest(asked.store, asked.account, id);
		await asked.note('webhook tested', id);
		return {
			once: html`<p class="${problem === null ? 'empty' : 'problem'}" role="status">${url} has answered ${status ?? 'nothing'} after ${formatNumber(tookMs)} ms. ${problem === null ? 'The test message is delivered.' : `The test message is not delivered: ${problem}.`}</p>
<p><a href="${asked.request.path}">To the webhooks</a></p>`,
		};
	},
	async rotate(asked) {
		const id = idOf(asked);
		const secret = await asked.store.control.rotateWebhookSecret(asked.account.id, id);
		await asked.note('webhook rotated', id);
		return onceSecret(asked, secret, 'For 24 hours messages are signed with the previous one as well.');
	},
	async disable(asked) {
		const id = idOf(asked);
		await asked.store.control.setWebhookDisabled(asked.account.id, id, 'operator');
		await asked.note('webhook disabled', id);
	},
	async enable(asked) {
		const id = idOf(asked);
		await asked.store.control.setWebhookDisabled(asked.account.id, id, null);
		await asked.note('webhook enabled', id);
	},
	async delete(asked) {
		const id = idOf(asked);
		await deleteWebhook(asked.store, asked.account.id, id);
		await asked.note('webhook deleted', id);
	},
	async replay(asked) {
		const id = idOf(asked);
		const { store, account, form, now } = asked;
		const sinceMs = fieldOf(form, 'since', 'Since', (text) => pastMoment(text, now()));
		const messages = await replayMessages(store, account, id, sinceMs);
		await asked.note('webhook replayed', id);
		return {
			once: html`<p class="empty" role="status">${formatNumber(messages)} messages are sent again.</p>
<p><a href="${asked.request.path}">To the webhooks</a></p>`,
		};
	},
};

/** What `caskade webhook` can do: receivers, and how deliveries to them went. */
export const webhooksPage = accountPage({
	path: ':aid/webhooks',
	title: 'Webhooks',
	menu: 'Webhooks',
	right: 'operate',
	async get(asked) {
		const { store, account, query, request } = asked;
		const webhooks = await store.control.webhooks(account.id);
		const chosen = query.get('webhook') || undefined;
		const failed = query.has('failed');
		const found = await store.read(
			account.id,
			deliveries({ webhook: chosen, failed, limit: shownDeliveries }),
		);
		return html`<p>URLs that are notified when visitors of the account change. A message that is not answered with 2xx is sent again, after 5 s and then at growing intervals, for three days. A webhook that answers 410, or fails for three days, is disabled.</p>
${webhooks.length === 0 && html`<p class="empty">No webhooks. Add one below, or with <code>bin/caskade webhook create ${account.aid} --url https://crm.example/hooks --events segment.entered</code>.</p>`}
${webhooks.map((webhook) => webhookSection(asked, webhook))}
<section class="section"><h2>Add a webhook</h2>
${formOf(asked, 'create', settingFields(asked), 'Add, and show its secret once')}</section>
<section class="section"><h2>Latest deliveries</h2>
<form method="get" action="${request.path}" class="view">
<label>Webhook <select name="webhook"><option value="">all</option>${webhooks.map(({ id }) => html`<option${id === chosen && html` selected`}>${id}</option>`)}</select></label>
<label><input type="checkbox" name="failed"${failed && html` checked`}> only those that were attempted and not delivered</label>
<button>Show</button>
</form>
${found.length === 0 ? html`<p class="empty">No messages.</p>` : deliveryTable(found)}
<p class="note">These are the latest ${shownDeliveries} at most; messages are kept for ${keepMessagesMs / dayMs} days. All: <code>bin/caskade webhook deliveries ${account.aid} --limit 10000</code>.</p></section>`;
	},
	actions,
	questions: {
		async delete(asked) {
			const { url } = await asked.store.control.webhook(asked.account.id, idOf(asked));
			return {
				what: html`<p class="warning">The webhook to ${url} would be deleted with its secret and all its messages, those that wait among them, for good. To stop messages for a while, disable it.</p>`,
				name: idOf(asked),
			};
		},
	},
});

/**
 * What a form says. That the server may ask an address of a private network is said by those who run it, and of an origin:
 * whoever else moves the webhook to another one loses it.
 */
async function settingsOf({ form, person }: AskedOfAccount, stored?: StoredWebhook) {
	const url = fieldOf(form, 'url', 'URL', receiverUrl);
	const isPermitted = stored?.allowPrivate === true && new URL(stored.url).origin === new URL(url).origin;
	const settings = {
		url,
		events: [...new Set(linesOf(form, 'events', 'Events', webhookEventsOf).flat())],
		withCid: form.has('withCid'),
		allowPrivate: may(person, null, 'administer') ? form.has('allowPrivate') : isPermitted,
	};
	if (settings.events.length === 0)
		throw new OperatorError(`Events: Name at least one of ${webhookEvents.join(', ')}.`);
	await checkReceiver(settings);
	return settings;
}

function settingFields({ person }: AskedOfAccount, webhook?: StoredWebhook): Html {
	const { url = '', events = [], withCid = false, allowPrivate = false, id = 'new' } = webhook ?? {};
	return html`${textField('url', 'URL', url, { isRequired: true, hint: 'where messages are sent: https://…' })}
${linesField('events', 'Events', events, `what it is notified of, one on each line: ${webhookEvents.join(', ')}`, id)}
${checkField('withCid', 'messages contain the last customer id that the visitor has shown', withCid)}
${may(person, null, 'administer') && checkField('allowPrivate', 'allow a URL in a private network or on this machine, and plain http', allowPrivate)}`;
}

function webhookSection(asked: AskedOfAccount, webhook: StoredWebhook): Html {
	const { id, url, events, createdAt, disabledAt } = webhook;
	const named = hiddenFields({ webhook: id });
	const since = textField('since', 'Since', '', {
		isRequired: true,
		hint: 'for example 2026-11-21T10:00:00Z: all messages since then are sent again, delivered or not, with the same ids',
	});
	return html`<section class="section" aria-labelledby="${id}"><h2 id="${id}">${id}</h2>
${factList({ URL: url, events: events.join(', '), created: timeOf(createdAt), state: stateOf(webhook) })}
<div class="buttons">${formOf(asked, 'test', named, 'Send a test message')}${disabledAt === null ? formOf(asked, 'disable', named, 'Disable') : formOf(asked, 'enable', named, 'Enable')}</div>
<details><summary>Change, send again, rotate, delete</summary>
${formOf(asked, 'update', [named, settingFields(asked, webhook)], 'Save')}
${formOf(asked, 'replay', [named, since], 'Send again')}
${formOf(asked, 'rotate', named, 'Give it a new secret, and show it once')}
<p class="hint">A webhook is deleted with all its messages.</p>
${formOf(asked, 'delete', named, 'Delete', { look: 'danger' })}
</details></section>`;
}

const whyDisabled = {
	operator: 'somebody has disabled it',
	gone: 'it has answered 410',
	failing: 'it has failed for three days',
} as const;

function stateOf({ disabledAt, disabledWhy, failingSince }: StoredWebhook): Html {
	if (disabledAt !== null)
		return html`<span class="bad">disabled ${timeOf(disabledAt)}</span>: ${whyDisabled[disabledWhy ?? 'operator']}`;
	if (failingSince !== null) return html`<span class="bad">failing since ${timeOf(failingSince)}</span>`;
	return html`<span class="good">enabled</span>`;
}

function deliveryTable(found: readonly Delivery[]): Html {
	const looks = { delivered: 'good', waiting: '', failed: 'bad' } as const;
	return pageTable('Latest deliveries', found, {
		Created: ({ createdAt }) => timeOf(createdAt),
		Type: ({ type }) => type,
		Webhook: ({ webhook }) => webhook,
		State: ({ state }) => html`<span class="${looks[state]}">${state}</span>`,
		'#Attempts': ({ attempts }) => attempts,
		'Last attempt': ({ attemptedAt }) => attemptedAt && timeOf(attemptedAt),
		'#Answer': ({ status }) => status,
		Problem: ({ problem }) => nameOf(problem),
		'Next attempt': ({ nextAttemptAt }) => nextAttemptAt && timeOf(nextAttemptAt),
	});
}

function onceSecret({ request }: AskedOfAccount, { id, secret }: WebhookSecret, more = ''): { once: Html } {
	return {
		once: html`<p>The secret that signs the messages of <code>${id}</code>. Save it now; it cannot be shown again. ${more}</p>
<p><code class="secret">${secret}</code></p>
<p><a href="${request.path}">I have saved it</a></p>`,
	};
}
