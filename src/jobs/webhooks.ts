import { setTimeout as delay } from 'node:timers/promises';
import type { AccessDirectory } from '../access/directory.ts';
import { ConcurrentChangeError, reasonOf } from '../errors.ts';
import type { VisitorScorer } from '../scoring/visitor-scorer.ts';
import type { Store } from '../store/store.ts';
import { WakeableSleep } from '../wakeable-sleep.ts';
import { Channel, type DeliveryReport } from '../webhooks/channel.ts';
import { Evaluator } from '../webhooks/evaluator.ts';

/** Minimum pause between two evaluations of an account, so that many entries share one. */
const minPauseMs = 400;
const retryAfterErrorMs = 5000;
const longestSleepMs = 1000;

export interface WebhookJobOptions {
	readonly store: Store;
	readonly directory: AccessDirectory;
	readonly scorer: VisitorScorer;
	/** Identifies this process among those that share the store. */
	readonly holder: string;
	readonly report: (report: DeliveryReport) => void;
	readonly signal: AbortSignal;
	readonly random?: () => number;
}

interface Turn {
	readonly evaluator: Evaluator;
	dueAtMs: number;
	earliestMs: number;
}

/** Evaluates the visitors of all accounts with webhooks, and delivers what has changed. */
export class WebhookJob {
	readonly #options: WebhookJobOptions;
	/** By account. */
	readonly #turns = new Map<number, Turn>();
	/** By webhook. */
	readonly #channels = new Map<string, { readonly accountId: number; readonly channel: Channel }>();
	#revision = -1;
	readonly #pause = new WakeableSleep();

	constructor(options: WebhookJobOptions) {
		this.#options = options;
		options.signal.addEventListener('abort', () => this.#pause.wake());
	}

	/** Announces that an account has new hits or uploads. */
	wake(accountId: number): void {
		const turn = this.#turns.get(accountId);
		if (!turn) return;
		turn.dueAtMs = Math.min(turn.dueAtMs, turn.earliestMs);
		this.#pause.wake();
	}

	/** Runs until the signal. */
	async run(): Promise<void> {
		const { signal } = this.#options;
		while (!signal.aborted) {
			this.#follow();
			for (const { id } of this.#options.directory.accountsWithWebhooks) {
				const turn = this.#turns.get(id);
				if (turn && turn.dueAtMs <= performance.now() && !signal.aborted) await this.#round(id, turn);
			}
			const nextMs = Math.min(...[...this.#turns.values()].map(({ dueAtMs }) => dueAtMs));
			const pauseMs = Math.min(longestSleepMs, nextMs - performance.now());
			// Even without a pause, other accounts have their turn.
			if (pauseMs > 0) await this.#pause.sleep(pauseMs);
			else await delay(0);
		}
		await Promise.all([...this.#channels.values()].map(({ channel }) => channel.stop()));
	}

	/** Follows the webhooks in the control database. */
	#follow(): void {
		const { directory, store, report, random = Math.random } = this.#options;
		if (directory.revision === this.#revision) return;
		this.#revision = directory.revision;
		const webhooks = new Set<string>();
		const accounts = new Set<number>();
		for (const { id: accountId, webhooks: some } of directory.accountsWithWebhooks) {
			accounts.add(accountId);
			const turn = this.#turns.get(accountId);
			if (turn) turn.dueAtMs = Math.min(turn.dueAtMs, turn.earliestMs);
			else this.#turns.set(accountId, this.#newTurn());
			for (const webhook of some) {
				webhooks.add(webhook.id);
				const known = this.#channels.get(webhook.id)?.channel;
				known?.update(webhook);
				// A command may have added messages.
				known?.wake();
				const options = { store, accountId, report, random };
				if (!known) this.#channels.set(webhook.id, { accountId, channel: new Channel(webhook, options) });
			}
		}
		for (const id of this.#turns.keys()) if (!accounts.has(id)) this.#turns.delete(id);
		for (const [id, { channel }] of this.#channels)
			if (!webhooks.has(id)) {
				this.#channels.delete(id);
				void channel.stop();
			}
	}

	#newTurn(): Turn {
		const { store, scorer, holder, signal } = this.#options;
		const onMessages = (accountId: number) => {
			for (const one of this.#channels.values()) if (one.accountId === accountId) one.channel.wake();
		};
		const evaluator = new Evaluator({ store, scorer, holder, signal, onMessages });
		return { evaluator, dueAtMs: 0, earliestMs: 0 };
	}

	async #round(accountId: number, turn: Turn): Promise<void> {
		const { directory, report } = this.#options;
		const account = directory.accountsWithWebhooks.find(({ id }) => id === accountId);
		if (!account) return;
		turn.dueAtMs = Number.POSITIVE_INFINITY;
		turn.earliestMs = performance.now() + minPauseMs;
		let againInMs = retryAfterErrorMs;
		try {
			({ againInMs } = await turn.evaluator.round({ account, revision: directory.revision }));
		} catch (error) {
			if (error instanceof ConcurrentChangeError) againInMs = minPauseMs;
			else report({ type: 'error', account: accountId, reason: reasonOf(error) });
		}
		// A `wake` may have come meanwhile.
		turn.dueAtMs = Math.min(turn.dueAtMs, performance.now() + againInMs);
	}
}
