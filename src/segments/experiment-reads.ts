import { LRUCache } from 'lru-cache';
import { countedBits, registers } from '../domain/distinct-count.ts';
import { type Draw, type Experiment, experimentGroups } from '../domain/experiment.ts';
import type { ExperimentRead } from '../store/control/control-store.ts';

/** A crash loses so much of the count at most. */
const recordEveryMs = 5000;

/**
 * Counts the visitors of experiments who ask for segments. In memory, and told to the store every few seconds; once most
 * visitors were counted, there is nothing new to tell.
 */
export class ExperimentReads {
	readonly #record: (reads: readonly ExperimentRead[]) => Promise<void>;
	readonly #onError: (error: unknown) => void;
	/** The highest rank of each register, by the experiment's secret: of treated visitors, then of those held out. */
	readonly #known = new LRUCache<string, Uint8Array>({ max: 1000 });
	#new = new Map<string, ExperimentRead>();
	readonly #timer: NodeJS.Timeout;

	constructor(
		record: (reads: readonly ExperimentRead[]) => Promise<void>,
		onError: (error: unknown) => void,
		everyMs = recordEveryMs,
	) {
		this.#record = record;
		this.#onError = onError;
		this.#timer = setInterval(() => void this.#tell(), everyMs).unref();
	}

	add(accountId: number, { name, secret }: Experiment, { group, bits }: Draw): void {
		const { register, rank } = countedBits(bits);
		let ranks = this.#known.get(secret);
		if (!ranks) {
			ranks = new Uint8Array(experimentGroups.length * registers);
			this.#known.set(secret, ranks);
		}
		const place = register + registers * experimentGroups.indexOf(group);
		if ((ranks[place] as number) >= rank) return;
		ranks[place] = rank;
		this.#new.set(`${secret} ${place}`, { accountId, experiment: name, group, register, rank });
	}

	async #tell(): Promise<void> {
		if (this.#new.size === 0) return;
		const told = this.#new;
		this.#new = new Map();
		try {
			await this.#record([...told.values()]);
		} catch (error) {
			this.#new = new Map([...told, ...this.#new]);
			this.#onError(error);
		}
	}

	/** To be called once no more requests are admitted. */
	async stop(): Promise<void> {
		clearInterval(this.#timer);
		await this.#tell();
	}
}
