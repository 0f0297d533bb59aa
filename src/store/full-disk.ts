/**
 * Remembers that a write found no room, until one that needs room has succeeded. A probe alone would not notice: it
 * writes little, to where there was room before, and so succeeds on a disk on which uploads fail.
 */
export class FullDisk {
	readonly #takeRoom: () => Promise<void>;
	#isKnown = false;

	/** @param takeRoom writes as much as a large upload needs, on the same disk, and gives it back; throws where it cannot */
	constructor(takeRoom: () => Promise<void>) {
		this.#takeRoom = takeRoom;
	}

	found(): void {
		this.#isKnown = true;
	}

	/** @throws as long as there is no room */
	async check(): Promise<void> {
		if (!this.#isKnown) return;
		// Before the look, so that what is found meanwhile counts.
		this.#isKnown = false;
		try {
			await this.#takeRoom();
		} catch (error) {
			this.#isKnown = true;
			throw error;
		}
	}
}
