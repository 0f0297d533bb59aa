import type { Band, Goal, ReachedCount } from '../../../core/domain/goal.ts';

/** What webhooks know of a visitor. */
export interface Standing {
	readonly segments: ReadonlySet<string>;
	/** By goal; only goals with a model, because without one everybody is in the middle. */
	readonly bands: ReadonlyMap<string, Band>;
	/** By goal; only goals that were reached. */
	readonly goals: ReadonlyMap<string, ReachedCount>;
}

/**
 * A band is left downwards only by more than this many percentiles, so that visitors at its edge do not change back and
 * forth.
 */
export const bandMargin = 3;

/** The band of a percentile for someone who was in another. */
export function heldBand(
	{ mediumFrom, highFrom }: Pick<Goal, 'mediumFrom' | 'highFrom'>,
	percentile: number,
	before: Band | undefined,
): Band {
	const holds = (band: Band, from: number) => percentile >= (before === band ? from - bandMargin : from);
	if (holds('high', highFrom)) return 'high';
	// From `high`, `medium` is left downwards as well.
	return percentile >= (before === 'low' || before === undefined ? mediumFrom : mediumFrom - bandMargin)
		? 'medium'
		: 'low';
}
