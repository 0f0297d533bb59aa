import { randomUUID } from 'node:crypto';
import { reasonOf } from '../../../core/errors.ts';
import type { BackgroundPart, BackgroundPlace } from '../../../kit/jobs/background-part.ts';
import type { ToWebhooks } from '../webhook-serving.ts';
import { runPromises } from './promises-job.ts';
import type { WebhookJob } from './webhook-job.ts';

/** Evaluates visitors and sends messages from the first webhook on: most installations have none. */
export function tellReceivers(at: BackgroundPlace): BackgroundPart {
	const { store, work, log, signal } = at;
	const ending: Promise<void>[] = [];
	let webhooks: Promise<WebhookJob> | undefined;
	async function start(): Promise<WebhookJob> {
		const { WebhookJob } = await import('./webhook-job.ts');
		const { AccessDirectory } = await import('../../../core/access/directory.ts');
		const { scorerOf } = await import('../../../core/scoring/serve/visitor-scorer.ts');
		const onError = (error: unknown) => log.error({ reason: reasonOf(error) }, 'webhooks failed');
		const directory = await AccessDirectory.load(store.control, onError);
		const reader = store.startReading();
		const scorer = scorerOf(store, { reader, now: store.now, onError });
		const { count } = at;
		const job = new WebhookJob({ store, directory, holder: randomUUID(), signal, scorer, log, count });
		ending.push(
			job.run().then(async () => {
				await directory.stop();
				await reader.close();
			}),
		);
		return job;
	}
	return {
		running: work.keepsScores ? runPromises(at) : undefined,
		async receive(accountIds: ToWebhooks) {
			webhooks ??= start();
			const job = await webhooks;
			for (const accountId of accountIds) job.wake(accountId);
		},
		async end() {
			await webhooks;
			await Promise.all(ending);
		},
	};
}
