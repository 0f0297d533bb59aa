import type { LineName, Options } from './options.ts';
import type { Caskade } from './servers.ts';
import type { Row } from './table.ts';

/** What the lines of the table share. */
export interface Bench {
	readonly options: Options;
	readonly caskade: Caskade;
	/** Says how far it is. */
	readonly progress: (text: string) => void;
	/** Large uploads per second under full load, once that is measured. */
	peakPerSecond?: number;
}

/** One `--only` of the bench; may give several rows. */
export interface Line {
	readonly name: LineName;
	/** @throws Error where what was measured is not what it should be */
	measure(bench: Bench): Promise<LineResult>;
}

export interface LineResult {
	readonly rows: readonly Row[];
	/** What was checked, and what the rows have no room for. */
	readonly notes: readonly string[];
}
