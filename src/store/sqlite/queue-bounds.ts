/** How much may wait for writers, over all threads that hand requests to them; one request more is refused. */
export class QueueBounds {
	/** Requests. */
	readonly length: number;
	/** To be posted to other threads. */
	readonly buffer: SharedArrayBuffer;
	/** Bounds memory. */
	readonly maxCharacters: number;
	/** Requests, and characters of them. */
	readonly #waiting: Int32Array;

	/** @param buffer another thread's, whose bounds these are */
	constructor(
		{ length, maxCharacters }: { readonly length: number; readonly maxCharacters: number },
		buffer = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT),
	) {
		this.length = length;
		this.maxCharacters = maxCharacters;
		this.buffer = buffer;
		this.#waiting = new Int32Array(buffer);
	}

	get waiting(): number {
		return Atomics.load(this.#waiting, 0);
	}

	/** @returns false where there is no room */
	enter(characters: number): boolean {
		const isFull = Atomics.add(this.#waiting, 0, 1) >= this.length;
		const isTooMuch = Atomics.add(this.#waiting, 1, characters) + characters > this.maxCharacters;
		if (!isFull && !isTooMuch) return true;
		this.leave(characters);
		return false;
	}

	leave(characters: number): void {
		Atomics.sub(this.#waiting, 0, 1);
		Atomics.sub(this.#waiting, 1, characters);
	}
}
