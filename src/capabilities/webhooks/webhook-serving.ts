import type { Server, ServingPart } from '../../core/api/serving-part.ts';
import { accountsWithWebhooks, countFailing } from './active.ts';
import { promisesBroken } from './jobs/promises-broken.ts';

/** A message to the background work of webhooks: whose visitors may have changed. */
export type ToWebhooks = readonly number[];

const watchEveryMs = 500;
const announceAfterMs = 100;

/** Tells the background work that there are webhooks, and whose visitors may have changed. */
export function announceChanges({ background, directory, metrics }: Server): ServingPart {
	if (!background) return {};
	const post = (accountIds: ToWebhooks) => background.post('webhooks', accountIds);
	metrics.watch(
		{
			name: 'caskade_webhook_attempts_total',
			help: 'Attempts to deliver messages to webhooks, by outcome.',
			label: 'outcome',
			isCount: true,
		},
		() => ({ delivered: background.count('delivered'), failed: background.count('failed') }),
	);
	metrics.watch(
		{
			name: 'caskade_webhooks_disabled_total',
			help: 'Webhooks that were disabled because they failed for three days or answered 410.',
			isCount: true,
		},
		() => background.count('disabled'),
	);
	metrics.watch(
		{
			name: 'caskade_webhooks_failing',
			help: 'Webhooks whose deliveries have all failed for over a minute.',
			// Every process knows of all webhooks.
			isOfAll: true,
		},
		() => countFailing(directory.snapshot),
	);
	metrics.watch(promisesBroken, () => background.level(promisesBroken.name));
	const changed = new Set<number>();
	const look = () => {
		if (accountsWithWebhooks(directory.snapshot).length === 0) return;
		clearInterval(watching);
		background.keepPosting('webhooks', []);
	};
	const watching = setInterval(look, watchEveryMs).unref();
	look();
	return {
		onVisitorChange(accountId) {
			if (changed.size === 0)
				setTimeout(() => {
					post([...changed]);
					changed.clear();
				}, announceAfterMs).unref();
			changed.add(accountId);
		},
		stop: () => clearInterval(watching),
	};
}
