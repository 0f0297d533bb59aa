import { dayMs } from '../../../core/durations.ts';
import { nounCommand } from '../../../kit/cli/act-command.ts';
import { command } from '../../../kit/cli/command.ts';
import { print } from '../../../kit/cli/output.ts';
import { wholeNumber } from '../../../kit/format/values.ts';
import * as acts from '../acts.ts';
import { messageTexts } from '../domain/webhook.ts';
import { keepMessagesMs } from '../retry.ts';
import { deliveries } from '../store/outbox.ts';

const keptDays = keepMessagesMs / dayMs;

const listDeliveries = command('deliveries', 'list the latest messages')
	.description(`List the latest messages and how their delivery went. They are kept for ${keptDays} days.`)
	.option('--webhook <id>', 'only messages to this webhook')
	.option('--failed', 'only those that were attempted and not delivered')
	.option('--limit <number>', 'maximum number to list', wholeNumber(1, 10_000), 50)
	.onAccount(async (store, { id }, options) => {
		const { webhook, failed = false, limit } = options;
		print(options, await store.read(id, deliveries({ webhook, failed, limit })), 'No messages.');
	});

export const webhookCommand = nounCommand(
	'webhook',
	'notify a URL when visitors change',
	`Manage webhooks: URLs that are notified when visitors of an account change. Messages are signed according to
Standard Webhooks 1.0.0; docs/how-to/webhooks.md shows how to verify them.

${Object.entries(messageTexts)
	.map(([type, text]) => `  ${type.padEnd(22)}  ${text}`)
	.join('\n')}

A message that is not answered with 2xx is sent again, after 5 s and then at growing intervals, for three days. A webhook that
answers 410, or fails for three days, is disabled.`,
	acts,
	[listDeliveries],
);
