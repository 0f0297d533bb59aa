import { LRUCache } from 'lru-cache';
import type { ModelName } from '../../store/control/control-store.ts';
import { type GoalModel, openModel, UnusableModelError } from './goal-model.ts';

interface CachedModel {
	readonly model: GoalModel | undefined;
	/** Size of the model as JSON. */
	readonly characters: number;
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

/** Keeps active models ready to score, and evicts the least recently used. */
export class ModelCache {
	readonly #cache: LRUCache<string, CachedModel, { readonly accountId: number; readonly name: ModelName }>;

	constructor({ read, onError, monotonicMs, maxCharacters: maxSize = maxCharacters }: CacheOptions) {
		this.#cache = new LRUCache({
			maxSize,
			// A model larger than the limit is kept alone. Otherwise every score would read it.
			sizeCalculation: ({ characters }) => Math.min(maxSize, Math.max(minCharacters, characters)),
			perf: { now: monotonicMs },
			ttlResolution: 0,
			// Who waits for a model gets it, although it is evicted meanwhile.
			ignoreFetchAbort: true,
			fetchMethod: async (_key, _before, { options, context: { accountId, name } }) => {
				try {
					const body = await read(accountId, name);
					return { model: openModel(name.version, body), characters: body.length };
				} catch (error) {
					const isUnusable = error instanceof UnusableModelError;
					options.ttl = isUnusable ? retryUnusableAfterMs : retryAfterMs;
					const ofWhat = `account ${accountId}, goal ${name.goal}, ${name.scope}`;
					onError(
						isUnusable
							? new UnusableModelError(`${ofWhat}: ${error.message}; the base rate is served`, {
									cause: error,
								})
							: error,
					);
					return { model: undefined, characters: 0 };
				}
			},
		});
	}

	/** The model; immediately if it is cached. Undefined if it cannot be used now. Never rejects. */
	get(accountId: number, name: ModelName): GoalModel | undefined | Promise<GoalModel | undefined> {
		const key = keyOf(accountId, name);
		const cached = this.#cache.get(key);
		if (cached) return cached.model;
		return this.#cache.fetch(key, { context: { accountId, name } }).then((made) => made?.model);
	}

	/** To be called when a model is no longer active. */
	forget(accountId: number, name: ModelName): void {
		this.#cache.delete(keyOf(accountId, name));
	}
}

function keyOf(accountId: number, { goal, scope, version }: ModelName): string {
	return `${accountId} ${scope} ${version} ${goal}`;
}
