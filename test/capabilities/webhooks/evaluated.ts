import type { TestContext } from 'node:test';
import { openStore } from '../../../src/assembly/open-store.ts';
import type { WebhookEvent } from '../../../src/capabilities/webhooks/domain/webhook.ts';
import { webhookEvents } from '../../../src/capabilities/webhooks/domain/webhook.ts';
import { Evaluator } from '../../../src/capabilities/webhooks/evaluator.ts';
import { AccessDirectory } from '../../../src/core/access/directory.ts';
import type { ArrivingHit, HitRecord, StoredHit } from '../../../src/core/domain/stored-hit.ts';
import { scorerOf, type VisitorScorer } from '../../../src/core/scoring/serve/visitor-scorer.ts';
import type { ServingWriter } from '../../../src/core/store/serving.ts';
import type { Row } from '../../../src/core/store/steps.ts';
import type { OpenStore } from '../../../src/core/store/store.ts';
import { addAccount, type Engine, receivedAtMs, startWritingFor } from '../../core/store/engines.ts';
import { hit } from '../../core/store/made-hits.ts';
import { rowsIn } from '../../core/store/rows.ts';

export const aid = 'c-a-acme-uk';
export const secondMs = 1000;

/** A message as sent. */
export interface Message {
	readonly type: string;
	readonly timestamp: string;
	readonly data: Readonly<Record<string, unknown>> & { readonly sequence: number };
}

/** A store with one account and a clock that tests set. */
export class Site {
	readonly address: string;
	readonly store: OpenStore;
	readonly writer: ServingWriter;
	readonly accountId: number;
	/** Closed after the test, in reverse order. */
	readonly closing: AsyncDisposableStack;
	readonly #clock: { nowMs: number };

	private constructor(
		address: string,
		store: OpenStore,
		writer: ServingWriter,
		accountId: number,
		clock: { nowMs: number },
		closing: AsyncDisposableStack,
	) {
		this.closing = closing;
		this.address = address;
		this.store = store;
		this.writer = writer;
		this.accountId = accountId;
		this.#clock = clock;
	}

	static async open(t: TestContext, engine: Engine): Promise<Site> {
		const address = await engine.installedAddress(t);
		const clock = { nowMs: receivedAtMs };
		const store = await openStore(address, { now: () => clock.nowMs });
		const closing = new AsyncDisposableStack();
		t.after(() => closing.disposeAsync());
		closing.defer(() => store.close());
		const accountId = await addAccount(store, aid);
		const writer = await startWritingFor(t, store);
		closing.defer(() => writer.stop());
		return new Site(address, store, writer, accountId, clock, closing);
	}

	get nowMs(): number {
		return this.#clock.nowMs;
	}

	/** Lets time pass by itself from now on. */
	useRealTime(): void {
		Object.defineProperty(this.#clock, 'nowMs', { get: Date.now });
	}

	passes(ms: number): void {
		this.#clock.nowMs += ms;
	}

	/** Adds a webhook. @returns its id */
	async webhook(
		events: readonly WebhookEvent[] = webhookEvents,
		options: { withCid?: boolean; url?: string } = {},
	): Promise<string> {
		const { withCid = false, url = 'http://127.0.0.1:9/' } = options;
		const { id } = await this.store.control.createWebhook(this.accountId, {
			url,
			events,
			withCid,
			allowPrivate: true,
		});
		return id;
	}

	/** Stores a hit of now, of a given visitor or of a new one. */
	hit(of: Partial<ArrivingHit> = {}, fields: Partial<HitRecord> = {}): Promise<StoredHit> {
		return this.writer.storeHit(this.accountId, hit({ atMs: this.nowMs, ...of }, fields));
	}

	/** Creates an evaluator of the account. Each stands for a process. */
	async evaluator(holder = 'one'): Promise<Evaluating> {
		const { store } = this;
		const directory = await AccessDirectory.load(store.control, ignore);
		this.closing.defer(() => directory.stop());
		const reader = store.startReading();
		this.closing.defer(() => reader.close());
		const scorer = scorerOf(store, { reader, now: store.now, onError: ignore });
		const { signal } = new AbortController();
		const evaluator = new Evaluator({ store, scorer, holder, signal, onMessages: () => {} });
		const evaluating: Evaluating = {
			directory,
			scorer,
			async round() {
				await directory.refresh();
				const account = directory.account(aid);
				if (!account) throw new Error('the account is gone');
				return evaluator.round({ account, revision: directory.revision });
			},
			/** Runs rounds until nothing is left to do. */
			async settle() {
				for (let rounds = 0; rounds < 1000; rounds++)
					if ((await evaluating.round()).againInMs >= 1000) return;
				throw new Error('the evaluation never finishes');
			},
		};
		return evaluating;
	}

	/** The rows of a table. */
	rows(table: 'membership' | 'standing' | 'outbox' | 'evaluation' | 'conflict'): Promise<readonly Row[]> {
		return rowsIn(this.store, this.accountId, table);
	}

	/** All messages, in the order of their sequence. */
	async messages(): Promise<Message[]> {
		const rows = await this.rows('outbox');
		return rows
			.map(({ body }) => JSON.parse(String(body)) as Message)
			.sort((a, b) => a.data.sequence - b.data.sequence);
	}

	/** The messages since the last call, as `type subject`. */
	async news(): Promise<string[]> {
		const all = await this.messages();
		const fresh = all.slice(this.#told);
		this.#told = all.length;
		return fresh.map(shown);
	}

	#told = 0;
}

export interface Evaluating {
	readonly directory: AccessDirectory;
	readonly scorer: VisitorScorer;
	round(): Promise<{ againInMs: number }>;
	settle(): Promise<void>;
}

function shown({ type, data }: Message): string {
	const what = data.segment ?? (data.goal && [data.goal, data.band ?? data.number].join(' ')) ?? data.reason;
	return `${type} ${what ?? (data.tids as string[]).join()}`;
}

/** Ignores errors of background reads, which may fail when the test is over. */
function ignore(): void {}
