/** The outcome of a row. */
export type Outcome = 'stored' | 'duplicate' | 'conflict' | 'rejected';

const outcomes: readonly Outcome[] = ['stored', 'duplicate', 'conflict', 'rejected'];

export interface RowOutcome {
	readonly outcome: Outcome;
	/** Whether a key of the row joins nobody. */
	readonly isUnjoinable: boolean;
	readonly reason: string;
	readonly requestId: string;
}

/** The outcome of a batch. */
export interface BatchRecord {
	readonly requestId: string;
	/** The rows of the request, as first and last row of each run. */
	readonly runs: readonly (readonly [first: number, last: number])[];
	readonly duplicates: readonly number[];
	readonly conflicts: readonly number[];
	/** The rows with a key that joins nobody, whatever their outcome. Absent in progress of earlier versions. */
	readonly unjoinable?: readonly number[];
	/** The rows that the server refused, with the reasons. */
	readonly rejected: readonly (readonly [row: number, reason: string])[];
	/** Whether it took several attempts, so that the batch itself may have stored its duplicates. */
	readonly isRepeated: boolean;
}

const unjoinableCode = 0x80;

/** The outcomes of all rows. It needs a few bytes per row, because there may be millions. */
export class RowOutcomes {
	/** 0: unknown; otherwise the index in `outcomes`, plus 1, and `unjoinableCode` where a key joins nobody. */
	readonly #codes: Uint8Array;
	readonly #requests: Uint32Array;
	readonly #requestIds: string[] = [''];
	readonly #reasons = new Map<number, string>();
	readonly counts: Record<Outcome, number> = { stored: 0, duplicate: 0, conflict: 0, rejected: 0 };
	unjoinable = 0;

	constructor(rows: number) {
		this.#codes = new Uint8Array(rows);
		this.#requests = new Uint32Array(rows);
	}

	isKnown(row: number): boolean {
		return this.#codes[row] !== 0;
	}

	get known(): number {
		return Object.values(this.counts).reduce((sum, count) => sum + count, 0);
	}

	of(row: number): RowOutcome | undefined {
		const code = this.#codes[row] ?? 0;
		const outcome = outcomes[(code & ~unjoinableCode) - 1];
		if (!outcome) return undefined;
		const requestId = this.#requestIds[this.#requests[row] ?? 0] as string;
		const isUnjoinable = (code & unjoinableCode) !== 0;
		return { outcome, isUnjoinable, reason: this.#reasons.get(row) ?? '', requestId };
	}

	reject(row: number, reason: string): void {
		this.#set(row, 'rejected', 0, reason);
	}

	add({ requestId, runs, duplicates, conflicts, unjoinable = [], rejected, isRepeated }: BatchRecord): void {
		const request = this.#requestIds.push(requestId) - 1;
		const [repeats, others, nobodys] = [new Set(duplicates), new Set(conflicts), new Set(unjoinable)];
		for (const [first, last] of runs)
			for (let row = first; row <= last; row++) {
				if (others.has(row)) this.#set(row, 'conflict', request, 'stored before with other content');
				else if (repeats.has(row)) {
					const reason = isRepeated ? 'sent more than once because an answer was lost' : '';
					this.#set(row, 'duplicate', request, reason);
				} else this.#set(row, 'stored', request, '');
				if (nobodys.has(row)) this.#setUnjoinable(row);
			}
		for (const [row, reason] of rejected) this.#set(row, 'rejected', request, reason);
	}

	#setUnjoinable(row: number): void {
		const code = this.#codes[row] ?? 0;
		if (code === 0 || code & unjoinableCode) return;
		this.#codes[row] = code | unjoinableCode;
		this.unjoinable++;
	}

	#set(row: number, outcome: Outcome, request: number, reason: string): void {
		if (row >= this.#codes.length || this.isKnown(row)) return;
		this.#codes[row] = outcomes.indexOf(outcome) + 1;
		this.#requests[row] = request;
		if (reason) this.#reasons.set(row, reason);
		this.counts[outcome]++;
	}
}
