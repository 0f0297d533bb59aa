import { Argument, Option } from 'commander';
import { moment, refusing, wholeNumber } from '../config.ts';
import { receiverUrl, type WebhookEvent, webhookEvents, webhookEventsOf } from '../domain/webhook.ts';
import { dayMs } from '../durations.ts';
import { deliveries } from '../store/account/webhooks/outbox.ts';
import type { StoredWebhook, WebhookSecret } from '../store/control/control-store.ts';
import { deleteWebhook, replayMessages } from '../webhooks/old-messages.ts';
import { checkReceiver } from '../webhooks/receiver.ts';
import { keepMessagesMs } from '../webhooks/retry.ts';
import { aidArgument } from './aid-argument.ts';
import { Command } from './command.ts';
import { type CommonOptions, print, printJson, printLine, printRecord } from './output.ts';

const keptDays = keepMessagesMs / dayMs;

const idArgument = () => new Argument('<id>', 'id of the webhook, such as wh_…');

interface CreateOptions extends CommonOptions {
	readonly url: string;
	readonly events: readonly WebhookEvent[];
	readonly withCid?: boolean;
	readonly allowPrivate?: boolean;
}

interface DeliveriesOptions extends CommonOptions {
	readonly webhook?: string;
	readonly failed?: boolean;
	readonly limit: number;
}

export function webhookCommand(): Command {
	const command = new Command('webhook').summary('notify a URL of changes of visitors').description(
		`Manage webhooks: URLs that are notified when visitors of an account change. Messages are signed according to
Standard Webhooks 1.0.0; docs/webhooks.md shows how to verify them.

  segment.entered, segment.left   a visitor has entered or left a segment
  score.band.changed              a score is now low, medium or high
  goal.reached                    a visitor has reached a goal
  subscription.conflict           an upload repeats a tid with other content

A message that is not answered with 2xx is sent again, after 5 s and then at growing intervals, for three days. A webhook that
answers 410, or fails for three days, is disabled.`,
	);
	createCommand(command);
	listCommand(command);
	updateCommand(command);
	testCommand(command);
	rotateCommand(command);
	disableCommand(command);
	enableCommand(command);
	deleteCommand(command);
	deliveriesCommand(command);
	replayCommand(command);
	return command;
}

const urlOption = () =>
	new Option('--url <url>', 'where messages are sent: https://…').argParser(refusing(receiverUrl));
const eventsOption = () =>
	new Option(
		'--events <list>',
		`what it is notified of, for example ${webhookEvents[0]},${webhookEvents[1]}`,
	).argParser(refusing(webhookEventsOf));
const withCidOption = () =>
	new Option('--with-cid', 'messages contain the last customer id that the visitor has shown');
const allowPrivateOption = () =>
	new Option('--allow-private', 'allow a URL in a private network or on this machine, and plain http');

function createCommand(command: Command): void {
	command
		.command('create')
		.summary('add a webhook')
		.description('Add a webhook. The secret that signs its messages is shown only here.')
		.addArgument(aidArgument())
		.addOption(urlOption().makeOptionMandatory())
		.addOption(eventsOption().makeOptionMandatory())
		.addOption(withCidOption())
		.addOption(allowPrivateOption())
		.onAccount(async (store, { id }, options: CreateOptions) => {
			const { withCid = false, allowPrivate = false } = options;
			const settings = { url: options.url, events: options.events, withCid, allowPrivate };
			await checkReceiver(settings);
			const webhook = await store.control.createWebhook(id, settings);
			showSecret(options, { ...shown(webhook), secret: webhook.secret });
		});
}

function updateCommand(command: Command): void {
	command
		.command('update')
		.summary('change URL and events')
		.description(
			`Change a webhook; the secret stays. Options that are left out keep their value. Messages that wait are sent to the new
URL. With another URL, failures count from the beginning.`,
		)
		.addArgument(aidArgument())
		.addArgument(idArgument())
		.addOption(urlOption())
		.addOption(eventsOption())
		.addOption(withCidOption())
		.addOption(new Option('--no-with-cid', 'messages contain no customer id'))
		.addOption(allowPrivateOption())
		.addOption(new Option('--no-allow-private', 'only public addresses and https'))
		.requireChange()
		.onAccount(async (store, account, options: CommonOptions & Partial<CreateOptions>, id: string) => {
			const known = await store.control.webhook(account.id, id);
			const { withCid = known.withCid, allowPrivate = known.allowPrivate } = options;
			const settings = {
				url: options.url ?? known.url,
				events: options.events ?? known.events,
				withCid,
				allowPrivate,
			};
			await checkReceiver(settings);
			print(options, shown(await store.control.updateWebhook(account.id, id, settings)));
		});
}

