import { closeSync, fdatasync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { OperatorError } from '../errors.ts';
import type { BatchRecord } from './row-outcomes.ts';

/** What an upload is of; an upload of something else must not go on where this one was. */
export interface UploadIdentity {
	readonly sha256: string;
	readonly url: string;
	readonly aid: string;
	readonly simulate: boolean;
}

/** A power cut may cost so much of it, which is sent again then. */
const syncEveryMs = 1000;

/**
 * What is done of an upload, beside its file: a heading, then a line for each batch that was acknowledged, in the order in
 * which they were. Only ever appended to, so that whatever ends the process leaves what was written.
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
			// Where it fails, what is lost in a power cut is sent again.
			fdatasync(handle, () => {});
		}, syncEveryMs).unref();
	}

	/**
	 * Opens what an earlier run has left, or begins.
	 * @param onBatch each batch that was acknowledged
	 * @throws OperatorError where it is of another upload
	 */
	static open(path: string, identity: UploadIdentity, onBatch: (batch: BatchRecord) => void): ProgressFile {
		const handle = openSync(path, 'a+', 0o600);
		try {
			const bytes = readFileSync(handle);
			// A line that the end of a process has cut is not one.
			const whole = bytes.subarray(0, bytes.lastIndexOf(0x0a) + 1);
			if (whole.length < bytes.length) ftruncateSync(handle, whole.length);
			const [heading, ...batches] = whole.toString().split('\n');
			const expected = JSON.stringify(identity);
			if (!heading) writeSync(handle, `${expected}\n`);
			else if (heading !== expected)
				throw new OperatorError(
					`${path} is of another upload: the file, the account, the server or --simulate was another. Remove it to begin anew; what is stored is not stored twice.`,
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

/** What is no batch, as after a power cut, counts as not done. */
function parseBatch(line: string): BatchRecord | null {
	try {
		const batch = JSON.parse(line) as Partial<BatchRecord> | null;
		const lists = [batch?.runs, batch?.duplicates, batch?.conflicts, batch?.rejected];
		return lists.every(Array.isArray) ? (batch as BatchRecord) : null;
	} catch {
		return null;
	}
}
