import { closeSync, fdatasync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { OperatorError } from '../errors.ts';
import type { BatchRecord } from './row-outcomes.ts';

/** Identifies an upload, so that a different one does not continue from its progress. */
export interface UploadIdentity {
	readonly sha256: string;
	readonly url: string;
	readonly aid: string;
	readonly simulate: boolean;
}

/** After a power cut, at most the batches of this period are sent again. */
const syncEveryMs = 1000;

/**
 * The progress of an upload, in a file beside it: a heading, then one line per acknowledged batch. Lines are only appended, so
 * they survive however the process ends.
 */
export class ProgressFile implements Disposable {
	readonly #handle: number;
	readonly #timer: NodeJS.Timeout;
	#isDirty = false;

	private constructor(handle: number) {
		this.#handle = handle;
		this.#timer = setInterval(() => {
			if (!this.#isDirty) return;
			this.#isDirty = false;
			// If it fails and the power is cut, the batches are sent again.
			fdatasync(handle, () => {});
		}, syncEveryMs).unref();
	}

	/**
	 * Opens the progress of an earlier run, or creates it.
	 * @param onBatch receives each acknowledged batch
	 * @throws OperatorError if it belongs to another upload
	 */
	static open(path: string, identity: UploadIdentity, onBatch: (batch: BatchRecord) => void): ProgressFile {
		const handle = openSync(path, 'a+', 0o600);
		try {
			const bytes = readFileSync(handle);
			// An incomplete last line is dropped.
			const whole = bytes.subarray(0, bytes.lastIndexOf(0x0a) + 1);
			if (whole.length < bytes.length) ftruncateSync(handle, whole.length);
			const [heading, ...batches] = whole.toString().split('\n');
			const expected = JSON.stringify(identity);
			if (!heading) writeSync(handle, `${expected}\n`);
			else if (heading !== expected)
				throw new OperatorError(
					`${path} belongs to another upload: the file, --aid, --url or --simulate was different. Remove it to start again; nothing is stored twice.`,
				);
			for (const line of batches) {
				const batch = parseBatch(line);
				if (batch) onBatch(batch);
			}
			return new ProgressFile(handle);
		} catch (error) {
			closeSync(handle);
			throw error;
		}
	}

	add(batch: BatchRecord): void {
		writeSync(this.#handle, `${JSON.stringify(batch)}\n`);
		this.#isDirty = true;
	}

	[Symbol.dispose](): void {
		clearInterval(this.#timer);
		closeSync(this.#handle);
	}
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
