import { type Goal, horizonMsOf } from '../domain/goal.ts';
import type { LevelShift, LevelWeek, ModelLevels } from '../domain/model-levels.ts';
import { dayMs } from '../durations.ts';
import { endOfLog, type RateReader } from './base-rate.ts';
import { earlyPeriodMs, earlyShifts } from './early-level.ts';
import type { GoalModel } from './goal-model.ts';
import { levelShift } from './level.ts';
import { logistic } from './measure.ts';
import { type Recency, recencies } from './recency.ts';
import { sampleScores } from './sample-scores.ts';

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
/** A level is moved by a factor of e at most, and by less if fewer outcomes support it. */
const maxShift = 1;
const shrinkageOutcomes = 10;
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
 * Compares scores with outcomes since the model was trained: the level that would have been right for the last week
 * with known outcomes, or with a long horizon for the latest early outcomes; and week by week, the mean score as served,
 * and the rate.
 * @returns undefined if no outcome has become known since the last measurement
 */
export async function followLevel(
	reader: RateReader,
	{ goal, scope, model, trainedToMs, levels, nowMs }: FollowOptions,
): Promise<ModelLevels | undefined> {
	const horizonMs = horizonMsOf(goal);
	// The time since a log ended would look like a time without outcomes.
	const knownToMs = await endOfLog(reader, nowMs);
	const toMs = knownToMs - horizonMs;
	// Rows whose outcome was known at training were used to set its level.
	const beganMs = trainedToMs - horizonMs;
	const before = levels ?? { shifts: [], weeks: [], measuredToMs: beganMs };
	if (toMs - before.measuredToMs < stepMs) return undefined;
	const rowsOf = (fromMs: number, untilMs: number) =>
		Array.fromAsync(
			sampleScores(reader, model, { goal, scope, fromMs, toMs: untilMs, nowMs: knownToMs }),
			({ history, ...scored }): Scored => ({ ...scored, vid: history.vid }),
		);
	const shiftsNow = async () => {
		const periodMs = earlyPeriodMs(goal);
		if (periodMs === undefined) {
			const recent = await rowsOf(Math.max(beganMs, toMs - weekMs), toMs);
			return recencies.map((recency) => shiftOf(recent.filter((row) => row.recency === recency)));
		}
		// The model is at the level of the outcomes that had come early when it was trained.
		if (knownToMs - periodMs < trainedToMs) return recencies.map(() => 0);
		return earlyShifts(reader, model, { goal, scope, nowMs: knownToMs });
	};
	const weeks = [...before.weeks];
	for (let fromMs = weeks.at(-1)?.toMs ?? Math.max(beganMs, toMs - keptWeeks * weekMs); ; fromMs += weekMs) {
		if (fromMs + weekMs > toMs) break;
		const week = weekOf(await rowsOf(fromMs, fromMs + weekMs), before.shifts, fromMs);
		if (week) weeks.push(week);
	}
	const byRecency = await shiftsNow();
	return {
		shifts: [...before.shifts, { sinceMs: nowMs, byRecency }].slice(-keptShifts),
		weeks: weeks.slice(-keptWeeks),
		measuredToMs: toMs,
	};
}

/** The shift that makes the mean score equal to the rate, shrunken. */
function shiftOf(rows: readonly Scored[]): number {
	const labels = Uint8Array.from(rows, ({ label }) => label);
	const conversions = labels.reduce((sum, label) => sum + label, 0);
	const rarer = Math.min(conversions, rows.length - conversions);
	if (rows.length < minRows) return 0;
	const shift = levelShift(
		Float64Array.from(rows, ({ logOdds }) => logOdds),
		labels,
	);
	// If none converts, the expected number of conversions says how certain that is.
	const outcomes = Math.max(
		rarer,
		Math.min(
			rows.length / 2,
			rows.reduce((sum, { logOdds }) => sum + logistic(logOdds), 0),
		),
	);
	const held = (shift * outcomes) / (outcomes + shrinkageOutcomes);
	return Math.round(Math.min(maxShift, Math.max(-maxShift, held)) * 1e4) / 1e4;
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
	const said = served.reduce((sum, score) => sum + score, 0) / rows.length;
	const came = rows.reduce((sum, { label }) => sum + label, 0) / rows.length;
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
		...{ said, came },
		isOutside: Math.abs(came - said) * rows.length > 1.96 * Math.sqrt(variance),
	};
}
