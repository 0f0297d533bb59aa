import { setTimeout as delay } from 'node:timers/promises';
import type { AccessDirectory } from '../../../core/access/directory.ts';
import { ConcurrentChangeError, reasonOf } from '../../../core/errors.ts';
import type { VisitorScorer } from '../../../core/scoring/serve/visitor-scorer.ts';
import type { ServingStore } from '../../../core/store/serving.ts';
import type { Store } from '../../../core/store/store.ts';
import { WakeableSleep } from '../../../core/wakeable-sleep.ts';
import { accountsWithWebhooks } from '../active.ts';
import { Channel, type ChannelReports } from '../channel.ts';
import { Evaluator } from '../evaluator.ts';

/** Minimum pause between two evaluations of an account, so that many entries share one. */
const minPauseMs = 400;
const retryAfterErrorMs = 5000;
const maxSleepMs = 1000;

export interface WebhookJobOptions extends ChannelReports {
	readonly store: Store & ServingStore;
	readonly directory: AccessDirectory;
	readonly scorer: VisitorScorer;
	/** Identifies this process among those that share the store. */
	readonly holder: string;
	readonly signal: AbortSignal;
	readonly random?: () => number;
}

/** The schedule of an account, on the monotonic clock. */
interface Schedule {
	readonly evaluator: Evaluator;
	dueAtMs: number;
	/** A `wake` brings the next round forward to this time at the earliest. */
	earliestMs: number;
}

/** Evaluates the visitors of all accounts with webhooks, and delivers messages about changes. */
export class WebhookJob {
	readonly #options: WebhookJobOptions;
	/** By account id. */
	readonly #schedules = new Map<number, Schedule>();
	/** By webhook id. */
	readonly #channels = new Map<string, { readonly accountId: number; readonly channel: Channel }>();
	#revision = -1;
	readonly #pause = new WakeableSleep();

	constructor(options: WebhookJobOptions) {
		this.#options = options;
		options.signal.addEventListener('abort', () => this.#pause.wake());
	}

	/** Announces that an account has new hits or uploads. */
	wake(accountId: number): void {
		const schedule = this.#schedules.get(accountId);
		if (!schedule) return;
		schedule.dueAtMs = Math.min(schedule.dueAtMs, schedule.earliestMs);
		this.#pause.wake();
	}

	/** Runs until the signal is aborted. */
	async run(): Promise<void> {
		const { signal } = this.#options;
		while (!signal.aborted) {
			this.#followDirectory();
			for (const { id } of accountsWithWebhooks(this.#options.directory.snapshot)) {
				const schedule = this.#schedules.get(id);
				if (schedule && schedule.dueAtMs <= performance.now() && !signal.aborted)
					await this.#round(id, schedule);
			}
			const nextMs = Math.min(...[...this.#schedules.values()].map(({ dueAtMs }) => dueAtMs));
			const pauseMs = Math.min(maxSleepMs, nextMs - performance.now());
			// Without a pause, at least let other events be handled.
			if (pauseMs > 0) await this.#pause.sleep(pauseMs);
			else await delay(0);
		}
		await Promise.all([...this.#channels.values()].map(({ channel }) => channel.stop()));
	}

	/** Applies changes of webhooks in the control database. */
	#followDirectory(): void {
		const { directory, store, log, count, random = Math.random } = this.#options;
		if (directory.revision === this.#revision) return;
		this.#revision = directory.revision;
		const webhooks = new Set<string>();
		const accounts = new Set<number>();
		for (const { id: accountId, webhooks: some } of accountsWithWebhooks(directory.snapshot)) {
			accounts.add(accountId);
			const schedule = this.#schedules.get(accountId);
			if (schedule) schedule.dueAtMs = Math.min(schedule.dueAtMs, schedule.earliestMs);
			else this.#schedules.set(accountId, this.#newSchedule());
			for (const webhook of some) {
				webhooks.add(webhook.id);
				const known = this.#channels.get(webhook.id)?.channel;
				if (known?.update(webhook)) {
					// A command may have added messages.
					known.wake();
					continue;
				}
				void known?.stop();
				const options = { store, accountId, log, count, random };
				this.#channels.set(webhook.id, { accountId, channel: new Channel(webhook, options) });
			}
		}
		for (const id of this.#schedules.keys()) if (!accounts.has(id)) this.#schedules.delete(id);
		for (const [id, { channel }] of this.#channels)
			if (!webhooks.has(id)) {
				this.#channels.delete(id);
				void channel.stop();
			}
	}

	#newSchedule(): Schedule {
		const { store, scorer, holder, signal } = this.#options;
		const onMessages = (accountId: number) => {
			for (const one of this.#channels.values()) if (one.accountId === accountId) one.channel.wake();
		};
		const evaluator = new Evaluator({ store, scorer, holder, signal, onMessages });
		return { evaluator, dueAtMs: 0, earliestMs: 0 };
	}

	async #round(accountId: number, schedule: Schedule): Promise<void> {
		const { directory, log } = this.#options;
		const account = accountsWithWebhooks(directory.snapshot).find(({ id }) => id === accountId);
		if (!account) return;
		schedule.dueAtMs = Number.POSITIVE_INFINITY;
		schedule.earliestMs = performance.now() + minPauseMs;
		let againInMs = retryAfterErrorMs;
		try {
			({ againInMs } = await schedule.evaluator.round({ account, revision: directory.revision }));
		} catch (error) {
			if (error instanceof ConcurrentChangeError) againInMs = minPauseMs;
			else log.error({ account: accountId, reason: reasonOf(error) }, 'webhooks failed');
		}
		// `wake` may have been called meanwhile.
		schedule.dueAtMs = Math.min(schedule.dueAtMs, performance.now() + againInMs);
	}
}
