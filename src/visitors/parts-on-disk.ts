import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HistoryFile } from './history-file.ts';

const pendingCharacters = 64 * 1024;
const chunkBytes = 1024 * 1024;

interface Part {
	readonly file: number;
	pending: string;
	bytes: number;
}

/** Rows by the part that they belong to, in temporary files that have no names: nothing of them outlives the process. */
export class PartsOnDisk<Row> {
	readonly #parts = new Map<string, Part>();

	add(name: string, row: Row): void {
		let part = this.#parts.get(name);
		if (!part) {
			part = { file: openNameless(), pending: '', bytes: 0 };
			this.#parts.set(name, part);
		}
		part.pending += `${JSON.stringify(row)}\n`;
		if (part.pending.length >= pendingCharacters) write(part);
	}

	/** The names of parts that have rows, sorted. */
	get names(): string[] {
		return [...this.#parts.keys()].sort();
	}

	/** A part's rows, some at a time. */
	*read(name: string): Generator<Row[]> {
		const part = this.#parts.get(name);
		if (!part) return;
		write(part);
		const lines = new HistoryFile();
		for (let at = 0; at < part.bytes; ) {
			const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, part.bytes - at));
			const length = readSync(part.file, chunk, 0, chunk.length, at);
			if (length === 0) throw new Error('a temporary file is shorter than it was');
			at += length;
			yield lines.push(chunk.subarray(0, length)).map(({ fields }) => fields as Row);
		}
	}

	[Symbol.dispose](): void {
		for (const { file } of this.#parts.values()) closeSync(file);
		this.#parts.clear();
	}
}

function openNameless(): number {
	const folder = mkdtempSync(join(tmpdir(), 'caskade-import-'));
	try {
		return openSync(join(folder, 'part'), 'wx+', 0o600);
	} finally {
		rmSync(folder, { recursive: true });
	}
}

function write(part: Part): void {
	const bytes = Buffer.from(part.pending);
	part.pending = '';
	for (let from = 0; from < bytes.length; ) {
		const written = writeSync(part.file, bytes, from, bytes.length - from, part.bytes);
		from += written;
		part.bytes += written;
	}
}
