import { LRUCache } from 'lru-cache';
import type { ModelName } from '../../store/control/control-store.ts';
import { type GoalModel, openModel, UnusableModelError } from './goal-model.ts';

/** Gives active models. */
export interface Models {
	/** The model; immediately if it is cached. Undefined if it cannot be used now. Never rejects. */
	get(accountId: number, name: ModelName): GoalModel | undefined | Promise<GoalModel | undefined>;
	/** To be called when a model is no longer active. */
	forget(accountId: number, name: ModelName): void;
}

interface CachedModel {
	readonly model: GoalModel | undefined;
	/** Size of the model as JSON. */
	readonly characters: number;
	/** When to read it again. */
	readonly retryAtMs: number;
}

/**
 * Size of all models as JSON. In memory, each character takes about two bytes. Opening one takes a millisecond or two.
 */
const maxCharacters = 64 * 1024 * 1024;
/** The minimum weight, which bounds the number of unusable models. */
const minCharacters = 1024;
const retryAfterMs = 5000;
/** A broken model stays broken; a newer version's model becomes usable when this server is upgraded. */
const retryUnusableAfterMs = 600_000;

interface CacheOptions {
	/** Reads a model as JSON. */
	readonly read: (accountId: number, name: ModelName) => Promise<string>;
	/** Called when a model cannot be read or used, so that its base rate is served. */
	readonly onError: (error: unknown) => void;
	/** A monotonic clock: one that steps back would delay the next attempt to read a model. */
	readonly monotonicMs: () => number;
	readonly maxCharacters?: number;
}

/** Keeps models ready to score, and evicts the least recently used. */
export class ModelCache implements Models {
	readonly #options: CacheOptions;
	readonly #entries: LRUCache<string, CachedModel>;
	readonly #reading = new Map<string, Promise<GoalModel | undefined>>();

	constructor(options: CacheOptions) {
		this.#options = options;
		const maxSize = options.maxCharacters ?? maxCharacters;
		this.#entries = new LRUCache({
			maxSize,
			// A model larger than the limit is kept alone. Otherwise every score would read it.
			sizeCalculation: ({ characters }) => Math.min(maxSize, Math.max(minCharacters, characters)),
		});
	}

	get(accountId: number, name: ModelName): GoalModel | undefined | Promise<GoalModel | undefined> {
		const key = keyOf(accountId, name);
		const entry = this.#entries.get(key);
		if (entry && this.#options.monotonicMs() < entry.retryAtMs) return entry.model;
		const reading = this.#reading.get(key) ?? this.#load(key, accountId, name);
		this.#reading.set(key, reading);
		return reading;
	}

	forget(accountId: number, name: ModelName): void {
		this.#entries.delete(keyOf(accountId, name));
	}

	async #load(key: string, accountId: number, name: ModelName): Promise<GoalModel | undefined> {
		let entry: CachedModel;
		try {
			const body = await this.#options.read(accountId, name);
			const model = openModel(name.version, body);
			entry = { model, characters: body.length, retryAtMs: Number.POSITIVE_INFINITY };
		} catch (error) {
			const isUnusable = error instanceof UnusableModelError;
			const waitMs = isUnusable ? retryUnusableAfterMs : retryAfterMs;
			entry = { model: undefined, characters: 0, retryAtMs: this.#options.monotonicMs() + waitMs };
			const ofWhat = `account ${accountId}, goal ${name.goal}, ${name.scope}`;
			this.#options.onError(
				isUnusable
					? new UnusableModelError(`${ofWhat}: ${error.message}; the base rate is served`, { cause: error })
					: error,
			);
		}
		this.#entries.set(key, entry);
		this.#reading.delete(key);
		return entry.model;
	}
}

function keyOf(accountId: number, { goal, scope, version }: ModelName): string {
	return `${accountId} ${scope} ${version} ${goal}`;
}
