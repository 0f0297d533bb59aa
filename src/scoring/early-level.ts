import { type Goal, horizonMsOf } from '../domain/goal.ts';
import { dayMs } from '../durations.ts';
import type { RateReader } from './base-rate.ts';
import { type GoalModel, openModel } from './goal-model.ts';
import { levelShift } from './level.ts';
import { logistic } from './measure.ts';
import type { Model } from './model.ts';
import { type Recency, recencies } from './recency.ts';
import { earlyLevelSentence } from './report-text.ts';
import { sampleScores } from './sample-scores.ts';
import { labelsOf } from './snapshots.ts';

export interface EarlyOptions {
	readonly goal: Goal;
	readonly scope: 'vid' | 'sid';
	readonly nowMs: number;
	/** A sample of the visitors; by default, a new one. */
	readonly vids?: readonly string[];
}

/** What came within this part of the horizon, or a week if that is more, is an early outcome. */
const earlyShare = 1 / 4;
const minPeriodMs = 7 * dayMs;
/** A level moves as if this many early outcomes more had shown no change: what is of a few weeks may not last. */
const shrinkageOutcomes = 100;
/** A factor of e. */
const maxShift = 1;
const minRows = 20;

interface Row {
	readonly vid: string;
	readonly recency: Recency;
	readonly logOdds: number;
	/** Whether the goal was reached within the early period, and within the horizon. */
	readonly early: 0 | 1;
	readonly label: 0 | 1;
}

/** The time within which early outcomes come; undefined if the horizon is not longer. */
export function earlyPeriodMs(goal: Goal): number | undefined {
	const horizonMs = horizonMsOf(goal);
	const periodMs = Math.max(minPeriodMs, horizonMs * earlyShare);
	return periodMs < horizonMs ? periodMs : undefined;
}

/**
 * Outcomes are known a horizon later, so with a long horizon the level of the latest known outcomes is an old one. Early
 * outcomes are known sooner. By proportional hazards, who reaches the goal within the horizon with probability p does so
 * early with 1 − (1 − p)^share. The visitors of a horizon ago give the share; the shift of the log-odds, by recency, is that
 * with which as many of the latest visitors are expected as came, shrunken and bounded.
 */
export async function earlyShifts(
	reader: RateReader,
	model: GoalModel,
	options: EarlyOptions,
): Promise<readonly number[]> {
	const { goal, nowMs } = options;
	const periodMs = earlyPeriodMs(goal);
	if (periodMs === undefined) return recencies.map(() => 0);
	const known = await rowsBefore(reader, model, options, nowMs - horizonMsOf(goal), periodMs);
	const latest = await rowsBefore(reader, model, options, nowMs - periodMs, periodMs);
	return recencies.map((recency) =>
		shiftOf(
			known.filter((row) => row.recency === recency),
			latest.filter((row) => row.recency === recency),
		),
	);
}

/** The model at the level that early outcomes show, and what was done. Where it serves the base rate, nothing changes. */
export async function atEarlyLevel(
	reader: RateReader,
	model: Model,
	options: EarlyOptions,
): Promise<{ model: Model; sentences: string[] }> {
	const periodMs = earlyPeriodMs(options.goal);
	if (model.kind === 'prior' || model.calibration.kind !== 'by recency' || periodMs === undefined)
		return { model, sentences: [] };
	const shifts = await earlyShifts(reader, openModel('early', JSON.stringify(model)), options);
	const lines = model.calibration.lines.map(({ slope, intercept }, recency) => ({
		slope,
		intercept: slope === 0 ? intercept : intercept + (shifts[recency] ?? 0),
	}));
	return {
		model: { ...model, calibration: { ...model.calibration, lines } },
		sentences: [earlyLevelSentence(shifts, periodMs / dayMs)],
	};
}

/** Visitors as of a moment, and hits of the period before it. */
async function rowsBefore(
	reader: RateReader,
	model: GoalModel,
	options: EarlyOptions,
	toMs: number,
	periodMs: number,
): Promise<Row[]> {
	const rows: Row[] = [];
	for await (const { history, atMs, ...scored } of sampleScores(reader, model, {
		...options,
		...{ fromMs: toMs - periodMs, toMs },
	})) {
		const [early = 0] = labelsOf(history, { goals: [options.goal], horizonMs: periodMs })(atMs);
		rows.push({ ...scored, vid: history.vid, early });
	}
	return rows;
}

function shiftOf(known: readonly Row[], latest: readonly Row[]): number {
	const [cameThen, cameNow] = [earlyOutcomes(known), earlyOutcomes(latest)];
	if (known.length < minRows || latest.length < minRows || cameThen === 0) return 0;
	const levelThen = levelShift(
		Float64Array.from(known, ({ logOdds }) => logOdds),
		Uint8Array.from(known, ({ label }) => label),
	);
	const share = rootOf((candidate) => expected(known, levelThen, candidate) - cameThen, 0, 1);
	const shift = rootOf((candidate) => expected(latest, candidate, share) - cameNow, -5, 5);
	// A visitor's hits share an outcome. If hardly any came, the expected number says how certain that is.
	const perVisitor = visitorsOf(latest) / latest.length;
	const reached = ({ early }: Row) => early === 1;
	const outcomes =
		1 /
		(1 / visitorsOf(known.filter(reached)) +
			1 / Math.max(1, visitorsOf(latest.filter(reached)), expected(latest, 0, share) * perVisitor));
	const held = (shift * outcomes) / (outcomes + shrinkageOutcomes);
	return Math.round(Math.min(maxShift, Math.max(-maxShift, held)) * 1e4) / 1e4;
}

function earlyOutcomes(rows: readonly Row[]): number {
	return rows.reduce((sum, { early }) => sum + early, 0);
}

function visitorsOf(rows: readonly Row[]): number {
	return new Set(rows.map(({ vid }) => vid)).size;
}

/** How many of these visitors are expected to reach the goal early. */
function expected(rows: readonly Row[], shift: number, share: number): number {
	return rows.reduce((sum, { logOdds }) => sum + 1 - (1 - logistic(logOdds + shift)) ** share, 0);
}

/** Where an increasing function is 0, or the nearer bound. */
function rootOf(increasing: (at: number) => number, from: number, to: number): number {
	let [low, high] = [from, to];
	for (let step = 0; step < 50; step++) {
		const middle = (low + high) / 2;
		if (increasing(middle) > 0) high = middle;
		else low = middle;
	}
	return (low + high) / 2;
}
