import { type Goal, horizonMsOf } from '../domain/goal.ts';
import type { LevelShift, LevelWeek, ModelLevels } from '../domain/model-levels.ts';
import { type RateReader, sampleOutcomes } from './base-rate.ts';
import type { GoalModel } from './goal-model.ts';
import { levelShift } from './level.ts';
import { logistic, logOddsOfProbability } from './measure.ts';
import { type Recency, recencies } from './recency.ts';
import { visitProfileAt } from './snapshots.ts';

export interface FollowOptions {
	readonly goal: Goal;
	readonly scope: 'vid' | 'sid';
	readonly model: GoalModel;
	/** Nothing later has the model learned from. */
	readonly trainedToMs: number;
	/** What has been followed so far. */
	readonly levels: ModelLevels | undefined;
	readonly nowMs: number;
}

const dayMs = 86_400_000;
const weekMs = 7 * dayMs;
/** A level is looked at so often, as far as outcomes have become known. */
const stepMs = dayMs;
/** Half a year is kept. */
const keptWeeks = 26;
const keptShifts = 60;
/** A level is moved by a factor of e at most, and the less, the fewer outcomes say so. */
const maxShift = 1;
const shrinkageOutcomes = 10;
const minRows = 20;

interface Scored {
	readonly atMs: number;
	readonly vid: string;
	readonly recency: Recency;
	readonly label: 0 | 1;
	/** As the model says it, without a shift. */
	readonly logOdds: number;
}

/**
 * Follows what has come of scores since the model was trained: of the last week whose outcomes are known, the level that
 * would have been right; and week by week what was said, as it was served, and what came.
 * @returns undefined where nothing has become known since it was last looked at
 */
export async function followLevel(
	reader: RateReader,
	{ goal, scope, model, trainedToMs, levels, nowMs }: FollowOptions,
): Promise<ModelLevels | undefined> {
	const horizonMs = horizonMsOf(goal);
	const toMs = nowMs - horizonMs;
	// Rows whose outcome was known at training have set its level.
	const beganMs = trainedToMs - horizonMs;
	const before = levels ?? { shifts: [], weeks: [], measuredToMs: beganMs };
	if (toMs - before.measuredToMs < stepMs) return undefined;
	const rowsOf = async (fromMs: number, untilMs: number) => {
		const rows: Scored[] = [];
		for await (const { history, atMs, recency, profile, labels } of sampleOutcomes(reader, {
			...{ goals: [goal], horizonMs, fromMs, toMs: untilMs, nowMs },
		})) {
			if (scope === 'sid' && recency !== 0) continue;
			const sid = profile.visit?.sid;
			const of = scope === 'sid' && sid !== undefined ? visitProfileAt(history, sid, atMs) : profile;
			const logOdds = logOddsOfProbability(model.probability(of, atMs));
			rows.push({ atMs, vid: history.vid, recency, label: labels[0] ?? 0, logOdds });
		}
		return rows;
	};
	const weeks = [...before.weeks];
	for (let fromMs = weeks.at(-1)?.toMs ?? Math.max(beganMs, toMs - keptWeeks * weekMs); ; fromMs += weekMs) {
		if (fromMs + weekMs > toMs) break;
		const week = weekOf(await rowsOf(fromMs, fromMs + weekMs), before.shifts, fromMs);
		if (week) weeks.push(week);
	}
	const recent = await rowsOf(Math.max(beganMs, toMs - weekMs), toMs);
	const byRecency = recencies.map((recency) => shiftOf(recent.filter((row) => row.recency === recency)));
	return {
		shifts: [...before.shifts, { sinceMs: nowMs, byRecency }].slice(-keptShifts),
		weeks: weeks.slice(-keptWeeks),
		measuredToMs: toMs,
	};
}

/** What would make the mean of what is said the rate that came, held back. */
function shiftOf(rows: readonly Scored[]): number {
	const labels = Uint8Array.from(rows, ({ label }) => label);
	const conversions = labels.reduce((sum, label) => sum + label, 0);
	const rarer = Math.min(conversions, rows.length - conversions);
	if (rows.length < minRows) return 0;
	const shift = levelShift(
		Float64Array.from(rows, ({ logOdds }) => logOdds),
		labels,
	);
	// Where none converts, how many were expected to says how sure that is.
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
	// A visitor's rows go together.
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
