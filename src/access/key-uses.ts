import type { KeyUse } from '../domain/api-key.ts';

/** What `caskade key list` shows may be so old. */
const recordEveryMs = 60_000;

/** Remembers when each key was used last. Recording it costs one write a minute, however many requests there are. */
export class KeyUses {
	readonly #record: (uses: readonly KeyUse[]) => Promise<void>;
	readonly #onError: (error: unknown) => void;
	#atMs = new Map<string, number>();
	readonly #timer: NodeJS.Timeout;

	constructor(
		record: (uses: readonly KeyUse[]) => Promise<void>,
		onError: (error: unknown) => void,
		everyMs = recordEveryMs,
	) {
		this.#record = record;
		this.#onError = onError;
		this.#timer = setInterval(() => void this.#tell(), everyMs).unref();
	}

	add(keyId: string, atMs: number): void {
		this.#atMs.set(keyId, atMs);
	}

	async #tell(): Promise<void> {
		if (this.#atMs.size === 0) return;
		const told = this.#atMs;
		this.#atMs = new Map();
		try {
			await this.#record(Array.from(told, ([keyId, atMs]) => ({ keyId, atMs })));
		} catch (error) {
			// Later uses count.
			this.#atMs = new Map([...told, ...this.#atMs]);
			this.#onError(error);
		}
	}

	/** To be called once no more requests are admitted. */
	async stop(): Promise<void> {
		clearInterval(this.#timer);
		await this.#tell();
	}
}
