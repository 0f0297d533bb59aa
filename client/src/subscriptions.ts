import type { SubscriptionEvent } from './api-types.ts';
import { CaskadeError, InvalidRequestError, type RowProblem, UnexpectedAnswerError } from './errors.ts';
import type { CallOptions, Transport } from './transport.ts';
import type { UploadSummary } from './upload-summary.ts';

export interface UploadOptions extends CallOptions {
	/** Do everything except storing. Counts toward the quota. */
	readonly simulate?: boolean | undefined;
}

/** The outcome of an upload. All its events are stored now. A conflicting `tid` is stored with other content. */
export interface UploadResult {
	/** Events that were new. */
	readonly stored: number;
	/** Events whose `tid` was stored before. If `attempts` is greater than 1, this upload itself may have stored them. */
	readonly duplicates: number;
	/** Duplicates whose content differs from what is stored. The stored content does not change. */
	readonly conflicts: number;
	/** Indexes of the duplicates in the request, from 0; the first 100. */
	readonly duplicateRows: readonly number[];
	/** Indexes of the conflicts; the first 100. */
	readonly conflictingRows: readonly number[];
	/** Indexes of events with a `tid`, `subid` or `cid` such as `null`, which joins nobody; the first 100. */
	readonly unjoinableRows: readonly number[];
	/** Identifies the request in the server's logs. */
	readonly requestId: string;
	/** Number of attempts. */
	readonly attempts: number;
	/** Whether the upload was only simulated. */
	readonly simulated: boolean;
}

export interface UploadAllOptions<Event extends SubscriptionEvent = SubscriptionEvent> extends UploadOptions {
	/** Events per request. Default: 30, the limit of the plan `standard`. */
	readonly batchSize?: number | undefined;
	/** Requests in flight. Default: 4. */
	readonly concurrency?: number | undefined;
	/** What to do if the server refuses rows: `stop` (the default) throws, `skip` sends the other rows. */
	readonly onBad?: 'stop' | 'skip' | undefined;
	/** Called, and awaited, after each acknowledged batch. Batches finish out of order. */
	readonly onBatch?: ((batch: BatchOutcome<Event>) => void | Promise<void>) | undefined;
}

export interface BatchOutcome<Event extends SubscriptionEvent = SubscriptionEvent> {
	/** The events of the result, to which its rows refer. */
	readonly sent: readonly Event[];
	/** Null if all were rejected. */
	readonly result: UploadResult | null;
	readonly rejected: readonly {
		readonly event: Event;
		readonly problems: readonly RowProblem[];
		readonly requestId: string | undefined;
	}[];
}

/** Of each request of `uploadAll`: longer than a restart of the server. */
const uploadAllRetryForMs = 120_000;
/** Maximum number of characters of a batch. In UTF-8 they fit into 256 KiB. */
const maxBatchCharacters = 80_000;

/** Uploads subscription events. */
export class Subscriptions {
	readonly #transport: Transport;

	constructor(transport: Transport) {
		this.#transport = transport;
	}

