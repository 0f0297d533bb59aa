interface Closable {
	close(): Promise<void>;
}

/**
 * One resource for each of several database servers, made when it is first needed. Above `max`, the least recently used
 * is closed: it finishes what it has begun, and is made again when needed.
 */
export class ServerPool<Resource extends Closable> {
	readonly #make: (address: string) => Resource;
	readonly #max: number;
	/** Least recently used first. */
	readonly #resources = new Map<string, Resource>();
	readonly #closing = new Set<Promise<void>>();

	constructor(max: number, make: (address: string) => Resource) {
		this.#max = max;
		this.#make = make;
	}

	get(address: string): Resource {
		let resource = this.#resources.get(address);
		if (resource) this.#resources.delete(address);
		else resource = this.#makeRoomFor(address);
		this.#resources.set(address, resource);
		return resource;
	}

	#makeRoomFor(address: string): Resource {
		const [oldest] = this.#resources;
		if (oldest && this.#resources.size >= this.#max) {
			this.#resources.delete(oldest[0]);
			const closing = oldest[1]
				.close()
				.catch(() => {})
				.finally(() => this.#closing.delete(closing));
			this.#closing.add(closing);
		}
		return this.#make(address);
	}

	values(): Iterable<Resource> {
		return this.#resources.values();
	}

	async close(): Promise<void> {
		const open = [...this.#resources.values()];
		this.#resources.clear();
		await Promise.all([...this.#closing, ...open.map((resource) => resource.close())]);
	}
}
