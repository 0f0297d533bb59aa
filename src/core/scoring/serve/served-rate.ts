import { type Goal, horizonMsOf } from '../../domain/goal.ts';
import type { Profile } from '../../domain/profile.ts';
import { recencyOf } from '../rows/recency.ts';

/** Served for a goal without a model: the share of visitors who reach it within its horizon, by recency. */
export interface BaseRate {
	/** Rates of visitors who are present, were present within the last horizon, and before; see `Recency`. */
	readonly byRecency: readonly number[];
}

/** The assumed base rate of an account without data. */
export function priorRateOf({ counts }: Pick<Goal, 'counts'>): number {
	return counts === 'renewal' ? 0.5 : 0.02;
}

/** The weight of what is assumed: ten visitors, or half a conversion if that is more, so that no rate vanishes. */
const minPriorVisitors = 10;
const minPriorConversions = 0.5;

/** The rate for a visitor, or a visit, by its last activity. */
export function baseRateFor(rate: BaseRate, goal: Goal, profile: Profile, nowMs: number): number {
	return rate.byRecency[recencyOf(profile, nowMs, horizonMsOf(goal))] as number;
}

/** A rate observed on `of` visitors, shrunken towards another. */
export function smoothedRate(reached: number, of: number, towards: number): number {
	const weight = Math.max(minPriorVisitors, minPriorConversions / towards);
	return (reached + towards * weight) / (of + weight);
}
