import { closeSync, createReadStream, fstatSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { OperatorError } from '../../core/errors.ts';

const chunkBytes = 256 * 1024;

/** First bytes of files that are not read. */
const foreign: readonly [magic: Buffer, what: string][] = [
	[Buffer.from('PK\x03\x04'), 'is a ZIP archive or a workbook of a spreadsheet. Save it as CSV'],
	[Buffer.from([0xff, 0xfe]), 'is UTF-16. Save it as UTF-8'],
	[Buffer.from([0xfe, 0xff]), 'is UTF-16. Save it as UTF-8'],
];
const gzip = Buffer.from([0x1f, 0x8b]);
const longestMagic = 4;

/** A file that somebody wants to be read, as it is or compressed by gzip. `-` is standard input. */
export class InputFile implements Disposable {
	readonly name: string;
	/** As it is on disk; null if that is unknown, as of a pipe, which can be read only once. */
	readonly size: number | null;
	/** Null for standard input. */
	readonly #handle: number | null;

	private constructor(name: string, handle: number | null, size: number | null) {
		this.name = name;
		this.#handle = handle;
		this.size = size;
	}

	/** @throws OperatorError if there is no such file */
	static open(path: string): InputFile {
		if (path === '-') return new InputFile('standard input', null, null);
		const handle = openToRead(path);
		const stats = fstatSync(handle);
		if (!stats.isDirectory()) return new InputFile(path, handle, stats.isFile() ? stats.size : null);
		closeSync(handle);
		throw new OperatorError(`${path} is a folder.`);
	}

	/**
	 * Opens a file that can be read several times. Standard input is copied to one that disappears with the process, however
	 * it ends.
	 */
	static async openRepeatable(path: string): Promise<InputFile> {
		const input = InputFile.open(path);
		if (input.size !== null) return input;
		using piped = input;
		if (path !== '-')
			throw new OperatorError(`${path} is not a regular file: pipe it into standard input (-).`);
		const handle = openTemporaryFile();
		let size = 0;
		for await (const bytes of piped.#bytes()) {
			writeAll(handle, bytes, size);
			size += bytes.length;
		}
		return new InputFile(piped.name, handle, size);
	}

	/**
	 * The content, from its beginning.
	 * @param onBytes receives what is read, before it is uncompressed
	 * @throws OperatorError if it cannot be read as text
	 */
	async *chunks(onBytes: (bytes: Buffer) => void = () => {}): AsyncGenerator<Buffer> {
		const bytes = this.#bytes();
		let first: Buffer = Buffer.alloc(0);
		while (first.length < longestMagic) {
			const { value, done } = await bytes.next();
			if (done) break;
			onBytes(value);
			first = Buffer.concat([first, value]);
		}
		for (const [magic, what] of foreign)
			if (startsWith(first, magic)) throw new OperatorError(`${this.name} ${what}.`);
		async function* all() {
			yield first;
			for await (const chunk of bytes) {
				onBytes(chunk);
				yield chunk;
			}
		}
		if (startsWith(first, gzip)) yield* this.#uncompressed(all());
		else yield* all();
	}

	async *#bytes(): AsyncGenerator<Buffer> {
		if (this.#handle === null) yield* process.stdin;
		else
			yield* createReadStream('', {
				fd: this.#handle,
				autoClose: false,
				highWaterMark: chunkBytes,
				...(this.size !== null && { start: 0 }),
			});
	}

	async *#uncompressed(compressed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
		const gunzip = createGunzip({ chunkSize: chunkBytes });
		const fed = pipeline(compressed, gunzip);
		fed.catch(() => {});
		try {
			yield* gunzip;
			await fed;
		} catch (error) {
			if (!/^Z_/.test(String((error as NodeJS.ErrnoException).code))) throw error;
			throw new OperatorError(`${this.name} cannot be uncompressed: ${(error as Error).message}.`);
		}
	}

	[Symbol.dispose](): void {
		if (this.#handle !== null) closeSync(this.#handle);
	}
}

function openToRead(path: string): number {
	try {
		return openSync(path, 'r');
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (code === 'ENOENT' || code === 'ENOTDIR') throw new OperatorError(`There is no file ${path}.`);
		throw error;
	}
}

/** Opens a new file without a name. */
export function openTemporaryFile(): number {
	const folder = mkdtempSync(join(tmpdir(), 'caskade-'));
	try {
		return openSync(join(folder, 'rows'), 'wx+', 0o600);
	} finally {
		rmSync(folder, { recursive: true });
	}
}

/** Writes all bytes at a place of a file. */
export function writeAll(handle: number, bytes: Buffer, at: number): void {
	for (let from = 0; from < bytes.length; )
		from += writeSync(handle, bytes, from, bytes.length - from, at + from);
}

function startsWith(bytes: Buffer, magic: Buffer): boolean {
	return bytes.subarray(0, magic.length).equals(magic);
}
