import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rename } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import { subscriptionEventFields } from '../domain/subscription-event.ts';
import { csvCell } from '../format/csv.ts';
import { readEvents } from './event-file.ts';
import type { RowOutcomes } from './row-outcomes.ts';

/**
 * Writes the outcome of each row, and the rejected rows in a form that can be corrected and uploaded.
 * @returns the paths of the files
 */
export async function writeReports(path: string, outcomes: RowOutcomes): Promise<string[]> {
	const report = new CsvFile(`${path}.report.csv`, ['line', 'tid', 'outcome', 'reason', 'requestId']);
	const rejected =
		outcomes.counts.rejected > 0
			? new CsvFile(`${path}.rejected.csv`, [...subscriptionEventFields, 'line', 'reason'])
			: undefined;
	for await (const piece of readEvents(path)) {
		for (const row of piece) {
			const known = outcomes.of(row.row);
			if (!known) continue;
			const { outcome, reason, requestId } = known;
			await report.add([row.line, row.fields?.tid, outcome, reason, requestId]);
			if (outcome === 'rejected')
				await rejected?.add([...subscriptionEventFields.map((name) => row.fields?.[name]), row.line, reason]);
		}
	}
	await report.end();
	await rejected?.end();
	return [report.path, ...(rejected ? [rejected.path] : [])];
}

type Cell = string | number | null | undefined;

/** Writes a CSV file (RFC 4180). It gets its name when it is complete. */
class CsvFile {
	readonly path: string;
	readonly #stream;
	#pending = '';

	constructor(path: string, heading: readonly string[]) {
		this.path = path;
		this.#stream = createWriteStream(`${path}.new`, { mode: 0o600 });
		// The next write reports the error.
		this.#stream.on('error', () => {});
		this.#pending = `${heading.join()}\n`;
	}

	async add(cells: readonly unknown[]): Promise<void> {
		this.#pending += `${cells.map(cellOf).join()}\n`;
		if (this.#pending.length > 65_536) await this.#flush();
	}

	async #flush(): Promise<void> {
		const text = this.#pending;
		this.#pending = '';
		if (this.#stream.errored) throw this.#stream.errored;
		if (!this.#stream.write(text)) await once(this.#stream, 'drain');
	}

	async end(): Promise<void> {
		await this.#flush();
		this.#stream.end();
		await finished(this.#stream);
		await rename(`${this.path}.new`, this.path);
	}
}

function cellOf(value: unknown): string {
	return csvCell(typeof value === 'object' && value !== null ? JSON.stringify(value) : (value as Cell));
}
