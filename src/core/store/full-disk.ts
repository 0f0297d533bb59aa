/**
 * Remembers that the disk was full until a write that needs space succeeds. A probe alone would not notice: it writes
 * little, in space that is already allocated, and so succeeds on a disk on which uploads fail.
 */
export class FullDisk {
	readonly #takeRoom: () => Promise<void>;
	#isKnown = false;

	/**
	 * @param takeRoom writes as much as a large upload needs, on the same disk, and frees it again; throws where it cannot
	 */
	constructor(takeRoom: () => Promise<void>) {
		this.#takeRoom = takeRoom;
	}

	found(): void {
		this.#isKnown = true;
	}

	/** @throws while the disk is full */
	async check(): Promise<void> {
		if (!this.#isKnown) return;
		// Before the check, so that a failure during it is not lost.
		this.#isKnown = false;
		try {
			await this.#takeRoom();
		} catch (error) {
			this.#isKnown = true;
			throw error;
		}
	}
}
