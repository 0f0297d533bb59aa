import { createHmac } from 'node:crypto';
import { compareTexts } from '../../core/domain/compare-texts.ts';
import { derivedVisitor } from '../../core/domain/derived-vid.ts';
import { isMissingKey } from '../../core/domain/missing-key.ts';
import type { HistoryHit } from '../../core/domain/stored-hit.ts';
import { subscriptionEventFields } from '../../core/domain/subscription-event.ts';
import { foldAll } from '../../core/store/fold-all.ts';
import type { Store } from '../../core/store/store.ts';
import { IdColumns } from './changed-ids.ts';
import type { FileRow } from './file-row.ts';
import { historyFields, historyIds, type LineContext, readHistoryLine } from './history-line.ts';
import type { InputFile } from './input-file.ts';
import { repeatedMembers } from './repeated-members.ts';
import { RowFile } from './row-file.ts';
import { SpillFiles } from './spill-files.ts';
import { HistoryWriter } from './store/history-writer.ts';
import type { HistoryEvent } from './store/past-history.ts';

const linesPerTransaction = { min: 20, initial: 100, max: 2000 };
/** Bounds memory. A part exceeds this where the files have more than ten million lines. */
const maxHitsInMemory = 40_000;

const repeatedInEvent = repeatedMembers(['type', 'at', ...subscriptionEventFields]);

/** What one file contained. */
export interface FileReport {
	readonly file: string;
	readonly lines: number;
	readonly hits: number;
	readonly events: number;
	/** Hits by bots, which are not stored. */
	readonly bots: number;
	readonly bad: number;
}

/** What was stored, over all files. */
export interface StoredReport {
	readonly hits: number;
	readonly events: number;
	/** Already stored by an earlier import or upload, or repeated in the files. */
	readonly repeated: number;
	/** The part of `repeated` whose `tid` is stored with other content. */
	readonly conflicts: number;
}

export interface ImportOptions extends LineContext {
	readonly store: Store;
	readonly accountId: number;
	readonly onProblem: (file: string, line: number, problem: string) => void;
}

/** What visitors are derived with: from names, and from seeds. */
interface Secrets {
	readonly names: string;
	readonly seeds: string;
}

interface WaitingHit extends HistoryHit {
	/** The visitor's name in the file; null where it has a seed. */
	readonly visitor: string | null;
}

interface WaitingEvent extends HistoryEvent {
	readonly file: string;
	readonly line: number;
}

/**
 * Imports history files into an account. First reads all files, checks them and spills the valid lines to disk,
 * partitioned by visitor. Then stores each visitor's lines together. An interrupted import is repeated as a whole;
 * nothing is stored twice.
 */
export class HistoryImport implements Disposable {
	readonly #options: ImportOptions;
	/** A line of JSON was in no spreadsheet, and what `export` writes must come back. */
	readonly #ofJson: LineContext;
	readonly #secrets: Secrets;
	readonly #hits = new SpillFiles<WaitingHit>();
	readonly #events = new SpillFiles<WaitingEvent>();

	private constructor(options: ImportOptions, secrets: Secrets) {
		this.#options = options;
		this.#ofJson = { ...options, idsAsWritten: true };
		this.#secrets = secrets;
	}

	static async begin(options: ImportOptions): Promise<HistoryImport> {
		const { control } = options.store;
		return new HistoryImport(options, {
			names: await control.importSecret(options.accountId),
			seeds: await control.visitorSecret(options.accountId),
		});
	}

