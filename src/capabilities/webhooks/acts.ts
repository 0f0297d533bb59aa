import { dayMs } from '../../core/durations.ts';
import { counted } from '../../core/format/numbers.ts';
import type { ControlStore } from '../../core/store/control/control-store.ts';
import { act, type GivenFields } from '../../kit/act.ts';
import { moment } from '../../kit/config.ts';
import { listing } from '../../kit/listing.ts';
import { messageTexts, receiverUrl, type Webhook, webhookEvents, webhookEventsOf } from './domain/webhook.ts';
import { deleteMessages, replayMessages } from './old-messages.ts';
import { checkReceiver } from './receiver.ts';
import { keepMessagesMs } from './retry.ts';
import type { StoredWebhook, WebhookSecret } from './store/webhook-store.ts';
import type { sendTest } from './test-message.ts';

const webhook = { flag: '<id>', text: 'id of the webhook, such as wh_…' } as const;
const url = {
	flag: '--url <url>',
	text: 'where messages are sent: https://…',
	parse: receiverUrl,
	label: 'URL',
} as const;
const events = {
	flag: '--events <list>',
	text: `what it is notified of, for example ${webhookEvents[0]},${webhookEvents[1]}`,
	parse: webhookEventsOf,
	someOf: webhookEvents,
	meanings: messageTexts,
} as const;
const withCid = {
	flag: '--with-cid',
	text: 'messages contain the last customer id that the visitor has shown',
	label: 'Messages contain the last customer id of the visitor',
} as const;
const allowPrivate = {
	flag: '--allow-private',
	text: 'allow a URL in a private network or on this machine, and plain http',
	label: 'Allow http://, and addresses in a private network',
} as const;

export const createWebhook = act({
	noun: 'webhook',
	verb: 'create',
	summary: 'add a webhook',
	description: 'Add a webhook. The secret that signs its messages is shown only here.',
	right: 'operate',
	takes: { url, events, withCid, allowPrivate },
	about: ({ id }: StoredWebhook & WebhookSecret) => id,
	prepare: (_, given) => checkReceiver(given),
	async run(control, { account }, given) {
		const { secret, ...webhook } = await control.createWebhook(account.id, given);
		return { ...shownWebhook(webhook), secret };
	},
	remark: () => 'Save the secret now; it cannot be shown again.',
});

const changes = {
	webhook,
	url: { ...url, isOptional: true },
	events: { ...events, isOptional: true },
	withCid: { ...withCid, isOptional: true, negation: ['--no-with-cid', 'messages contain no customer id'] },
	allowPrivate: {
		...allowPrivate,
		isOptional: true,
		negation: ['--no-allow-private', 'only public addresses and https'],
	},
} as const;

/** What a webhook is to be: what is not given stays. */
async function changed(
	control: ControlStore,
	accountId: number,
	{ webhook, ...given }: GivenFields<typeof changes>,
): Promise<Omit<Webhook, 'id'>> {
	const known = await control.webhook(accountId, webhook);
	const { url = known.url, events = known.events } = given;
	const { withCid = known.withCid, allowPrivate = known.allowPrivate } = given;
	return { url, events, withCid, allowPrivate };
}

export const updateWebhook = act({
	noun: 'webhook',
	verb: 'update',
	summary: 'change URL and events',
	description: `Change a webhook; the secret stays. Options that are left out keep their value. Messages that wait are sent to the new
URL. With another URL, failures are counted anew.`,
	right: 'operate',
	takes: changes,
	prepare: async ({ store, account }, given) =>
		checkReceiver(await changed(store.control, account.id, given)),
	run: async (control, { account }, given) =>
		shownWebhook(
			await control.updateWebhook(account.id, given.webhook, await changed(control, account.id, given)),
		),
});

export const rotateWebhook = act({
	noun: 'webhook',
	verb: 'rotate',
	summary: 'give a webhook a new secret',
	description: 'Give a webhook a new secret. For 24 hours messages are signed with the previous one as well.',
	right: 'operate',
	takes: { webhook },
	run: (control, { account }, { webhook }) => control.rotateWebhookSecret(account.id, webhook),
	remark: () => 'Save the secret now; it cannot be shown again.',
});

const setDisabled = (verb: string, summary: string, why: 'operator' | null) =>
	act({
		noun: 'webhook',
		verb,
		demand: 'session',
		summary,
		right: 'operate',
		takes: { webhook },
		run: async (control, { account }, { webhook }) =>
			shownWebhook(await control.setWebhookDisabled(account.id, webhook, why)),
	});

export const disableWebhook = setDisabled(
	'disable',
	'stop sending to a webhook; changes from now on are not kept for it',
	'operator',
);
export const enableWebhook = setDisabled(
	'enable',
	'send to a webhook again, starting with messages that still wait',
	null,
);

export const deleteWebhook = act({
	noun: 'webhook',
	verb: 'delete',
	summary: 'delete a webhook and all its messages',
	right: 'operate',
	takes: { webhook },
	async warning({ store, account }, { webhook: name }) {
		const { url } = await store.control.webhook(account.id, name);
		return {
			what: `The webhook to ${url} would be deleted for good, with its secret and all its messages, even those that still wait.`,
			name,
		};
	},
	run: (control, { account }, { webhook }) => control.deleteWebhook(account.id, webhook),
	finish: ({ store, account }, { webhook }) => deleteMessages(store, account.id, webhook),
});

export const replayWebhook = act({
	noun: 'webhook',
	verb: 'replay',
	summary: 'send messages again',
	description: `Send a webhook all messages since a time again, delivered or not, with the same ids.
They are kept for ${keepMessagesMs / dayMs} days.`,
	right: 'operate',
	takes: {
		webhook,
		since: {
			flag: '--since <time>',
			text: 'for example 2026-11-21T10:00:00Z',
			parse: moment,
			hint: 'For example 2026-11-21T10:00:00Z. All messages since then are sent again, delivered or not, with the same ids.',
		},
	},
	prepare: ({ store, account }, { webhook, since }) => replayMessages(store, account, webhook, since),
	async run(control, _, { webhook }, messages: number) {
		// Makes running servers look for them.
		await control.announceWebhooks();
		return { webhook, messages };
	},
	line: (_, { messages }) => `Sent again: ${counted(messages, 'message')}.`,
});

export const testWebhook = act({
	noun: 'webhook',
	verb: 'test',
	// To the address that it has, without data of a person.
	demand: 'session',
	summary: 'send a test message',
	description: 'Send a message of the type webhook.test from this machine, once, and print the answer.',
	right: 'operate',
	takes: { webhook },
	async prepare({ store, account }, { webhook }) {
		const { sendTest } = await import('./test-message.ts');
		return sendTest(store, account, webhook);
	},
	run: async (_control, _place, _given, tested: Awaited<ReturnType<typeof sendTest>>) => tested,
	hasFailed: ({ problem }) => problem !== null,
});

/** Without its secret, in the order that people read. */
export function shownWebhook(webhook: StoredWebhook): StoredWebhook {
	const { id, url, events, withCid, allowPrivate, createdAt, failingSince } = webhook;
	const { disabledAt, disabledWhy } = webhook;
	return { id, url, events, withCid, allowPrivate, createdAt, failingSince, disabledAt, disabledWhy };
}

export const webhookList = listing({
	noun: 'webhook',
	summary: 'list the webhooks of an account',
	empty: ({ aid }) => `No webhooks. 'caskade webhook create ${aid}' adds one.`,
	read: async ({ control }, { id }) => (await control.webhooks(id)).map(shownWebhook),
});
