import { createHmac } from 'node:crypto';
import { type HistoryEvent, type HistoryHit, storeHistory } from '../store/history.ts';
import type { Store } from '../store/store.ts';
import { transactAgain } from '../store/transact-again.ts';
import { HistoryFile, type HistoryRecord } from './history-file.ts';
import { type LineContext, readHistoryLine } from './history-line.ts';

/** Lines of one transaction: a few tenths of a second, for which uploads and hits of the account wait. */
const linesPerTransaction = 5000;

/** What became of a file's lines. */
export interface ImportReport {
	readonly lines: number;
	readonly hits: number;
	readonly events: number;
	/** Stored before, by an earlier import or an upload, or told twice. */
	readonly repeated: number;
	/** Those of them whose `tid` is stored with other content. */
	readonly conflicts: number;
	/** Hits of programs, which are not stored. */
	readonly bots: number;
	readonly bad: number;
}

export interface ImportOptions extends LineContext {
	readonly store: Store;
	readonly accountId: number;
	readonly onBytes: (bytes: number) => void;
	readonly onProblem: (line: number, problem: string) => void;
	/** The `vid` of each visitor of some lines, by the name that the file has; a visitor may come again later. */
	readonly onVisitors: (vids: ReadonlyMap<string, string>) => void;
}

interface Batch {
	readonly hits: HistoryHit[];
	readonly events: (HistoryEvent & { readonly line: number })[];
	readonly vids: Map<string, string>;
}

/**
 * Stores a file of history, some lines in one transaction. Running it again stores nothing twice, so that an import
 * that was interrupted goes on.
 */
export async function importHistory(
	chunks: AsyncIterable<Buffer>,
	options: ImportOptions,
): Promise<ImportReport> {
	const { store, accountId, onBytes, onProblem, onVisitors } = options;
	const secret = await store.control.importSecret(accountId);
	const report = { lines: 0, hits: 0, events: 0, repeated: 0, conflicts: 0, bots: 0, bad: 0 };
	let batch: Batch = { hits: [], events: [], vids: new Map() };

	async function flush(): Promise<void> {
		const { hits, events, vids } = batch;
		batch = { hits: [], events: [], vids: new Map() };
		if (hits.length + events.length === 0) return;
		const stored = await transactAgain(store, accountId, () => storeHistory(hits, events));
		report.hits += stored.hits;
		report.events += stored.events;
		report.repeated += hits.length + events.length - stored.hits - stored.events;
		report.conflicts += stored.conflicts.length;
		for (const { line } of stored.conflicts)
			onProblem(line, 'conflict: its tid is stored with other content');
		onVisitors(vids);
	}

	function add({ line, fields, problem }: HistoryRecord): void {
		report.lines++;
		const entry = problem === undefined ? readHistoryLine(fields, options) : problem;
		if (typeof entry === 'string') {
			report.bad++;
			onProblem(line, entry);
		} else if (entry.type === 'bot') report.bots++;
		else if (entry.type === 'subscription') batch.events.push({ ...entry.event, line });
		else {
			const { visitor, visit, atMs, body } = entry;
			const vid = batch.vids.get(visitor) ?? nameOf(secret, visitor);
			batch.vids.set(visitor, vid);
			batch.hits.push({ vid, sid: visit === null ? null : nameOf(secret, visitor, visit), atMs, body });
		}
	}

	async function addAll(records: readonly HistoryRecord[]): Promise<void> {
		for (const record of records) {
			add(record);
			if (batch.hits.length + batch.events.length >= linesPerTransaction) await flush();
		}
	}

	const file = new HistoryFile();
	let bytes = 0;
	for await (const chunk of chunks) {
		await addAll(file.push(chunk));
		bytes += chunk.length;
		onBytes(bytes);
	}
	await addAll(file.end());
	await flush();
	return report;
}

/** A `vid` or `sid`: the same for the same name, and not to be guessed without the account's secret. */
function nameOf(secret: string, ...names: readonly string[]): string {
	// No name has a control character.
	return createHmac('sha256', secret).update(names.join('\n')).digest('hex').slice(0, 32);
}
