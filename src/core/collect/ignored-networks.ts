import { readFileSync, statSync } from 'node:fs';
import { Networks } from '../domain/networks.ts';
import { OperatorError, reasonOf } from '../errors.ts';

const followEveryMs = 1000;

/** Networks whose hits are not stored, from a file that is read again when it changes. */
export class IgnoredNetworks implements Disposable {
	readonly #path: string;
	readonly #onError: (reason: string) => void;
	readonly #timer: NodeJS.Timeout;
	#networks: Networks;
	#stamp: string;

	/**
	 * @param onError called if the changed file cannot be used; the previous networks stay in effect
	 * @throws OperatorError if the file cannot be used at the start
	 */
	constructor(path: string, onError: (reason: string) => void) {
		this.#path = path;
		this.#onError = onError;
		try {
			this.#stamp = this.#readStamp();
			this.#networks = new Networks(readFileSync(path, 'utf8'));
		} catch (error) {
			throw new OperatorError(`--ignore-networks ${path} cannot be used: ${reasonOf(error)}.`);
		}
		this.#timer = setInterval(() => this.#follow(), followEveryMs).unref();
	}

	#readStamp(): string {
		const { mtimeMs, size, ino } = statSync(this.#path);
		return `${mtimeMs} ${size} ${ino}`;
	}

	#follow(): void {
		try {
			const stamp = this.#readStamp();
			if (stamp === this.#stamp) return;
			// Each state of the file is reported once.
			this.#stamp = stamp;
			this.#networks = new Networks(readFileSync(this.#path, 'utf8'));
		} catch (error) {
			const reason = reasonOf(error);
			if (this.#stamp !== reason) this.#onError(reason);
			if ((error as NodeJS.ErrnoException).code !== undefined) this.#stamp = reason;
		}
	}

	has(address: string | undefined): boolean {
		return address !== undefined && this.#networks.has(address);
	}

	[Symbol.dispose](): void {
		clearInterval(this.#timer);
	}
}
