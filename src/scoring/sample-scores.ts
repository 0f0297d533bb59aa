import { type Goal, horizonMsOf } from '../domain/goal.ts';
import type { VisitorHistory } from '../store/account/reading/histories.ts';
import { type RateReader, type SampleOptions, sampleOutcomes } from './base-rate.ts';
import type { GoalModel } from './goal-model.ts';
import { logOddsOfProbability } from './measure.ts';
import type { Recency } from './recency.ts';
import { visitProfileAt } from './snapshots.ts';

export interface ScoreOptions extends Omit<SampleOptions, 'goals' | 'horizonMs'> {
	readonly goal: Goal;
	readonly scope: 'vid' | 'sid';
}

/** A visitor, or the visit, as of a moment: the log-odds that a model gives, and the outcome. */
export interface SampledScore {
	readonly history: VisitorHistory;
	readonly atMs: number;
	readonly recency: Recency;
	readonly logOdds: number;
	readonly label: 0 | 1;
}

/** Scores the samples of `sampleOutcomes`; of the scope `sid` only those during a visit. */
export async function* sampleScores(
	reader: RateReader,
	model: GoalModel,
	{ goal, scope, ...sample }: ScoreOptions,
): AsyncGenerator<SampledScore> {
	for await (const { history, atMs, recency, profile, labels } of sampleOutcomes(reader, {
		...{ goals: [goal], horizonMs: horizonMsOf(goal) },
		...sample,
	})) {
		if (scope === 'sid' && recency !== 0) continue;
		const sid = profile.visit?.sid;
		const of = scope === 'sid' && sid !== undefined ? visitProfileAt(history, sid, atMs) : profile;
		const logOdds = logOddsOfProbability(model.probability(of, atMs));
		yield { history, atMs, recency, logOdds, label: labels[0] ?? 0 };
	}
}
