export const experimentGroups = ['treated', 'holdout'] as const;
export type ExperimentGroup = (typeof experimentGroups)[number];

/** The group that a visitor is in, as pages are told. */
export interface Assignment {
	readonly experiment: string;
	readonly group: ExperimentGroup;
}
