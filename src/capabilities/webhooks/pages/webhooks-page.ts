import { dayMs } from '../../../core/durations.ts';
import { counted, formatNumber } from '../../../core/format/numbers.ts';
import { actFields, actGiven, acting, doing, warningOf } from '../../../kit/console/act-form.ts';
import { formOf, hiddenFields } from '../../../kit/console/form.ts';
import { type AccountRequest, type Actions, accountPage } from '../../../kit/console/page.ts';
import { factList, nameOf, sortedTable, timeOf } from '../../../kit/console/page-table.ts';
import { type Html, html } from '../../../kit/format/html.ts';
import { may } from '../../../kit/person.ts';
import {
	createWebhook,
	deleteWebhook,
	disableWebhook,
	enableWebhook,
	replayWebhook,
	rotateWebhook,
	testWebhook,
	updateWebhook,
} from '../acts.ts';
import { keepMessagesMs } from '../retry.ts';
import { type Delivery, deliveries } from '../store/outbox.ts';
import type { StoredWebhook, WebhookSecret } from '../store/webhook-store.ts';

const maxListed = 1000;

/** The webhook that a form names. */
const idOf = ({ form }: AccountRequest) => form.get('webhook') ?? '';

const actions: Actions<AccountRequest> = {
	create: acting(createWebhook, async (asked: AccountRequest) =>
		onceSecret(asked, await asked.act(createWebhook, settingsOf(asked))),
	),
	update: acting(updateWebhook, async (asked: AccountRequest) => {
		const stored = await asked.store.control.webhook(asked.account.id, idOf(asked));
		await asked.act(updateWebhook, { webhook: stored.id, ...settingsOf(asked, stored) });
	}),
	test: doing(testWebhook, ({ request }, { status, problem, tookMs, url }) => ({
		once: html`<p class="${problem === null ? 'empty' : 'problem'}" role="status">${url} has answered ${status ?? 'nothing'} after ${formatNumber(tookMs)} ms. ${problem === null ? 'The test message is delivered.' : `The test message is not delivered: ${problem}.`}</p>
<p><a href="${request.path}">Back to the webhooks</a></p>`,
	})),
	rotate: doing(rotateWebhook, (asked, secret) =>
		onceSecret(asked, secret, 'For 24 hours messages are signed with the previous one as well.'),
	),
	disable: doing(disableWebhook),
	enable: doing(enableWebhook),
	delete: doing(deleteWebhook),
	replay: doing(replayWebhook, ({ request }, { messages }) => ({
		once: html`<p class="empty" role="status">Sent again: ${counted(messages, 'message')}.</p>
<p><a href="${request.path}">Back to the webhooks</a></p>`,
	})),
};

/** What `caskade webhook` can do: receivers, and how deliveries to them went. */
export const webhooksPage = accountPage({
	path: ':aid/webhooks',
	title: 'Webhooks',
	menu: 'Webhooks',
	place: 13,
	right: 'operate',
	async get(asked) {
		const { store, account, query, request } = asked;
		const webhooks = await store.control.webhooks(account.id);
		const chosen = query.get('webhook') || undefined;
		const failed = query.has('failed');
		const found = await store.read(account.id, deliveries({ webhook: chosen, failed, limit: maxListed }));
		return html`<p>URLs that get a message when visitors of the account change. A message that is not answered with 2xx is sent again after 5 s, then less and less often, for three days. A webhook that answers 410, or fails for three days, is disabled.</p>
${webhooks.length === 0 && html`<p class="empty">No webhooks. Add one below, or with <code>caskade webhook create ${account.aid} --url https://crm.example/hooks --events segment.entered</code>.</p>`}
${webhooks.map((webhook) => webhookSection(asked, webhook))}
<section class="section"><h2>Add a webhook</h2>
${formOf(asked, 'create', settingFields(asked), 'Add, and show its secret once')}</section>
<section class="section"><h2>Latest deliveries</h2>
<form method="get" action="${request.path}" class="view">
<label>Webhook <select name="webhook"><option value="">all</option>${webhooks.map(({ id }) => html`<option${id === chosen && html` selected`}>${id}</option>`)}</select></label>
<label><input type="checkbox" name="failed"${failed && html` checked`}> only those that failed</label>
<button>Show</button>
</form>
${found.length === 0 ? html`<p class="empty">No messages.</p>` : deliveryTable(asked, found)}
<p class="note">${found.length === maxListed && `These are the latest ${formatNumber(maxListed)}. `}Messages are kept for ${keepMessagesMs / dayMs} days. More are listed by <code>caskade webhook deliveries ${account.aid} --limit 10000</code>.</p></section>`;
	},
	actions,
	questions: {
		delete: warningOf(deleteWebhook, async (asked) => ({ webhook: idOf(asked) })),
	},
});

const { allowPrivate: _, ...ofEverybody } = createWebhook.takes;

/**
 * What a form says. That the server may ask an address of a private network is said by those who run it, and of an origin:
 * whoever else moves the webhook to another one loses it.
 */
function settingsOf({ form, person }: AccountRequest, stored?: StoredWebhook) {
	const given = actGiven(ofEverybody, form);
	const isPermitted =
		stored?.allowPrivate === true && new URL(stored.url).origin === new URL(given.url).origin;
	const isAdmin = may(person, null, 'administer');
	return { ...given, allowPrivate: isAdmin ? form.has('allowPrivate') : isPermitted };
}

function settingFields({ person }: AccountRequest, webhook?: StoredWebhook): Html {
	const takes = may(person, null, 'administer') ? createWebhook.takes : ofEverybody;
	return actFields(takes, webhook && { ...webhook });
}

function webhookSection(asked: AccountRequest, webhook: StoredWebhook): Html {
	const { id, url, events, createdAt, disabledAt } = webhook;
	const named = hiddenFields({ webhook: id });
	return html`<section class="section" aria-labelledby="${id}"><h2 id="${id}">${id}</h2>
${factList({ URL: url, events: events.join(', '), created: timeOf(createdAt), state: stateOf(webhook) })}
<div class="buttons">${formOf(asked, 'test', named, 'Send a test message')}${disabledAt === null ? formOf(asked, 'disable', named, 'Disable') : formOf(asked, 'enable', named, 'Enable')}</div>
<details><summary>Change, send again, new secret, delete</summary>
${formOf(asked, 'update', [named, settingFields(asked, webhook)], 'Save')}
${formOf(asked, 'replay', [named, actFields(replayWebhook.takes)], 'Send again')}
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

function deliveryTable(asked: AccountRequest, found: readonly Delivery[]): Html {
	const looks = { delivered: 'good', waiting: '', failed: 'bad' } as const;
	return sortedTable(asked, 'Latest deliveries', found, {
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

function onceSecret({ request }: AccountRequest, { id, secret }: WebhookSecret, more = ''): { once: Html } {
	return {
		once: html`<p>The secret that signs the messages of <code>${id}</code>. Save it now; it cannot be shown again. ${more}</p>
<p><code class="secret">${secret}</code></p>
<p><a href="${request.path}">I have saved it</a></p>`,
	};
}
