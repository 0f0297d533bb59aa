import { LRUCache } from 'lru-cache';
import type { ModelName } from '../store/control/control-store.ts';
import { type GoalModel, openModel, UnusableModelError } from './goal-model.ts';

/** Where models are that score. */
export interface Models {
	/** The model, ready to score, at once where it is known; undefined where it cannot be used now. Never rejects. */
	get(accountId: number, name: ModelName): GoalModel | undefined | Promise<GoalModel | undefined>;
	/** It does not score any more. */
	forget(accountId: number, name: ModelName): void;
}

interface CachedModel {
	readonly model: GoalModel | undefined;
	/** Of the model as JSON. */
	readonly characters: number;
	/** When reading it is tried again. */
	readonly retryAtMs: number;
}

/** Of models as JSON; ready to score, each character takes about two bytes. Opening one takes a millisecond or two. */
const maxCharacters = 64 * 1024 * 1024;
/** So that many that cannot be used are not kept for nothing either. */
const minCharacters = 1024;
const retryAfterMs = 5000;
/** What is broken stays so; a model of a newer program waits for this one to be upgraded. */
const retryUnusableAfterMs = 600_000;

/** Keeps models ready to score; those used longest ago make room. */
export class ModelCache implements Models {
	readonly #read: (accountId: number, name: ModelName) => Promise<string>;
	readonly #onError: (error: unknown) => void;
	readonly #monotonicMs: () => number;
	readonly #entries: LRUCache<string, CachedModel>;
	readonly #reading = new Map<string, Promise<GoalModel | undefined>>();

	/**
	 * @param options.read gives a model as JSON
	 * @param options.onError a model could not be read, or cannot be used; its base rate is served
	 */
	constructor(options: {
		read: (accountId: number, name: ModelName) => Promise<string>;
		onError: (error: unknown) => void;
		/** Of a clock that never goes back: one that does would keep a model from being tried again. */
		monotonicMs: () => number;
		maxCharacters?: number;
	}) {
		this.#read = options.read;
		this.#onError = options.onError;
		this.#monotonicMs = options.monotonicMs;
		const maxSize = options.maxCharacters ?? maxCharacters;
		this.#entries = new LRUCache({
			maxSize,
			// One that is larger than all may be is kept all the same, alone: else it would be read for every score.
			sizeCalculation: ({ characters }) => Math.min(maxSize, Math.max(minCharacters, characters)),
		});
	}

	get(accountId: number, name: ModelName): GoalModel | undefined | Promise<GoalModel | undefined> {
		const key = keyOf(accountId, name);
		const entry = this.#entries.get(key);
		if (entry && this.#monotonicMs() < entry.retryAtMs) return entry.model;
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
			const body = await this.#read(accountId, name);
			const model = openModel(name.version, body);
			entry = { model, characters: body.length, retryAtMs: Number.POSITIVE_INFINITY };
		} catch (error) {
			const isUnusable = error instanceof UnusableModelError;
			const waitMs = isUnusable ? retryUnusableAfterMs : retryAfterMs;
			entry = { model: undefined, characters: 0, retryAtMs: this.#monotonicMs() + waitMs };
			const ofWhat = `account ${accountId}, goal ${name.goal}, ${name.scope}`;
			this.#onError(
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
