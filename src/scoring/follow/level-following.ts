import { delayMsOf, type Goal } from '../../domain/goal.ts';
import type { LevelShift, LevelWeek, ModelLevels } from '../../domain/model-levels.ts';
import { dayMs } from '../../durations.ts';
import { logistic, logOddsOfProbability, mean } from '../fit/measure.ts';
import { levelShifts } from '../judge/level.ts';
import { type Recency, recencies } from '../rows/recency.ts';
import { visitProfileAt } from '../rows/snapshots.ts';
import { endOfLog, type RateReader, sampleOutcomes } from '../serve/base-rate.ts';
import type { GoalModel } from '../serve/goal-model.ts';

export interface FollowOptions {
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
/** A level is measured this often, as far as outcomes are known. */
const stepMs = dayMs;
/** Half a year. */
const keptWeeks = 26;
const keptShifts = 60;
const minRows = 20;

interface Scored {
	readonly atMs: number;
	readonly vid: string;
	readonly recency: Recency;
	readonly label: 0 | 1;
	/** The model's log-odds, without a shift. */
	readonly logOdds: number;
}

/**
 * Compares scores with outcomes since the model was trained: the shift that would have been right for the last week with
 * known outcomes, as training measures it; and week by week, the mean score as served, and the rate.
 * @returns undefined if no outcome has become known since the last measurement
 */
export async function followLevel(
	reader: RateReader,
	{ goal, scope, model, trainedToMs, levels, nowMs }: FollowOptions,
): Promise<ModelLevels | undefined> {
	const delayMs = delayMsOf(goal);
	// The time since a log ended would look like a time without outcomes.
	const knownToMs = await endOfLog(reader, nowMs);
	const toMs = knownToMs - delayMs;
	// Rows whose outcome was known at training were used to set its level.
	const beganMs = trainedToMs - delayMs;
	const before = levels ?? { shifts: [], weeks: [], measuredToMs: beganMs };
	if (toMs - before.measuredToMs < stepMs) return undefined;
	const rowsOf = async (fromMs: number, untilMs: number) => {
		const rows: Scored[] = [];
		const sample = { goals: [goal], fromMs, toMs: untilMs, nowMs: knownToMs };
		for await (const one of sampleOutcomes(reader, sample)) {
			const { history, atMs, recency, profile, labels, renewing } = one;
			if (scope === 'sid' && recency !== 0) continue;
			const sid = profile.visit?.sid;
			const of = scope === 'sid' && sid !== undefined ? visitProfileAt(history, sid, atMs) : profile;
			const logOdds = logOddsOfProbability(model.probability(of, atMs, { renewing }));
			rows.push({ vid: history.vid, atMs, recency, logOdds, label: labels[0] ?? 0 });
		}
		return rows;
	};
	const weeks = [...before.weeks];
	for (let fromMs = weeks.at(-1)?.toMs ?? Math.max(beganMs, toMs - keptWeeks * weekMs); ; fromMs += weekMs) {
		if (fromMs + weekMs > toMs) break;
		const week = weekOf(await rowsOf(fromMs, fromMs + weekMs), before.shifts, fromMs);
		if (week) weeks.push(week);
	}
	const byRecency = shiftsOf(await rowsOf(Math.max(beganMs, toMs - weekMs), toMs));
	return {
		shifts: [...before.shifts, { sinceMs: nowMs, byRecency }].slice(-keptShifts),
		weeks: weeks.slice(-keptWeeks),
		measuredToMs: toMs,
	};
}

function shiftsOf(rows: readonly Scored[]): number[] {
	const numbers = new Map([...new Set(rows.map(({ vid }) => vid))].map((vid, number) => [vid, number]));
	const shifts = levelShifts(
		recencies.map((recency) =>
			Uint32Array.from([...rows.keys()].filter((row) => rows[row]?.recency === recency)),
		),
		Float64Array.from(rows, ({ logOdds }) => logOdds),
		{
			labels: Uint8Array.from(rows, ({ label }) => label),
			groups: Uint32Array.from(rows, ({ vid }) => numbers.get(vid) as number),
		},
	);
	return shifts.map((shift) => Math.round(shift * 1e4) / 1e4);
}

function weekOf(
	rows: readonly Scored[],
	shifts: readonly LevelShift[],
	fromMs: number,
): LevelWeek | undefined {
	if (rows.length < minRows) return undefined;
	const served = rows.map(({ atMs, recency, logOdds }) => {
		const shift = shifts.findLast(({ sinceMs }) => sinceMs <= atMs)?.byRecency[recency] ?? 0;
		return logistic(logOdds + shift);
	});
	const [predicted, observed] = [mean(served), mean(rows.map(({ label }) => label))];
	// A visitor's rows count together.
	const misses = new Map<string, number>();
	for (const [index, { vid, label }] of rows.entries())
		misses.set(vid, (misses.get(vid) ?? 0) + label - (served[index] as number));
	const expected = served.reduce((sum, score) => sum + score * (1 - score), 0);
	const variance = Math.max(
		expected,
		misses.values().reduce((sum, miss) => sum + miss ** 2, 0),
	);
	return {
		fromMs,
		toMs: fromMs + weekMs,
		visitors: misses.size,
		...{ predicted, observed },
		isOutside: Math.abs(observed - predicted) * rows.length > 1.96 * Math.sqrt(variance),
	};
}
