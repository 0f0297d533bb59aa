import { moment } from '../config.ts';
import { receiverUrl, webhookEvents, webhookEventsOf } from '../domain/webhook.ts';
import { dayMs } from '../durations.ts';
import { wholeNumber } from '../format/values.ts';
import { deliveries } from '../store/account/webhooks/outbox.ts';
import type { StoredWebhook, WebhookSecret } from '../store/control/webhooks.ts';
import { deleteWebhook, replayMessages } from '../webhooks/old-messages.ts';
import { checkReceiver } from '../webhooks/receiver.ts';
import { keepMessagesMs } from '../webhooks/retry.ts';
import { command, group } from './command.ts';
import { askOnTerminal } from './confirm.ts';
import { type CommonOptions, print, printJson, printLine, printRecord } from './output.ts';

const keptDays = keepMessagesMs / dayMs;

const id = ['<id>', 'id of the webhook, such as wh_…'] as const;
const url = ['--url <url>', 'where messages are sent: https://…', receiverUrl] as const;
const events = [
	'--events <list>',
	`what it is notified of, for example ${webhookEvents[0]},${webhookEvents[1]}`,
	webhookEventsOf,
] as const;
const withCid = ['--with-cid', 'messages contain the last customer id that the visitor has shown'] as const;
const allowPrivate = [
	'--allow-private',
	'allow a URL in a private network or on this machine, and plain http',
] as const;

const create = command('create', 'add a webhook')
	.description('Add a webhook. The secret that signs its messages is shown only here.')
	.required(...url)
	.required(...events)
	.option(...withCid)
	.option(...allowPrivate)
	.onAccount(async (store, account, options) => {
		const { withCid = false, allowPrivate = false } = options;
		const settings = { url: options.url, events: options.events, withCid, allowPrivate };
		await checkReceiver(settings);
		const webhook = await store.control.createWebhook(account.id, settings);
		showSecret(options, { ...shown(webhook), secret: webhook.secret });
	});

const update = command('update', 'change URL and events')
	.description(
		`Change a webhook; the secret stays. Options that are left out keep their value. Messages that wait are sent to the new
URL. With another URL, failures count from the beginning.`,
	)
	.argument(...id)
	.option(...url)
	.option(...events)
	.option(...withCid)
	.option('--no-with-cid', 'messages contain no customer id')
	.option(...allowPrivate)
	.option('--no-allow-private', 'only public addresses and https')
	.requireChange()
	.onAccount(async (store, account, options, webhook) => {
		const known = await store.control.webhook(account.id, webhook);
		const { url = known.url, events = known.events } = options;
		const { withCid = known.withCid, allowPrivate = known.allowPrivate } = options;
		const settings = { url, events, withCid, allowPrivate };
		await checkReceiver(settings);
		print(options, shown(await store.control.updateWebhook(account.id, webhook, settings)));
	});

const list = command('list', 'list the webhooks of an account').onAccount(
	async (store, { aid, id }, options) => {
		const webhooks = (await store.control.webhooks(id)).map(shown);
		print(options, webhooks, `No webhooks. 'caskade webhook create ${aid}' adds one.`);
	},
);

const test = command('test', 'send a test message')
	.description('Send a message of the type webhook.test from this machine, once, and print the answer.')
	.argument(...id)
	.onAccount(async (store, account, options, webhook) => {
		const { sendTest } = await import('../webhooks/test-message.ts');
		const tested = await sendTest(store, account, webhook);
		print(options, tested);
		if (tested.problem !== null) process.exitCode = 1;
	});

const rotate = command('rotate', 'give a webhook a new secret')
	.description('Give a webhook a new secret. For 24 hours messages are signed with the previous one as well.')
	.argument(...id)
	.onAccount(async (store, account, options, webhook) =>
		showSecret(options, await store.control.rotateWebhookSecret(account.id, webhook)),
	);

const setDisabled = (name: string, text: string, why: 'operator' | null) =>
	command(name, text)
		.argument(...id)
		.onAccount(async (store, account, options, webhook) =>
			print(options, shown(await store.control.setWebhookDisabled(account.id, webhook, why))),
		);

const remove = command('delete', 'delete a webhook and all its messages')
	.argument(...id)
	.option('--yes', 'delete without asking')
	.onAccount(async (store, account, options, webhook) => {
		const { url } = await store.control.webhook(account.id, webhook);
		await askOnTerminal(
			`The webhook to ${url} would be deleted, with its secret and all its messages.`,
			webhook,
			options,
		);
		await deleteWebhook(store, account.id, webhook);
		print(options, { deleted: webhook }, `Webhook ${webhook} is deleted.`);
	});

const listDeliveries = command('deliveries', 'list the latest messages')
	.description(`List the latest messages and how their delivery went. They are kept for ${keptDays} days.`)
	.option('--webhook <id>', 'only messages to this webhook')
	.option('--failed', 'only those that were attempted and not delivered')
	.option('--limit <number>', 'maximum number to list', wholeNumber(1, 10_000), 50)
	.onAccount(async (store, { id }, options) => {
		const { webhook, failed = false, limit } = options;
		print(options, await store.read(id, deliveries({ webhook, failed, limit })), 'No messages.');
	});

const replay = command('replay', 'send messages again')
	.description(
		`Send a webhook all messages since a time again, delivered or not, with the same ids.
They are kept for ${keptDays} days.`,
	)
	.argument(...id)
	.required('--since <time>', 'for example 2026-11-21T10:00:00Z', moment)
	.onAccount(async (store, account, options, webhook) => {
		const messages = await replayMessages(store, account, webhook, options.since);
		print(options, { webhook, messages }, `${messages} messages are sent again.`);
	});

export const webhookCommand = group(
	'webhook',
	'notify a URL of changes of visitors',
	`Manage webhooks: URLs that are notified when visitors of an account change. Messages are signed according to
Standard Webhooks 1.0.0; docs/webhooks.md shows how to verify them.

  segment.entered, segment.left   a visitor has entered or left a segment
  score.band.changed              a score is now low, medium or high
  goal.reached                    a visitor has reached a goal
  subscription.conflict           an upload repeats a tid with other content

A message that is not answered with 2xx is sent again, after 5 s and then at growing intervals, for three days. A webhook that
answers 410, or fails for three days, is disabled.`,
	[
		create,
		list,
		update,
		test,
		rotate,
		setDisabled('disable', 'stop sending to a webhook; changes from now on are not kept for it', 'operator'),
		setDisabled('enable', 'send to a webhook again, starting with messages that still wait', null),
		remove,
		listDeliveries,
		replay,
	],
);

function shown(webhook: StoredWebhook) {
	const { id, url, events: told, withCid, allowPrivate, createdAt, failingSince } = webhook;
	const { disabledAt, disabledWhy } = webhook;
	return { id, url, events: told, withCid, allowPrivate, createdAt, failingSince, disabledAt, disabledWhy };
}

function showSecret({ json }: CommonOptions, webhook: WebhookSecret): void {
	if (json) printJson(webhook);
	else {
		printRecord({ ...webhook });
		printLine('Save the secret now; it cannot be shown again.');
	}
}
