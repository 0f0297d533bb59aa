import { reasonOf } from '../errors.ts';
import type { Log } from '../log.ts';
import type { StorePlace } from '../store/store.ts';
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

/** Accounts are announced together, after this time. */
const announceAfterMs = 100;
const watchEveryMs = 500;

/** Runs webhooks on a thread, which starts once there is a webhook. */
export function startWebhooks({ database, stage }: StorePlace, log: Log): WebhooksJob {
	const counts = { delivered: 0, failed: 0, disabled: 0 };
	const announced = new Set<number>();
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
	const announce = () => {
		thread?.post([...announced]);
		announced.clear();
	};
	return {
		counts,
		wake(accountId) {
			if (announced.size === 0) setTimeout(announce, announceAfterMs).unref();
			announced.add(accountId);
		},
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
