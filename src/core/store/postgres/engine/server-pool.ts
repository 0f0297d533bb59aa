import { LRUCache } from 'lru-cache';

interface Closable {
	close(): Promise<void>;
}

/**
 * One resource for each of several database servers, made when it is first needed. Above `max`, the least recently used
 * is closed: it finishes what it has begun, and is made again when needed.
 */
export class ServerPool<Resource extends Closable> {
	readonly #resources: LRUCache<string, Resource>;
	readonly #closing = new Set<Promise<void>>();

	constructor(max: number, make: (address: string) => Resource) {
		this.#resources = new LRUCache({ max, memoMethod: make, dispose: (one) => this.#close(one) });
	}

	get(address: string): Resource {
		const { max, size } = this.#resources;
		// Before another one is made.
		if (size === max && !this.#resources.has(address)) this.#resources.pop();
		return this.#resources.memo(address);
	}

	#close(resource: Resource): void {
		const closing = resource.close().finally(() => this.#closing.delete(closing));
		closing.catch(() => {});
		this.#closing.add(closing);
	}

	values(): Iterable<Resource> {
		return this.#resources.values();
	}

	async close(): Promise<void> {
		this.#resources.clear();
		await Promise.all(this.#closing);
	}
}
