import { type Goal, hasReached } from '../domain/goal.ts';
import type { Profile } from '../domain/profile.ts';
import type { GoalModel } from './goal-model.ts';
import { percentile as percentileOf, quantiles } from './percentile.ts';

export type Band = 'low' | 'medium' | 'high';

export interface GoalScore {
	readonly goal: string;
	/** The probability that the goal is reached within its horizon, as of now. */
	readonly score: number;
	/** Among the account's recent visitors, 0 to 100. */
	readonly percentile: number;
	readonly band: Band;
	/** The model's version, or `prior` where there is none. */
	readonly model: string;
	/** What speaks for it, most important first; only where asked for. */
	readonly reasons?: readonly string[];
}

/** What scores of a goal are measured against. */
export interface ScoreReference {
	readonly goal: Goal;
	/** Served where there is no model. */
	readonly baseRate: number;
	/** Of the model's scores of visitors. */
	readonly grid: readonly number[];
}

/** Until an account has data of its own, its base rates are taken to be this, with the weight of so many visitors. */
const priorRate = 0.02;
const priorWeight = 50;

/** Makes references of the visitors that it is shown. */
export class ScoreReferenceBuilder {
	readonly #goals: readonly { goal: Goal; model: GoalModel | undefined; scores: number[] }[];
	readonly #reached: number[];
	readonly #nowMs: number;
	#visitors = 0;

	/** @param models of each goal, where there is one */
	constructor(goals: readonly Goal[], models: readonly (GoalModel | undefined)[], nowMs: number) {
		this.#goals = goals.map((goal, index) => ({ goal, model: models[index], scores: [] }));
		this.#reached = goals.map(() => 0);
		this.#nowMs = nowMs;
	}

	add(profile: Profile): void {
		this.#visitors++;
		for (const [index, { goal, model, scores }] of this.#goals.entries()) {
			if (hasReached(profile, goal)) this.#reached[index] = (this.#reached[index] ?? 0) + 1;
			if (model) scores.push(model.probability(profile, this.#nowMs));
		}
	}

	/** One for each goal. */
	references(): ScoreReference[] {
		return this.#goals.map(({ goal, scores }, index) => ({
			goal,
			baseRate: ((this.#reached[index] ?? 0) + priorRate * priorWeight) / (this.#visitors + priorWeight),
			grid: quantiles(scores),
		}));
	}
}

/** The score of a profile by a model, or without one the base rate. */
export function scoreGoal(
	{ goal, baseRate, grid }: ScoreReference,
	model: GoalModel | undefined,
	profile: Profile,
	nowMs: number,
	explain: boolean,
): GoalScore {
	const probability = model?.probability(profile, nowMs) ?? baseRate;
	const percentile = model ? Math.round(percentileOf(grid, probability)) : 50;
	return {
		goal: goal.name,
		score: Math.round(probability * 1e4) / 1e4,
		percentile,
		band: percentile >= goal.highFrom ? 'high' : percentile >= goal.mediumFrom ? 'medium' : 'low',
		model: model?.version ?? 'prior',
		...(explain && { reasons: model?.reasons(profile, nowMs) ?? [] }),
	};
}
