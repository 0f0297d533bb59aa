import { type Goal, goalDefaults, horizonMsOf } from '../../src/domain/goal.ts';
import type { ModelLevels } from '../../src/domain/model-levels.ts';
import { dayMs } from '../../src/durations.ts';
import { logistic, logLosses, logOddsOfProbability, mean } from '../../src/scoring/fit/measure.ts';
import { followLevel } from '../../src/scoring/follow/level-following.ts';
import { levelShift } from '../../src/scoring/judge/level.ts';
import { train } from '../../src/scoring/judge/train.ts';
import { accountRows } from '../../src/scoring/rows/account-rows.ts';
import { outcomesOf, profilesAt } from '../../src/scoring/rows/snapshots.ts';
import { baseRateFor, measureBaseRates } from '../../src/scoring/serve/base-rate.ts';
import { type GoalModel, openModel } from '../../src/scoring/serve/goal-model.ts';
import type { VisitorHistory } from '../../src/store/account/reading/histories.ts';
import type { Aim } from './aim.ts';
import { type MadeUp, madeUpHistories, madeUpStartMs } from './made-up-histories.ts';
import { readerOf } from './plain-visitors.ts';

const weekMs = 7 * dayMs;
const goal: Goal = { name: 'sale', evts: ['sale'], ...goalDefaults, counts: 'any' };
const days = 190;
const firstDay = 98;
const trainedEveryDays = 56;
const changeDay = 126;

const drifts: readonly (readonly [string, Pick<MadeUp, 'level' | 'isLost'>])[] = [
	['doubles', { level: (day) => (day < changeDay ? -2 : -1.2) }],
	['halves', { level: (day) => (day < changeDay ? -1.2 : -2) }],
	['seasonal', { level: (day) => -1.6 + 0.5 * Math.sin((2 * Math.PI * day) / 60) }],
	['outage of tracking', { level: () => -1.6, isLost: (day) => day >= changeDay && day < changeDay + 5 }],
];

interface Moment {
	readonly logOdds: number;
	/** Scores as served. */
	readonly said: number;
	readonly label: 0 | 1;
}

/**
 * Pooled log loss of the served scores, minus that of the same model at the true level of the week before, which a server
 * cannot know yet. The model is trained every eight weeks, and its level follows daily.
 */
async function drift(
	name: string,
	level: Pick<MadeUp, 'level' | 'isLost'>,
	seeds: readonly number[],
): Promise<Aim> {
	const values: number[] = [];
	for (const seed of seeds) {
		const shape = { visitors: 1500, days, signal: 1, visits: 5, withinDays: 5 };
		const reader = readerOf(madeUpHistories({ ...shape, ...level, seed }));
		const vids = await reader.vidsAfter('', Number.MAX_SAFE_INTEGER);
		const histories = await reader.visitorHistories(vids, Number.POSITIVE_INFINITY);
		let [model, trainedToMs]: [GoalModel | undefined, number] = [undefined, 0];
		let levels: ModelLevels | undefined;
		let before: Moment[] = [];
		const [served, ideal]: [number[], number[]] = [[], []];
		for (let day = firstDay; day + 14 <= days; day += 7) {
			const weekFromMs = madeUpStartMs + day * dayMs;
			if ((day - firstDay) % trainedEveryDays === 0) {
				[model, trainedToMs, levels] = [await trainedAt(reader, weekFromMs, seed), weekFromMs, undefined];
				before = model ? momentsOf(histories, model, weekFromMs - weekMs, []) : [];
			}
			const week: Moment[] = [];
			for (let fromMs = weekFromMs; fromMs < weekFromMs + weekMs; fromMs += dayMs) {
				if (!model) continue;
				const followed = await followLevel(reader, {
					...{ goal, scope: 'vid', model, trainedToMs, levels, nowMs: fromMs },
				});
				levels = followed ?? levels;
				const shifts = levels?.shifts.at(-1)?.byRecency ?? [];
				week.push(...momentsOf(histories, model, fromMs, shifts, dayMs));
			}
			if (!model) {
				const rates = (await measureBaseRates(reader, [goal], weekFromMs)).get(goal.name) ?? {
					byRecency: [],
				};
				const base: GoalModel = {
					...{ version: 'prior', reasons: () => [] },
					probability: (profile, nowMs) => baseRateFor(rates, goal, profile, nowMs),
				};
				before = momentsOf(histories, base, weekFromMs - weekMs, []);
				week.push(...momentsOf(histories, base, weekFromMs, []));
			}
			const shift = levelShift(
				Float64Array.from(before, ({ logOdds }) => logOdds),
				Uint8Array.from(before, ({ label }) => label),
			);
			const labels = Uint8Array.from(week, ({ label }) => label);
			served.push(
				...logLosses(
					labels,
					Float64Array.from(week, ({ said }) => said),
				),
			);
			ideal.push(
				...logLosses(
					labels,
					Float64Array.from(week, ({ logOdds }) => logistic(logOdds + shift)),
				),
			);
			before = week;
		}
		values.push(mean(served) - mean(ideal));
	}
	return { name: `rate ${name}: log loss over the true level of the week before`, values, max: 0.01 };
}

async function trainedAt(
	reader: ReturnType<typeof readerOf>,
	asOfMs: number,
	seed: number,
): Promise<GoalModel | undefined> {
	const { rows } = await accountRows(reader, { goals: [goal], asOfMs, seed, onProgress: () => {} });
	const ofVisitors = rows.find(({ scope }) => scope === 'vid');
	if (!ofVisitors) return undefined;
	const baseRates = (await measureBaseRates(reader, [goal], asOfMs)).get(goal.name)?.byRecency;
	const { model } = train(ofVisitors.dataset, { seed, horizonMs: ofVisitors.horizonMs, baseRates });
	return model.kind === 'prior' ? undefined : openModel('proof', JSON.stringify(model));
}

/** The hits of a period. */
function momentsOf(
	histories: readonly VisitorHistory[],
	model: GoalModel,
	fromMs: number,
	shifts: readonly number[],
	periodMs = weekMs,
): Moment[] {
	return histories.flatMap((history) => {
		const timesMs = history.hits.map(({ atMs }) => atMs);
		const momentsMs = timesMs.filter((atMs) => atMs > fromMs && atMs <= fromMs + periodMs);
		const labelsAt = outcomesOf(history, { goals: [goal], horizonMs: horizonMsOf(goal) });
		return profilesAt(history, momentsMs).map((profile, index): Moment => {
			const atMs = momentsMs[index] as number;
			const [label = 0] = labelsAt(atMs);
			const logOdds = logOddsOfProbability(model.probability(profile, atMs));
			return { logOdds, said: model.probability(profile, atMs, {}, shifts), label };
		});
	});
}

export async function* driftAims(seeds: readonly number[]): AsyncGenerator<Aim> {
	for (const [name, level] of drifts) yield await drift(name, level, seeds);
}
