import { closeSync, readSync } from 'node:fs';
import { openTemporaryFile, writeAll } from './input-file.ts';
import { RowFile } from './row-file.ts';

const pendingCharacters = 64 * 1024;
const chunkBytes = 1024 * 1024;

interface Part {
	readonly file: number;
	pending: string;
	bytes: number;
}

/** Rows in temporary files, partitioned by name. They disappear with the process, however it ends. */
export class SpillFiles<Row> {
	readonly #parts = new Map<string, Part>();

	add(name: string, row: Row): void {
		const begin = () => ({ file: openTemporaryFile(), pending: '', bytes: 0 });
		const part = this.#parts.getOrInsertComputed(name, begin);
		part.pending += `${JSON.stringify(row)}\n`;
		if (part.pending.length >= pendingCharacters) write(part);
	}

	/** Names of the partitions that have rows, sorted. */
	get names(): string[] {
		return [...this.#parts.keys()].sort();
	}

	/** Rows of a partition. */
	*read(name: string): Generator<Row> {
		const part = this.#parts.get(name);
		if (!part) return;
		write(part);
		const lines = new RowFile({ name });
		for (let at = 0; at < part.bytes; ) {
			const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, part.bytes - at));
			const length = readSync(part.file, chunk, 0, chunk.length, at);
			if (length === 0) throw new Error('a temporary file is shorter than it was');
			at += length;
			for (const { fields } of lines.push(chunk.subarray(0, length))) yield fields as Row;
		}
	}

	[Symbol.dispose](): void {
		for (const { file } of this.#parts.values()) closeSync(file);
		this.#parts.clear();
	}
}

function write(part: Part): void {
	const bytes = Buffer.from(part.pending);
	part.pending = '';
	writeAll(part.file, bytes, part.bytes);
	part.bytes += bytes.length;
}