	/** @throws OperatorError if it is no such file, or a column has ids that a spreadsheet has changed; nothing is stored yet */
	async read(input: InputFile, onBytes: (bytes: number) => void): Promise<FileReport> {
		const { name: file } = input;
		const report = { file, lines: 0, hits: 0, events: 0, bots: 0, bad: 0 };
		const reader = new RowFile({
			name: file,
			columns: ['type', 'at'],
			reads: historyFields,
			numbers: 'rvn',
			advice: () =>
				"A history has 'hit' or 'subscription' in type, and the time in at; events alone are for 'caskade upload', which takes other names of columns.",
		});
		const ids = new IdColumns();
		const take = (rows: readonly FileRow[]) => {
			for (const row of rows) {
				report.lines++;
				const isJson = reader.header === null;
				const kind = this.#take(file, row, isJson);
				report[kind]++;
				if (kind !== 'bad' && !isJson) ids.addAll(row.fields, historyIds, row.line);
			}
		};
		let bytes = 0;
		const count = (chunk: Buffer) => {
			bytes += chunk.length;
		};
		for await (const chunk of input.chunks(count)) {
			take(reader.push(chunk));
			onBytes(bytes);
		}
		take(reader.end());
		if (!this.#options.idsAsWritten) ids.check(file);
		return report;
	}

	#take(
		file: string,
		{ line, text, fields, problem }: FileRow,
		isJson: boolean,
	): 'hits' | 'events' | 'bots' | 'bad' {
		const entry = problem ?? readHistoryLine(fields, isJson ? this.#ofJson : this.#options);
		const isEvent = typeof entry === 'object' && entry.type === 'subscription';
		const [repeated] = isJson && isEvent ? repeatedInEvent(text) : [];
		if (typeof entry === 'string' || repeated !== undefined) {
			this.#options.onProblem(file, line, repeated ?? String(entry));
			return 'bad';
		}
		if (entry.type === 'bot') return 'bots';
		if (entry.type === 'subscription') {
			this.#events.add('all', { ...entry.event, file, line });
			return 'events';
		}
		const { visitor, visit, atMs, body } = entry;
		if ('name' in visitor) {
			const vid = this.#nameOf(visitor.name);
			const sid = this.#sidOf(vid, visit, visitor.name);
			this.#hits.add(vid.slice(0, 2), { vid, sid, atMs, body, visitor: visitor.name });
		} else {
			const derived = derivedVisitor(this.#secrets.seeds, 'seed', visitor.seed);
			// No name is empty.
			const sid = this.#sidOf(derived.vid, visit, '', visitor.seed);
			this.#hits.add(derived.vid.slice(0, 2), { vid: derived.vid, derived, sid, atMs, body, visitor: null });
		}
		return 'hits';
	}

	/** Shares the prefix of the vid; see `derivedSid`. */
	#sidOf(vid: string, visit: string | null, ...visitor: readonly string[]): string | null {
		return visit === null ? null : vid.slice(0, 4) + this.#nameOf(...visitor, visit).slice(4);
	}

	/** Derives a `vid` or `sid` from a name. Deterministic, and not guessable without the account's secret. */
	#nameOf(...names: readonly string[]): string {
		// Unambiguous, because names contain no control characters.
		return createHmac('sha256', this.#secrets.names).update(names.join('\n')).digest('hex').slice(0, 32);
	}

	/**
	 * Stores everything that was read.
	 * @param onLines receives the number of lines done
	 * @param onVisitor receives each visitor's name in the files and their `vid`; seeds are no names
	 */
	async store(
		onLines: (lines: number) => void,
		onVisitor: (visitor: string, vid: string) => void,
	): Promise<StoredReport> {
		const { store, accountId, onProblem } = this.#options;
		const report = { hits: 0, events: 0, repeated: 0, conflicts: 0 };
		let lines = 0;
		const writer = new HistoryWriter(store, accountId, linesPerTransaction);
		const add = async (hits: readonly HistoryHit[], events: readonly WaitingEvent[]) => {
			const stored = await writer.add(hits, events, (done) => {
				lines += done;
				onLines(lines);
			});
			report.hits += stored.hits;
			report.events += stored.events;
			report.repeated += hits.length + events.length - stored.hits - stored.events;
			report.conflicts += stored.conflicts.length;
			for (const { file, line } of stored.conflicts)
				onProblem(file, line, 'conflict: its tid is stored with other content');
		};
		// Events first, so that a visitor whose hit showed a tid is written once, with the event.
		for (const events of batches(this.#events.read('all'), () => writer.size)) await add([], events);
		for (const hits of batches(this.#hitsByVisitor(onVisitor), () => writer.size)) await add(hits, []);
		await foldAll(store, accountId);
		return report;
	}

	/** Of the visitors of a part who show several customers, those whom taking them apart makes. Few have any. */
	#apartIn(part: string): Map<string, string[]> {
		const customers = new Map<string, Set<string>>();
		for (const { vid, body } of this.#hits.read(part))
			if (body.cid !== null && !isMissingKey(body.cid))
				customers.getOrInsertComputed(vid, () => new Set()).add(body.cid);
		const several = [...customers].filter(([, cids]) => cids.size > 1);
		return new Map(
			several.map(([vid, cids]) => [
				vid,
				[...cids].map((cid) => derivedVisitor(this.#secrets.seeds, 'customer', vid, cid).vid),
			]),
		);
	}

	/**
	 * Ordered by `vid` and time, so that a transaction touches few pages of the database, and none of them is written
	 * again later.
	 */
	*#hitsByVisitor(onVisitor: (visitor: string, vid: string) => void): Generator<WaitingHit> {
		for (const part of this.#hits.names) {
			const known = new Set<string>();
			const apartOf = this.#apartIn(part);
			for (const hits of batches(this.#hits.read(part), () => maxHitsInMemory)) {
				hits.sort((a, b) => compareTexts(a.vid, b.vid) || a.atMs - b.atMs);
				for (const hit of hits) {
					const apart = apartOf.get(hit.vid);
					yield apart ? { ...hit, apart } : hit;
				}
				for (const { visitor, vid } of hits) {
					if (visitor !== null && !known.has(vid)) onVisitor(visitor, vid);
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

function* batches<Item>(items: Iterable<Item>, maxItems: () => number): Generator<Item[]> {
	let batch: Item[] = [];
	for (const item of items) {
		batch.push(item);
		if (batch.length < maxItems()) continue;
		yield batch;
		batch = [];
	}
	if (batch.length > 0) yield batch;
}
