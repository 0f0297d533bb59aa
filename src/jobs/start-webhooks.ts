import { reasonOf } from '../errors.ts';
import type { Log } from '../log.ts';
import type { StorePlace } from '../store/store.ts';
import { announceTogether } from '../webhooks/announce-together.ts';
import type { DeliveryReport } from '../webhooks/channel.ts';
import { SupervisedThread } from './supervised-thread.ts';

/** The serving process's handle on webhooks. */
export interface WebhooksJob {
	/** Announces that an account with webhooks has new hits or uploads. */
	wake(accountId: number): void;
	/** Deliveries so far, and webhooks that were disabled because they failed. */
	readonly counts: { readonly delivered: number; readonly failed: number; readonly disabled: number };
	/** Starts the thread once there are webhooks. */
	watch(hasWebhooks: () => boolean): void;
	/** Waits briefly for answers. */
	stop(): Promise<void>;
}

const watchEveryMs = 500;

/** Runs webhooks on a thread, which starts once there is a webhook. */
export function startWebhooks({ database, stage }: StorePlace, log: Log): WebhooksJob {
	const counts = { delivered: 0, failed: 0, disabled: 0 };
	let thread: SupervisedThread<DeliveryReport> | undefined;
	let timer: NodeJS.Timeout | undefined;
	const start = () =>
		new SupervisedThread<DeliveryReport>({
			file: new URL('./webhooks-thread.ts', import.meta.url),
			workerData: { database, stage },
			onMessage: (report) => {
				if (report.type === 'attempts') {
					counts.delivered += report.delivered;
					counts.failed += report.failed;
				} else if (report.type === 'disabled') {
					counts.disabled++;
					log.warn({ webhook: report.webhook, why: report.why }, 'webhook disabled');
				} else log.error({ account: report.account, reason: report.reason }, 'webhooks failed');
			},
			onDeath: (error) => log.error({ reason: reasonOf(error) }, 'webhooks failed, starting again'),
		});
	return {
		counts,
		wake: announceTogether((accountIds) => thread?.post(accountIds)),
		watch(hasWebhooks) {
			const look = () => {
				if (!hasWebhooks()) return;
				clearInterval(timer);
				thread ??= start();
			};
			timer = setInterval(look, watchEveryMs).unref();
			look();
		},
		async stop() {
			clearInterval(timer);
			await thread?.stop('stop');
		},
	};
}
