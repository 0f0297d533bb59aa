import type { BatchOutcome, CallOptions, Caskade, SubscriptionEvent } from '../../../../client/src/index.ts';
import { subscriptionEventFields } from '../../../core/domain/subscription-event.ts';
import type { SentEvent } from '../../../core/schema/subscription-request.ts';
import type { EventFile } from './event-file.ts';
import type { ProgressFile } from './progress-file.ts';
import type { BatchRecord, RowOutcomes } from './row-outcomes.ts';

/** Maximum number of requests in flight. */
export const concurrency = 16;

/** The row's index. `JSON.stringify` ignores symbols, so it is not sent. */
const rowOf = Symbol('row');

type NumberedEvent = SubscriptionEvent & { readonly [rowOf]: number };

export interface FileUploadOptions {
	readonly caskade: Caskade;
	readonly file: EventFile;
	readonly aid: string;
	readonly simulate: boolean;
	readonly batchSize: number;
	readonly outcomes: RowOutcomes;
	/** Null if the upload cannot be continued. */
	readonly progress: ProgressFile | null;
	readonly onBatch: () => void;
	/** After it is aborted, no request is started; those in flight are awaited. */
	readonly stop: AbortSignal;
	readonly call: CallOptions;
}

/**
 * Uploads the rows of a file whose outcome is unknown. Resolves when the outcome of all rows is known, or when stopped.
 * @throws CaskadeError if it cannot continue
 */
export async function uploadFile(options: FileUploadOptions): Promise<void> {
	const { caskade, file, aid, simulate, batchSize, outcomes, progress, onBatch, stop, call } = options;
	async function* pending(): AsyncGenerator<NumberedEvent> {
		for await (const piece of file.rows())
			for (const { row, event } of piece) {
				if (stop.aborted) return;
				if (event !== null && !outcomes.isKnown(row)) yield numbered(event, row);
			}
	}
	await caskade.subscriptions.uploadAll<NumberedEvent>(aid, pending(), {
		...call,
		simulate,
		batchSize,
		concurrency,
		onBad: 'skip',
		onBatch(batch) {
			const record = toRecord(batch);
			progress?.add(record);
			outcomes.add(record);
			onBatch();
		},
	});
}

/** What is sent: other columns are none of the server's business. */
function numbered(event: SentEvent, row: number): NumberedEvent {
	const fields = [...subscriptionEventFields, 'at' as const].flatMap((field) =>
		field === 'at' && !event.at ? [] : [[field, event[field]]],
	);
	return { ...(Object.fromEntries(fields) as SentEvent), [rowOf]: row };
}

function toRecord({ sent, result, rejected }: BatchOutcome<NumberedEvent>): BatchRecord {
	const rows = sent.map((event) => event[rowOf]);
	const at = (places: readonly number[] = []) => places.map((place) => rows[place] as number);
	return {
		requestId: result?.requestId ?? rejected[0]?.requestId ?? '',
		runs: runsOf(rows),
		duplicates: at(result?.duplicateRows),
		conflicts: at(result?.conflictingRows),
		unjoinable: at(result?.unjoinableRows),
		rejected: rejected.map(({ event, problems }) => [
			event[rowOf],
			problems.map(({ field, message }) => `${field} ${message}`.trim()).join('; '),
		]),
		isRepeated: (result?.attempts ?? 1) > 1,
	};
}

/** Converts ascending numbers to runs of consecutive ones. */
function runsOf(rows: readonly number[]): [number, number][] {
	const runs: [number, number][] = [];
	for (const row of rows) {
		const last = runs.at(-1);
		if (last?.[1] === row - 1) last[1] = row;
		else runs.push([row, row]);
	}
	return runs;
}