	/**
	 * Uploads events of one account, all of them or none. When it resolves, they are stored durably. Repeating it with the same
	 * events is always safe.
	 * @throws CaskadeError
	 */
	upload(
		aid: string,
		events: readonly SubscriptionEvent[],
		options: UploadOptions = {},
	): Promise<UploadResult> {
		return this.#send(
			aid,
			events.map((event) => JSON.stringify(event)),
			options,
		);
	}

	async #send(
		aid: string,
		rows: readonly string[],
		{ simulate: isSimulated = false, ...options }: UploadOptions,
		usualRetryForMs?: number,
	): Promise<UploadResult> {
		const simulate = isSimulated ? ',"simulate":true' : '';
		const body = `{"aid":${JSON.stringify(aid)},"data":[${rows.join()}]${simulate}}`;
		const { headers, requestId, attempts, status } = await this.#transport.send(
			{ method: 'POST', path: '/subscription', body, isPaced: true, ...options },
			usualRetryForMs,
		);
		const count = (name: string) => Number(headers.get(name) ?? Number.NaN);
		const rowsIn = (name: string) => headers.get(name)?.split(',').map(Number) ?? [];
		const [stored, duplicates] = [count('x-events-stored'), count('x-events-duplicate')];
		if (stored + duplicates !== rows.length || status !== (isSimulated ? 200 : 201))
			throw new UnexpectedAnswerError('the answer does not match the uploaded events', {
				status,
				requestId,
			});
		return {
			stored,
			duplicates,
			conflicts: count('x-events-conflicting'),
			duplicateRows: rowsIn('x-duplicate-rows'),
			conflictingRows: rowsIn('x-conflicting-rows'),
			unjoinableRows: rowsIn('x-unjoinable-rows'),
			requestId,
			attempts,
			simulated: status === 200,
		};
	}

	/**
	 * Uploads any number of events in batches, several at a time, at the rate of the key. When it resolves, all are stored
	 * durably. If it throws, nothing more is sent, and the batches that `onBatch` received are stored: the error's `summary`
	 * counts them.
	 * @throws CaskadeError
	 */
	async uploadAll<Event extends SubscriptionEvent>(
		aid: string,
		events: AsyncIterable<Event> | Iterable<Event>,
		options: UploadAllOptions<Event> = {},
	): Promise<UploadSummary> {
		const { concurrency = 4, batchSize = 30, onBatch } = options;
		const summary = { requests: 0, stored: 0, duplicates: 0, conflicts: 0, rejected: 0 };
		const batches = inBatches(events, batchSize);
		const failures: unknown[] = [];
		let pulling: Promise<unknown> = Promise.resolve();
		const next = () => {
			// One at a time, because the source may not support concurrent reads.
			const pulled = pulling.then(() => batches.next());
			pulling = pulled.catch(() => {});
			return pulled;
		};
		const work = async () => {
			while (failures.length === 0) {
				const { value: batch, done } = await next();
				if (done || failures.length > 0) return;
				const { requests, ...outcome } = await this.#sendBatch(aid, batch, options);
				summary.requests += requests;
				summary.rejected += outcome.rejected.length;
				summary.stored += outcome.result?.stored ?? 0;
				summary.duplicates += outcome.result?.duplicates ?? 0;
				summary.conflicts += outcome.result?.conflicts ?? 0;
				await onBatch?.(outcome);
			}
		};
		// After a failure, the others finish their batches and stop.
		await Promise.all(
			Array.from({ length: concurrency }, () => work().catch((error) => failures.push(error))),
		);
		await batches.return(undefined);
		const [failure] = failures;
		if (failure instanceof CaskadeError) {
			const done = summary.stored + summary.duplicates + summary.rejected;
			failure.summary = { ...summary, left: Array.isArray(events) ? events.length - done : null };
		}
		if (failures.length > 0) throw failure;
		return summary;
	}

	/** Sends a batch. If rows may be skipped, sends it again without the rows that the server refuses. */
	async #sendBatch<Event extends SubscriptionEvent>(
		aid: string,
		batch: readonly Row<Event>[],
		options: UploadAllOptions<Event>,
	): Promise<BatchOutcome<Event> & { requests: number }> {
		const rejected: BatchOutcome<Event>['rejected'][number][] = [];
		let rows = batch;
		for (let requests = 1; ; requests++) {
			const sent = rows.map(({ event }) => event);
			try {
				const texts = rows.map(({ text }) => text);
				const result = await this.#send(aid, texts, options, uploadAllRetryForMs);
				return { sent, result, rejected, requests };
			} catch (error) {
				const named = new Set(
					error instanceof InvalidRequestError ? error.rows.map(({ index }) => index) : [],
				);
				if (named.size === 0 || options.onBad !== 'skip') throw error;
				const { rows: problems, requestId } = error as InvalidRequestError;
				for (const index of named) {
					const event = sent[index];
					if (event !== undefined)
						rejected.push({
							event,
							problems: problems.filter((problem) => problem.index === index),
							requestId,
						});
				}
				rows = rows.filter((_, index) => !named.has(index));
				if (rows.length === 0) return { sent: [], result: null, rejected, requests };
			}
		}
	}
}

interface Row<Event> {
	readonly event: Event;
	readonly text: string;
}

async function* inBatches<Event extends SubscriptionEvent>(
	events: AsyncIterable<Event> | Iterable<Event>,
	batchSize: number,
): AsyncGenerator<Row<Event>[], undefined> {
	let batch: Row<Event>[] = [];
	let characters = 0;
	for await (const event of events) {
		const text = JSON.stringify(event);
		if (batch.length > 0 && characters + text.length > maxBatchCharacters) {
			yield batch;
			batch = [];
			characters = 0;
		}
		batch.push({ event, text });
		characters += text.length;
		if (batch.length >= batchSize) {
			yield batch;
			batch = [];
			characters = 0;
		}
	}
	if (batch.length > 0) yield batch;
	return undefined;
}
