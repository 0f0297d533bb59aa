import type { Agent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { reasonOf } from '../../core/errors.ts';
import type { WorkLog } from '../../core/log.ts';
import { Agent as HttpAgent } from '../../core/node-http.ts';
import type { Steps } from '../../core/store/steps.ts';
import type { Store } from '../../core/store/store.ts';
import { WakeableSleep } from '../../core/wakeable-sleep.ts';
import type { ActiveWebhook, DisabledReason } from './domain/webhook.ts';
import { disableAfterMs, parseRetryAfter, retryPauseMs } from './retry.ts';
import { deliveryTimeoutMs, send } from './send.ts';
import { signedHeaders } from './signature.ts';
import {
	type DeliveryAttempt,
	type DueMessage,
	giveBack,
	messageId,
	messageLeaseMs,
	nextDue,
	saveAttempts,
	takeDue,
} from './store/outbox.ts';

/** The maximum number of concurrent deliveries to one webhook. Each failure halves it, each success adds one. */
const maxInFlight = 32;
/** A taken message that has waited longer is given back. */
const maxWaitMs = messageLeaseMs - deliveryTimeoutMs - 5000;
/** Outcomes of deliveries are stored together, after this time at the latest. */
const gatherMs = 20;
/** Interval of checks for messages that other processes have left. */
const pollEveryMs = 30_000;
/** Pause after an error of the store. */
const retryAfterErrorMs = 2000;
/** Failures that last longer are recorded in the control database. */
const failingAfterMs = 60_000;
/** How long stopping waits for answers. */
const stopTimeoutMs = 2000;

/** Who is told how deliveries go. */
export interface ChannelReports {
	readonly log: WorkLog;
	/** Counts attempts by their outcome, and webhooks that were disabled because they failed. */
	readonly count: (what: 'delivered' | 'failed' | 'disabled') => void;
}

export interface ChannelOptions extends ChannelReports {
	readonly store: Store;
	readonly accountId: number;
	/** Returns a random number from 0 to 1. */
	readonly random: () => number;
}

/** Delivers the messages of one webhook, so that a slow webhook does not delay others. */
export class Channel {
	readonly #options: ChannelOptions;
	#webhook: ActiveWebhook;
	readonly #agent: Agent;
	readonly #stopping = new AbortController();
	readonly #waiting: (DueMessage & { readonly takenAtMs: number })[] = [];
	readonly #attempted: DeliveryAttempt[] = [];
	#inFlight = 0;
	#limit = 8;
	#pausedUntilMs = Number.NEGATIVE_INFINITY;
	#failingSinceMs: number | null;
	#isFailureStored: boolean;
	/** Whether the control database has recorded that the webhook fails. */
	#wasFailureSeen: boolean;
	readonly #pause = new WakeableSleep({ ref: false });
	readonly #ended: Promise<void>;

	constructor(webhook: ActiveWebhook, options: ChannelOptions) {
		this.#options = options;
		this.#webhook = webhook;
		this.#failingSinceMs = webhook.failingSinceMs;
		this.#isFailureStored = webhook.failingSinceMs !== null;
		this.#wasFailureSeen = this.#isFailureStored;
		const AgentOfUrl = webhook.url.startsWith('https:') ? HttpsAgent : HttpAgent;
		this.#agent = new AgentOfUrl({
			keepAlive: true,
			maxSockets: maxInFlight,
			maxFreeSockets: 4,
			timeout: 60_000,
		});
		this.#ended = this.#run();
	}

	/**
	 * Applies a change of the webhook, for example of its secret.
	 * @returns false where that needs another channel: what is known of one URL is not true of another
	 */
	update(webhook: ActiveWebhook): boolean {
		if (webhook.url !== this.#webhook.url) return false;
		this.#webhook = webhook;
		const isFailing = webhook.failingSinceMs !== null;
		// Another process has delivered a message.
		if (!isFailing && this.#wasFailureSeen) {
			this.#failingSinceMs = null;
			this.#isFailureStored = false;
		}
		this.#wasFailureSeen = isFailing;
		return true;
	}

	/** Announces that messages were added. */
	wake(): void {
		this.#pause.wake();
	}

	/** Waits briefly for answers. Other processes send the rest. */
	async stop(): Promise<void> {
		this.#stopping.abort();
		this.#pause.wake();
		await this.#ended;
	}

	async #run(): Promise<void> {
		while (!this.#stopping.signal.aborted) {
			try {
				const taken = await this.#exchange();
				this.#sendMore();
				if (taken === 0 && this.#inFlight === 0 && this.#attempted.length === 0) await this.#sleepUntilDue();
				else await this.#gather();
			} catch (error) {
				this.#fail(error);
				await this.#pause.sleep(retryAfterErrorMs);
			}
		}
		await this.#end().catch((error) => this.#fail(error));
		this.#agent.destroy();
	}

	#fail(error: unknown): void {
		const { accountId, log } = this.#options;
		log.error({ account: accountId, reason: reasonOf(error) }, 'webhooks failed');
	}

	#transact<T>(begin: () => Steps<T>): Promise<T> {
		return this.#options.store.transact(this.#options.accountId, begin);
	}

	/** Stores the outcomes of attempts and takes more messages, in one transaction. @returns how many it took */
	async #exchange(): Promise<number> {
		const nowMs = Math.floor(this.#options.store.now());
		const limit = nowMs < this.#pausedUntilMs ? 0 : 2 * this.#limit - this.#waiting.length - this.#inFlight;
		const attempted = [...this.#attempted];
		if (attempted.length === 0 && limit <= 0) return 0;
		const { id } = this.#webhook;
		const taken = await this.#transact(function* () {
			yield* saveAttempts(attempted);
			return limit > 0 ? yield* takeDue(id, { nowMs, leaseMs: nowMs + messageLeaseMs, limit }) : [];
		});
		this.#attempted.splice(0, attempted.length);
		for (const message of taken) this.#waiting.push({ ...message, takenAtMs: performance.now() });
		return taken.length;
	}

	#sendMore(): void {
		while (this.#inFlight < this.#limit && !this.#stopping.signal.aborted) {
			const message = this.#waiting.shift();
			if (!message) return;
			// Its lease could end before the answer.
			if (performance.now() - message.takenAtMs > maxWaitMs) continue;
			this.#inFlight++;
			void this.#deliver(message).finally(() => {
				this.#inFlight--;
				this.#sendMore();
			});
		}
	}

	async #deliver(message: DueMessage): Promise<void> {
		const { store, random } = this.#options;
		const { url, allowPrivate } = this.#webhook;
		const { body, webhook, sequence, attempts } = message;
		const headers = signedHeaders(this.#webhook, { id: messageId(message), body, atMs: store.now() });
		const { status, problem, retryAfter } = await send({
			url,
			allowPrivate,
			headers,
			body,
			agent: this.#agent,
		});
		const atMs = Math.floor(store.now());
		const retryAfterMs = problem === null ? undefined : parseRetryAfter(retryAfter, atMs);
		const pauseMs = problem === null ? undefined : retryPauseMs(attempts, random(), retryAfterMs);
		const dueAtMs = pauseMs === undefined ? null : atMs + pauseMs;
		this.#attempted.push({ webhook, sequence, atMs, status, problem, dueAtMs });
		const isOk = problem === null;
		this.#options.count(isOk ? 'delivered' : 'failed');
		if (isOk) this.#limit = Math.min(maxInFlight, this.#limit + 1);
		else this.#limit = Math.max(1, this.#limit >> 1);
		if (retryAfterMs !== undefined && pauseMs !== undefined)
			this.#pausedUntilMs = atMs + Math.min(retryAfterMs, pauseMs);
		await this.#remember(isOk, status, atMs).catch((error) => this.#fail(error));
		if (this.#attempted.length >= this.#limit) this.#pause.wake();
	}

	/** Records whether the webhook works. Disables it if it is gone, or has failed for days. */
	async #remember(isOk: boolean, status: number | null, atMs: number): Promise<void> {
		if (this.#stopping.signal.aborted) return;
		const { control } = this.#options.store;
		const { id } = this.#webhook;
		if (isOk) {
			this.#failingSinceMs = null;
			if (!this.#isFailureStored) return;
			this.#isFailureStored = false;
			await control.setWebhookFailing(id, null);
			return;
		}
		this.#failingSinceMs ??= atMs;
		const failingMs = atMs - this.#failingSinceMs;
		if (status === 410) await this.#disable('gone');
		else if (failingMs >= disableAfterMs) await this.#disable('failing');
		else if (failingMs >= failingAfterMs && !this.#isFailureStored) {
			this.#isFailureStored = true;
			await control.setWebhookFailing(id, this.#failingSinceMs);
		}
	}

	async #disable(why: DisabledReason): Promise<void> {
		this.#stopping.abort();
		this.#pause.wake();
		const { store, accountId, log, count } = this.#options;
		await store.control.setWebhookDisabled(accountId, this.#webhook.id, why);
		count('disabled');
		log.warn({ webhook: this.#webhook.id, why }, 'webhook disabled');
	}

	/** Waits until some deliveries have ended, or there are more messages to send. */
	async #gather(): Promise<void> {
		if (this.#attempted.length === 0) await this.#pause.sleep(this.#inFlight > 0 ? 10 * gatherMs : 0);
		if (this.#attempted.length < this.#limit) await delay(gatherMs);
	}

	async #sleepUntilDue(): Promise<void> {
		const { store } = this.#options;
		const { id } = this.#webhook;
		const due = await store.read(this.#options.accountId, nextDue([id]));
		const nowMs = store.now();
		const dueMs = Math.max(due.get(id) ?? Number.POSITIVE_INFINITY, this.#pausedUntilMs);
		await this.#pause.sleep(Math.min(pollEveryMs, dueMs - nowMs));
	}

	async #end(): Promise<void> {
		const left = this.#waiting.splice(0);
		const giveUpAtMs = performance.now() + stopTimeoutMs;
		while (this.#inFlight > 0 && performance.now() < giveUpAtMs) await delay(10);
		const attempted = this.#attempted.splice(0);
		const nowMs = Math.floor(this.#options.store.now());
		await this.#transact(function* () {
			yield* saveAttempts(attempted);
			yield* giveBack(left, nowMs);
		});
	}
}
