import { type ScoringSubject, scoredFor } from '../../domain/active-subscriptions.ts';
import { type Band, type Goal, hasReachedSince, horizonMsOf } from '../../domain/goal.ts';
import type { Profile } from '../../domain/profile.ts';
import type { Cadences } from '../../domain/subscription-cadence.ts';
import { recencies, recencyOf } from '../rows/recency.ts';
import type { GoalModel } from './goal-model.ts';
import { percentile as percentileOf, quantiles } from './percentile.ts';
import type { Wording } from './reasons.ts';
import { type BaseRate, baseRateFor, priorRateOf, smoothedRate } from './served-rate.ts';

export interface GoalScore {
	readonly goal: string;
	/** The probability that the goal is reached within its horizon, as of now; of renewals, that the next one comes in time. */
	readonly score: number;
	/** What being treated adds to the score; only where a model of lift is active. */
	readonly lift?: number;
	/** Rank among the visitors of like recency who were active within the last horizon, or of renewals among all subscribers; 0 to 100. */
	readonly percentile: number;
	readonly band: Band;
	/** The model's version; `prior` if there is no model. */
	readonly model: string;
	/** Reasons for a high score, or against a low one, most important first; only on request. */
	readonly reasons?: readonly string[];
}

/** What scores of a goal are compared with. */
export interface ScoreReference {
	readonly goal: Goal;
	/** Served if there is no model. */
	readonly baseRate: BaseRate;
	readonly ranks: Ranks;
}

/**
 * Quantiles of the model's scores of visitors who were active within the last horizon. Scores fall when a visitor leaves,
 * so those who are present are not compared with those who have left.
 */
interface Ranks {
	/** Of visitors as of their last activity, when they were present. Of goals of renewals there is none. */
	readonly present: readonly number[];
	/** Of those who have left, as of the reference's moment; of goals of renewals, of all subscribers, since who never comes renews, too. */
	readonly absent: readonly number[];
}

/** A goal, its model if there is one, and its base rate if it has been measured. */
export interface ReferenceOf {
	readonly goal: Goal;
	readonly model: GoalModel | undefined;
	readonly baseRate: BaseRate | undefined;
}

/** Without a model, everybody is in the middle. */
const middlePercentile = 50;
/** A score below the median times this is explained by what lowers it, others by what raises them. */
const lowShare = 0.98;

/** Builds references from visitors. */
export class ScoreReferenceBuilder {
	readonly #goals: readonly (ReferenceOf & {
		readonly present: number[];
		readonly absent: number[];
		of: number;
		reached: number;
	})[];
	readonly #nowMs: number;
	readonly #cadences: Cadences;

	constructor(goals: readonly ReferenceOf[], nowMs: number, cadences: Cadences) {
		this.#goals = goals.map((goal) => ({ ...goal, present: [], absent: [], of: 0, reached: 0 }));
		this.#nowMs = nowMs;
		this.#cadences = cadences;
	}

	/** @param nowMs the moment of this visitor's score, if it differs between visitors */
	add(profile: Profile, nowMs = this.#nowMs): void {
		for (const one of this.#goals) {
			const { goal, model } = one;
			const scored = scoredFor(goal, profile, nowMs, this.#cadences);
			if (!scored) continue;
			if (goal.counts === 'renewal') {
				if (model) one.absent.push(model.probability(profile, nowMs, scored));
				continue;
			}
			const sinceMs = nowMs - horizonMsOf(goal);
			if (profile.firstAtMs <= sinceMs) {
				one.of++;
				if (hasReachedSince(profile, goal, sinceMs, this.#cadences.cancellationEvt)) one.reached++;
			}
			// Visitors who left long ago would make everybody else's percentile high.
			if (!model || profile.lastAtMs < sinceMs) continue;
			one.present.push(model.probability(profile, profile.lastAtMs, scored));
			if (recencyOf(profile, nowMs, horizonMsOf(goal)) !== 0)
				one.absent.push(model.probability(profile, nowMs, scored));
		}
	}

	/** One for each goal. */
	references(): ScoreReference[] {
		return this.#goals.map(({ goal, present, absent, of, reached, baseRate }) => ({
			goal,
			// Until the base rate is measured in the background: the share of visitors known a horizon ago who have
			// reached the goal since.
			baseRate: baseRate ?? { byRecency: recencies.map(() => smoothedRate(reached, of, priorRateOf(goal))) },
			ranks: { present: quantiles(present), absent: quantiles(absent) },
		}));
	}
}

function isLow(grid: readonly number[], probability: number): boolean {
	return probability < lowShare * (grid[Math.floor(grid.length / 2)] ?? 0);
}

/**
 * A profile's score by a model, or by the base rate without one.
 * @param explain in whose words the reasons are told; null to leave them out
 * @param lift the model of lift, if one is active
 */
export function scoreGoal(
	{ goal, baseRate, ranks }: ScoreReference,
	model: GoalModel | undefined,
	profile: Profile,
	nowMs: number,
	scored: ScoringSubject,
	explain: Wording | null,
	lift?: GoalModel | undefined,
): GoalScore {
	const probability =
		model?.probability(profile, nowMs, scored) ?? baseRateFor(baseRate, goal, profile, nowMs);
	const isPresent = goal.counts !== 'renewal' && recencyOf(profile, nowMs, horizonMsOf(goal)) === 0;
	const grid = isPresent ? ranks.present : ranks.absent;
	const percentile = model ? Math.round(percentileOf(grid, probability)) : middlePercentile;
	return {
		goal: goal.name,
		score: rounded(probability),
		...(lift && { lift: rounded(lift.probability(profile, nowMs)) }),
		percentile,
		band: percentile >= goal.highFrom ? 'high' : percentile >= goal.mediumFrom ? 'medium' : 'low',
		model: model?.version ?? 'prior',
		...(explain && {
			reasons:
				model?.reasons(profile, nowMs, isLow(grid, probability) ? 'lower' : 'raise', explain, scored) ?? [],
		}),
	};
}

function rounded(probability: number): number {
	return Math.round(probability * 1e4) / 1e4;
}
