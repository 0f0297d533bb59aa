import { createHmac, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { importSecret } from '../store/import-secret.ts';
import type { Steps } from '../store/steps.ts';
import type { Store } from '../store/store.ts';
import { transactAgain } from '../store/transact-again.ts';
import { type ArrivingHit, storeHistory, storeHits } from '../store/visitor-log.ts';
import { type HistoryContext, type HistoryEvent, type HistoryHit, readHistory } from './history.ts';
import { HistoryFile, type HistoryRecord } from './history-file.ts';

/** Lines of one transaction: a few tenths of a second, for which uploads and hits of the account wait. */
const linesPerBatch = 5000;
/** Names whose hashes are remembered. */
const mostRemembered = 100_000;
const chunkBytes = 1024 * 1024;

/** What became of a file's lines. */
export interface LoadReport {
	readonly lines: number;
	readonly hits: number;
	readonly events: number;
	/** Stored before, by an earlier import or an upload. */
	readonly repeated: number;
	/** Hits of programs, which are not stored. */
	readonly bots: number;
	readonly bad: number;
}

export interface LoadEvents {
	readonly onBytes: (bytes: number) => void;
	readonly onBadLine: (line: number, problems: readonly string[]) => void;
	/** Each line's visitor, as the file and as Caskade names it. */
	readonly onVisitor?: (visitor: string, vid: string) => void;
}

/** Stores the history of one account. It may come again: what is stored already is not stored twice. */
export class HistoryLoader {
	readonly #store: Store;
	readonly #accountId: number;
	readonly #context: HistoryContext;
	readonly #secret: string;
	readonly #ids = new Map<string, string>();
	readonly #randomIds = new RandomIds();

	private constructor(store: Store, accountId: number, context: HistoryContext, secret: string) {
		this.#store = store;
		this.#accountId = accountId;
		this.#context = context;
		this.#secret = secret;
	}

	static async open(store: Store, accountId: number, context: HistoryContext): Promise<HistoryLoader> {
		const fresh = randomBytes(32).toString('base64url');
		return new HistoryLoader(store, accountId, context, await store.transact(accountId, importSecret(fresh)));
	}

	/** Loads a file, a batch at a time; a batch is stored whole or not at all. */
	async load(path: string, { onBytes, onBadLine, onVisitor }: LoadEvents): Promise<LoadReport> {
		const report = { lines: 0, hits: 0, events: 0, repeated: 0, bots: 0, bad: 0 };
		let batch = new Batch();
		const flush = async () => {
			const stored = await this.#storeBatch(batch);
			report.hits += stored.hits;
			report.events += stored.events;
			report.repeated += batch.size - stored.hits - stored.events;
			batch = new Batch();
		};
		const take = async (records: readonly HistoryRecord[]) => {
			for (const record of records) {
				report.lines++;
				const entry = record.problem
					? ({ type: 'bad', problems: [record.problem] } as const)
					: readHistory(record.fields, this.#context);
				if (entry.type === 'bad') {
					report.bad++;
					onBadLine(record.line, entry.problems);
				} else if (entry.type === 'bot') report.bots++;
				else if (entry.type === 'subscription') batch.events.push(entry);
				else {
					const hit = this.#arriving(entry);
					onVisitor?.(entry.visitor, hit.freshVid);
					batch.hits.push(hit);
				}
				if (batch.size >= linesPerBatch) await flush();
			}
		};
		const file = new HistoryFile();
		let bytes = 0;
		for await (const chunk of createReadStream(path, { highWaterMark: chunkBytes })) {
			await take(file.push(chunk));
			bytes += chunk.length;
			onBytes(bytes);
		}
		await take(file.end());
		await flush();
		return report;
	}

	#arriving({ visitor, visit, atMs, body }: HistoryHit): ArrivingHit {
		const vid = this.#nameOf('visitor', visitor);
		const sid = visit === null ? null : this.#nameOf('visit', visitor, visit);
		return {
			...{ vid, sid, freshVid: vid, atMs, body, isHistory: true, visitIsGiven: sid !== null },
			freshSid: sid ?? this.#randomIds.next(),
		};
	}

	/** The same for the same name, and not to be guessed without the account's secret. */
	#nameOf(...names: readonly string[]): string {
		// No name has a control character.
		const name = names.join('\n');
		let id = this.#ids.get(name);
		if (id === undefined) {
			id = createHmac('sha256', this.#secret).update(name).digest('hex').slice(0, 32);
			if (this.#ids.size >= mostRemembered) this.#ids.clear();
			this.#ids.set(name, id);
		}
		return id;
	}

	async #storeBatch(batch: Batch): Promise<{ hits: number; events: number }> {
		if (batch.size === 0) return { hits: 0, events: 0 };
		// In order of time, so that most hits are the latest of their visitors.
		batch.hits.sort((a, b) => a.atMs - b.atMs);
		return transactAgain(this.#store, this.#accountId, () => storeBatch(batch));
	}
}

/** Asking the system for 16 bytes costs as much as for some thousands. */
class RandomIds {
	#bytes = Buffer.alloc(0);

	/** 128 random bits, 32 hexadecimal digits. */
	next(): string {
		if (this.#bytes.length === 0) this.#bytes = randomBytes(16 * 1024);
		const id = this.#bytes.toString('hex', 0, 16);
		this.#bytes = this.#bytes.subarray(16);
		return id;
	}
}

class Batch {
	readonly hits: ArrivingHit[] = [];
	readonly events: HistoryEvent[] = [];

	get size(): number {
		return this.hits.length + this.events.length;
	}
}

function* storeBatch({ hits, events }: Batch): Steps<{ hits: number; events: number }> {
	const stored = hits.length > 0 ? yield* storeHits(hits) : [];
	return {
		hits: stored.filter(({ isRepeat }) => !isRepeat).length,
		events: events.length > 0 ? yield* storeHistory(events.map(({ event }) => event)) : 0,
	};
}
