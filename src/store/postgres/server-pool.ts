interface Closable {
	close(): Promise<void>;
}

/**
 * Something for each of several database servers, made when it is first needed. Of more than `most` the one that was
 * used longest ago is closed; it finishes what it has begun, and is made anew when it is needed again.
 */
export class ServerPool<Thing extends Closable> {
	readonly #make: (address: string) => Thing;
	readonly #most: number;
	/** In order of use: the first was used longest ago. */
	readonly #things = new Map<string, Thing>();
	readonly #closing = new Set<Promise<void>>();

	constructor(most: number, make: (address: string) => Thing) {
		this.#most = most;
		this.#make = make;
	}

	get(address: string): Thing {
		let thing = this.#things.get(address);
		if (thing) this.#things.delete(address);
		else thing = this.#makeRoomFor(address);
		this.#things.set(address, thing);
		return thing;
	}

	#makeRoomFor(address: string): Thing {
		const [oldest] = this.#things;
		if (oldest && this.#things.size >= this.#most) {
			this.#things.delete(oldest[0]);
			const closing = oldest[1]
				.close()
				.catch(() => {})
				.finally(() => this.#closing.delete(closing));
			this.#closing.add(closing);
		}
		return this.#make(address);
	}

	/** Those that are open. */
	values(): Iterable<Thing> {
		return this.#things.values();
	}

	async close(): Promise<void> {
		const open = [...this.#things.values()];
		this.#things.clear();
		await Promise.all([...this.#closing, ...open.map((thing) => thing.close())]);
	}
}
