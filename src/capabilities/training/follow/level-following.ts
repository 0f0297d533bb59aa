import { delayMsOf, type Goal } from '../../../core/domain/goal.ts';
import type { LevelWeek, ModelLevels } from '../../../core/domain/model-levels.ts';
import { dayMs } from '../../../core/durations.ts';
import type { GoalModel } from '../../../core/scoring/serve/goal-model.ts';
import type { AccountHistory } from '../../../kit/reading/histories.ts';
import { mean } from '../fit/measure.ts';
import { visitProfileAt } from '../rows/snapshots.ts';
import { endOfLog, sampleOutcomes } from '../serve/base-rate.ts';

interface FollowOptions {
	readonly goal: Goal;
	readonly scope: 'vid' | 'sid';
	readonly model: GoalModel;
	/** The model has learned from nothing later. */
	readonly trainedToMs: number;
	/** The result of the last call. */
	readonly levels: ModelLevels | undefined;
	readonly nowMs: number;
}

const weekMs = 7 * dayMs;
/** Half a year. */
const keptWeeks = 26;
const minRows = 20;

interface ScoredVisitor {
	readonly vid: string;
	readonly label: 0 | 1;
	readonly score: number;
}

/**
 * Compares scores with outcomes since the model was trained: for each week with known outcomes, the mean score and the rate.
 * @returns undefined if no week's outcomes have become known since the last measurement
 */
export async function followLevel(
	reader: AccountHistory,
	{ goal, scope, model, trainedToMs, levels, nowMs }: FollowOptions,
): Promise<ModelLevels | undefined> {
	// The time since a log ended would look like a time without outcomes.
	const knownToMs = await endOfLog(reader, nowMs);
	const delayMs = delayMsOf(goal);
	const toMs = knownToMs - delayMs;
	const weeks = [...(levels?.weeks ?? [])];
	// Rows whose outcome was known at training were used to set its level.
	const beganMs = levels?.measuredToMs ?? Math.max(trainedToMs - delayMs, toMs - keptWeeks * weekMs);
	let measuredToMs = beganMs;
	for (; measuredToMs + weekMs <= toMs; measuredToMs += weekMs) {
		const rows: ScoredVisitor[] = [];
		const period = { fromMs: measuredToMs, toMs: measuredToMs + weekMs };
		for await (const one of sampleOutcomes(reader, { goals: [goal], ...period, nowMs: knownToMs })) {
			const { history, atMs, recency, profile, labels, renewing } = one;
			if (scope === 'sid' && recency !== 0) continue;
			const sid = profile.visit?.sid;
			const of = scope === 'sid' && sid !== undefined ? visitProfileAt(history, sid, atMs) : profile;
			const score = model.probability(of, atMs, { renewing });
			rows.push({ vid: history.vid, score, label: labels[0] ?? 0 });
		}
		if (rows.length >= minRows) weeks.push({ ...period, ...compare(rows) });
	}
	return measuredToMs === beganMs ? undefined : { weeks: weeks.slice(-keptWeeks), measuredToMs };
}

function compare(rows: readonly ScoredVisitor[]): Omit<LevelWeek, 'fromMs' | 'toMs'> {
	const [predicted, observed] = [mean(rows.map(({ score }) => score)), mean(rows.map(({ label }) => label))];
	// A visitor's rows count together.
	const misses = new Map<string, number>();
	for (const { vid, label, score } of rows) misses.set(vid, (misses.get(vid) ?? 0) + label - score);
	const expected = rows.reduce((sum, { score }) => sum + score * (1 - score), 0);
	const variance = Math.max(
		expected,
		misses.values().reduce((sum, miss) => sum + miss ** 2, 0),
	);
	return {
		visitors: misses.size,
		predicted,
		observed,
		isOutside: Math.abs(observed - predicted) * rows.length > 1.96 * Math.sqrt(variance),
	};
}
