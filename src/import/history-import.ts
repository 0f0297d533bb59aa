import { createHmac } from 'node:crypto';
import type { HistoryHit } from '../domain/hit.ts';
import { type HistoryEvent, storeHistory } from '../store/account/past-history.ts';
import { BatchSizer } from '../store/batch-sizer.ts';
import { foldAll } from '../store/fold-all.ts';
import type { Store } from '../store/store.ts';
import { transactWithRetry } from '../store/transact-with-retry.ts';
import { HistoryFile } from './history-file.ts';
import { type LineContext, readHistoryLine } from './history-line.ts';
import type { HistoryRecord } from './history-record.ts';
import { SpillFiles } from './spill-files.ts';

/** Lines of one transaction, at first and at most. */
const linesPerTransaction = { initial: 100, max: 1000 };
/** Bounds memory: a part has more lines where the files have more than ten million. */
const maxHitsInMemory = 40_000;

/** What a file has. */
export interface FileReport {
	readonly file: string;
	readonly lines: number;
	readonly hits: number;
	readonly events: number;
	/** Hits of programs, which are not stored. */
	readonly bots: number;
	readonly bad: number;
}

/** What became of the hits and events of all files. */
export interface StoredReport {
	readonly hits: number;
	readonly events: number;
	/** Stored before, by an earlier import or an upload, or told twice. */
	readonly repeated: number;
	/** Those of them whose `tid` is stored with other content. */
	readonly conflicts: number;
}

export interface ImportOptions extends LineContext {
	readonly store: Store;
	readonly accountId: number;
	readonly onProblem: (file: string, line: number, problem: string) => void;
}

interface WaitingHit extends HistoryHit {
	/** As the file names the visitor. */
	readonly visitor: string;
}

interface WaitingEvent extends HistoryEvent {
	readonly file: string;
	readonly line: number;
}

/**
 * Brings files of history into an account. First all are read, and what is right in them waits on disk by visitor; then
 * it is stored, each visitor at once. To go on after an interruption, do all of it again: nothing is stored twice.
 */
export class HistoryImport implements Disposable {
	readonly #options: ImportOptions;
	readonly #secret: string;
	readonly #hits = new SpillFiles<WaitingHit>();
	readonly #events = new SpillFiles<WaitingEvent>();

	private constructor(options: ImportOptions, secret: string) {
		this.#options = options;
		this.#secret = secret;
	}

	static async begin(options: ImportOptions): Promise<HistoryImport> {
		return new HistoryImport(options, await options.store.control.importSecret(options.accountId));
	}

	async read(
		file: string,
		chunks: AsyncIterable<Buffer>,
		onBytes: (bytes: number) => void,
	): Promise<FileReport> {
		const report = { file, lines: 0, hits: 0, events: 0, bots: 0, bad: 0 };
		const reader = new HistoryFile();
		const take = (records: readonly HistoryRecord[]) => {
			for (const record of records) {
				report.lines++;
				report[this.#take(file, record)]++;
			}
		};
		let bytes = 0;
		for await (const chunk of chunks) {
			take(reader.push(chunk));
			bytes += chunk.length;
			onBytes(bytes);
		}
		take(reader.end());
		return report;
	}

	#take(file: string, { line, fields, problem }: HistoryRecord): 'hits' | 'events' | 'bots' | 'bad' {
		const entry = problem ?? readHistoryLine(fields, this.#options);
		if (typeof entry === 'string') {
			this.#options.onProblem(file, line, entry);
			return 'bad';
		}
		if (entry.type === 'bot') return 'bots';
		if (entry.type === 'subscription') {
			this.#events.add('all', { ...entry.event, file, line });
			return 'events';
		}
		const { visitor, visit, atMs, body } = entry;
		const vid = this.#nameOf(visitor);
		// Begins as the vid does; see derivedSid.
		const sid = visit === null ? null : vid.slice(0, 4) + this.#nameOf(visitor, visit).slice(4);
		this.#hits.add(vid.slice(0, 2), { vid, sid, atMs, body, visitor });
		return 'hits';
	}

	/** A `vid` or `sid`: the same for the same name, and not to be guessed without the account's secret. */
	#nameOf(...names: readonly string[]): string {
		// No name has a control character.
		return createHmac('sha256', this.#secret).update(names.join('\n')).digest('hex').slice(0, 32);
	}

	/**
	 * Stores what has been read.
	 * @param onLines is told how many lines are done with
	 * @param onVisitor is told the `vid` of each visitor, by the name that the files have
	 */
	async store(
		onLines: (lines: number) => void,
		onVisitor: (visitor: string, vid: string) => void,
	): Promise<StoredReport> {
		const { store, accountId, onProblem } = this.#options;
		const report = { hits: 0, events: 0, repeated: 0, conflicts: 0 };
		let lines = 0;
		const pace = new BatchSizer(linesPerTransaction);
		const add = async (hits: readonly HistoryHit[], events: readonly WaitingEvent[]) => {
			const stored = await pace.run(() =>
				transactWithRetry(store, accountId, () => storeHistory(hits, events)),
			);
			const taken = hits.length - stored.left.length + events.length;
			report.hits += stored.hits;
			report.events += stored.events;
			report.repeated += taken - stored.hits - stored.events;
			report.conflicts += stored.conflicts.length;
			for (const { file, line } of stored.conflicts)
				onProblem(file, line, 'conflict: its tid is stored with other content');
			lines += taken;
			onLines(lines);
			return stored.left;
		};
		// Events first: then a visitor who has shown a tid is written once, with the event.
		for (const events of batches(this.#events.read('all'), () => pace.size)) await add([], events);
		for (const hits of batches(this.#hitsByVisitor(onVisitor), () => pace.size))
			for (let left: readonly HistoryHit[] = hits; left.length > 0; ) left = await add(left, []);
		await foldAll(store, accountId);
		return report;
	}

	/** In the order of their `vid` and of time, so that a transaction writes few pages of the database, and none again later. */
	*#hitsByVisitor(onVisitor: (visitor: string, vid: string) => void): Generator<WaitingHit> {
		for (const part of this.#hits.names) {
			const known = new Set<string>();
			for (const hits of batches(this.#hits.read(part), () => maxHitsInMemory)) {
				hits.sort((a, b) => (a.vid === b.vid ? a.atMs - b.atMs : a.vid < b.vid ? -1 : 1));
				yield* hits;
				for (const { visitor, vid } of hits) {
					if (!known.has(vid)) onVisitor(visitor, vid);
					known.add(vid);
				}
			}
		}
	}

	[Symbol.dispose](): void {
		this.#hits[Symbol.dispose]();
		this.#events[Symbol.dispose]();
	}
}

function* batches<Item>(items: Iterable<Item>, most: () => number): Generator<Item[]> {
	let batch: Item[] = [];
	for (const item of items) {
		batch.push(item);
		if (batch.length < most()) continue;
		yield batch;
		batch = [];
	}
	if (batch.length > 0) yield batch;
}