function listCommand(command: Command): void {
	command
		.command('list')
		.description('list the webhooks of an account')
		.addArgument(aidArgument())
		.onAccount(async (store, { aid, id }, options) => {
			const webhooks = (await store.control.webhooks(id)).map(shown);
			print(options, webhooks, `No webhooks. 'caskade webhook create ${aid}' adds one.`);
		});
}

function testCommand(command: Command): void {
	command
		.command('test')
		.summary('send a test message')
		.description('Send a message of the type webhook.test from this machine, once, and print the answer.')
		.addArgument(aidArgument())
		.addArgument(idArgument())
		.onAccount(async (store, account, options, id: string) => {
			const { sendTest } = await import('../webhooks/test-message.ts');
			const tested = await sendTest(store, account, id);
			print(options, tested);
			if (tested.problem !== null) process.exitCode = 1;
		});
}

function rotateCommand(command: Command): void {
	command
		.command('rotate')
		.summary('give a webhook a new secret')
		.description(
			'Give a webhook a new secret. For 24 hours messages are signed with the previous one as well.',
		)
		.addArgument(aidArgument())
		.addArgument(idArgument())
		.onAccount(async (store, account, options, id: string) =>
			showSecret(options, await store.control.rotateWebhookSecret(account.id, id)),
		);
}

function disableCommand(command: Command): void {
	command
		.command('disable')
		.description('stop sending to a webhook; changes from now on are not kept for it')
		.addArgument(aidArgument())
		.addArgument(idArgument())
		.onAccount(async (store, account, options, id: string) =>
			print(options, shown(await store.control.setWebhookDisabled(account.id, id, 'operator'))),
		);
}

function enableCommand(command: Command): void {
	command
		.command('enable')
		.description('send to a webhook again, starting with messages that still wait')
		.addArgument(aidArgument())
		.addArgument(idArgument())
		.onAccount(async (store, account, options, id: string) =>
			print(options, shown(await store.control.setWebhookDisabled(account.id, id, null))),
		);
}

function deleteCommand(command: Command): void {
	command
		.command('delete')
		.description('delete a webhook and all its messages')
		.addArgument(aidArgument())
		.addArgument(idArgument())
		.onAccount(async (store, account, options, id: string) => {
			await deleteWebhook(store, account.id, id);
			print(options, { deleted: id }, `Webhook ${id} is deleted.`);
		});
}

function deliveriesCommand(command: Command): void {
	command
		.command('deliveries')
		.summary('list the latest messages')
		.description(`List the latest messages and how their delivery went. They are kept for ${keptDays} days.`)
		.addArgument(aidArgument())
		.option('--webhook <id>', 'only messages to this webhook')
		.option('--failed', 'only those that were attempted and not delivered')
		.addOption(
			new Option('--limit <number>', 'maximum number to list').default(50).argParser(wholeNumber(1, 10_000)),
		)
		.onAccount(async (store, { id }, options: DeliveriesOptions) => {
			const { webhook, failed = false, limit } = options;
			const found = await store.read(id, deliveries({ webhook, failed, limit }));
			print(options, found, 'No messages.');
		});
}

function replayCommand(command: Command): void {
	command
		.command('replay')
		.summary('send messages again')
		.description(
			`Send a webhook all messages since a time again, delivered or not, with the same ids.
They are kept for ${keptDays} days.`,
		)
		.addArgument(aidArgument())
		.addArgument(idArgument())
		.addOption(
			new Option('--since <time>', 'for example 2026-11-21T10:00:00Z')
				.argParser(moment)
				.makeOptionMandatory(),
		)
		.onAccount(async (store, account, options: CommonOptions & { since: number }, id: string) => {
			const messages = await replayMessages(store, account, id, options.since);
			print(options, { webhook: id, messages }, `${messages} messages are sent again.`);
		});
}

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
