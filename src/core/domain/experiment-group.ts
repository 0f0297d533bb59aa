export const experimentGroups = ['treated', 'holdout'] as const;
export type ExperimentGroup = (typeof experimentGroups)[number];

/** The group that a visitor is in, as pages are told. */
export interface Assignment {
	readonly experiment: string;
	readonly group: ExperimentGroup;
}

/** A segment that a share of visitors is held out of, to measure what serving it brings. */
export interface Experiment {
	readonly name: string;
	/** The id of the segment. */
	readonly segment: string;
	/** The rule of the segment, which cannot change while the experiment runs. */
	readonly rule: string;
	readonly goal: string;
	/** Of the visitors, in per cent. */
	readonly holdoutPercent: number;
	/** Decides who is held out. Each experiment has its own, so that experiments are independent. */
	readonly secret: string;
	/** Milliseconds since 1970; up to, not including, `toMs`. */
	readonly fromMs: number;
	/** Null: until it is stopped. */
	readonly toMs: number | null;
	readonly stoppedAtMs: number | null;
}

/** When visitors stop entering, and the segment is served to all again, in milliseconds since 1970; Infinity if that is open. */
export function endOf({ toMs, stoppedAtMs }: Pick<Experiment, 'toMs' | 'stoppedAtMs'>): number {
	return Math.min(toMs ?? Number.POSITIVE_INFINITY, stoppedAtMs ?? Number.POSITIVE_INFINITY);
}
