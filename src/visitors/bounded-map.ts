/** A map that holds only so much: what was used longest ago makes room. */
export class BoundedMap<Key, Value> {
	/** In order of use: the first was used longest ago. */
	readonly #entries = new Map<Key, { readonly value: Value; readonly weight: number }>();
	readonly #most: number;
	readonly #weigh: (value: Value) => number;
	#weight = 0;

	/** @param weigh how much of `most` a value takes; the latest stays whatever it weighs */
	constructor(most: number, weigh: (value: Value) => number = () => 1) {
		this.#most = most;
		this.#weigh = weigh;
	}

	get size(): number {
		return this.#entries.size;
	}

	/** A value that is used. */
	get(key: Key): Value | undefined {
		const entry = this.#entries.get(key);
		if (!entry) return undefined;
		this.#entries.delete(key);
		this.#entries.set(key, entry);
		return entry.value;
	}

	set(key: Key, value: Value): void {
		this.delete(key);
		const weight = this.#weigh(value);
		this.#entries.set(key, { value, weight });
		this.#weight += weight;
		for (const oldest of this.#entries.keys()) {
			if (this.#weight <= this.#most || oldest === key) break;
			this.delete(oldest);
		}
	}

	delete(key: Key): void {
		const entry = this.#entries.get(key);
		if (!entry) return;
		this.#weight -= entry.weight;
		this.#entries.delete(key);
	}
}
