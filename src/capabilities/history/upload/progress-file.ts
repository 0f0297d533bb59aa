import {
	closeSync,
	constants,
	fdatasync,
	fsyncSync,
	ftruncateSync,
	openSync,
	readFileSync,
	rmSync,
	writeSync,
} from 'node:fs';
import { OperatorError } from '../../../core/errors.ts';
import type { EventFormat } from './event-file.ts';
import { openOwnFile } from './own-file.ts';
import type { BatchRecord } from './row-outcomes.ts';

/** Identifies an upload, so that a different one does not continue from its progress. */
export interface UploadIdentity {
	readonly sha256: string;
	readonly url: string;
	readonly aid: string;
	readonly simulate: boolean;
	readonly format: EventFormat;
}

/** After a power cut, at most the batches of this period are sent again. */
const syncEveryMs = 1000;
/** How every such file begins. */
const kind = { file: 'progress of caskade upload' };
const beginning = JSON.stringify(kind).slice(0, -1);
const { O_APPEND, O_CREAT, O_EXCL, O_RDWR } = constants;

/**
 * The progress of an upload, in a file beside it: a header, then one line per acknowledged batch. It is created with the
 * first of them. Lines are only appended, so they survive however the process ends.
 */
export class ProgressFile implements Disposable {
	readonly #path: string;
	readonly #header: string;
	#handle: number | null = null;
	#timer: NodeJS.Timeout | undefined;
	#isDirty = false;

	private constructor(path: string, identity: UploadIdentity) {
		this.#path = path;
		this.#header = JSON.stringify({ ...kind, ...identity });
	}

	/**
	 * Opens the progress of an earlier run, if there is one.
	 * @param onBatch receives each acknowledged batch
	 * @throws OperatorError if it belongs to another upload, or to somebody else
	 */
	static open(path: string, identity: UploadIdentity, onBatch: (batch: BatchRecord) => void): ProgressFile {
		const file = new ProgressFile(path, identity);
		for (const batch of file.#openKnown()) onBatch(batch);
		return file;
	}

	/** Opens the file, if it is there. @returns the acknowledged batches in it */
	#openKnown(): BatchRecord[] {
		const handle = openOwnFile(this.#path, O_RDWR | O_APPEND, isOurs);
		if (handle === null) return [];
		let isKept = false;
		try {
			const bytes = readFileSync(handle);
			// An incomplete last line is dropped.
			const whole = bytes.subarray(0, bytes.lastIndexOf(0x0a) + 1);
			const [header, ...lines] = whole.toString().split('\n');
			const batches = lines.map(parseBatch).filter((batch) => batch !== null);
			isKept = header === this.#header;
			if (isKept) {
				ftruncateSync(handle, whole.length);
				this.#begin(handle);
				return batches;
			}
			if (batches.length > 0)
				throw new OperatorError(
					`${this.#path} belongs to another upload: the file, --aid, --url, --simulate or the format was different. Remove it to start again; nothing is stored twice.`,
				);
		} finally {
			if (!isKept) closeSync(handle);
		}
		// Whoever has it open does not write to the one that follows.
		rmSync(this.#path, { force: true });
		return [];
	}

	#begin(handle: number): void {
		this.#handle = handle;
		this.#timer = setInterval(() => {
			if (!this.#isDirty) return;
			this.#isDirty = false;
			// If it fails and the power is cut, the batches are sent again.
			fdatasync(handle, () => {});
		}, syncEveryMs).unref();
	}

	add(batch: BatchRecord): void {
		writeSync(this.#handle ?? this.#create(), `${JSON.stringify(batch)}\n`);
		this.#isDirty = true;
	}

	#create(): number {
		try {
			const handle = openSync(this.#path, O_RDWR | O_APPEND | O_CREAT | O_EXCL, 0o600);
			writeSync(handle, `${this.#header}\n`);
			fsyncSync(handle);
			this.#begin(handle);
			return handle;
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
			// The same upload runs twice.
			this.#openKnown();
			return this.#handle ?? this.#create();
		}
	}

	/** Of an upload that is over. */
	remove(): void {
		if (this.#handle !== null) rmSync(this.#path, { force: true });
	}

	[Symbol.dispose](): void {
		clearInterval(this.#timer);
		if (this.#handle !== null) closeSync(this.#handle);
	}
}

function isOurs(header: string): boolean {
	return header.startsWith(beginning);
}

/** Lines that are not batches, as after a power cut, are ignored. */
function parseBatch(line: string): BatchRecord | null {
	try {
		const batch = JSON.parse(line) as Partial<BatchRecord> | null;
		const lists = [batch?.runs, batch?.duplicates, batch?.conflicts, batch?.rejected];
		return lists.every(Array.isArray) ? (batch as BatchRecord) : null;
	} catch {
		return null;
	}
}
