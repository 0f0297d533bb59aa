import { horizonMsOf } from '../../../core/domain/goal.ts';
import { dayMs } from '../../../core/durations.ts';
import { OperatorError } from '../../../core/errors.ts';
import type { PageReads } from '../../../core/store/serving.ts';
import type { Store } from '../../../core/store/store.ts';
import { historyExtent } from '../../../kit/reading/histories.ts';
import { rounded } from '../../../kit/reports/journey.ts';
import type { ReportedAccount } from '../../../kit/reports/report-query.ts';
import { type Entrants, type EntryQuery, entrantsIn } from './experiment-entries.ts';
import { GroupSums, visitorsNeeded } from './lift-estimate.ts';

export type ExperimentPlan = Awaited<ReturnType<typeof planExperiment>>;

const weekMs = 7 * dayMs;
/** The account's history is looked at as if an experiment had begun so many weeks ago. */
const maxWeeks = 12;
/** The last weeks of it say how many enter a week. */
const lastWeeks = 4;
const maxPlannedWeeks = 520;
const heldOutPercents = [5, 10, 20, 50] as const;
const liftPercents = [5, 10, 20] as const;

/**
 * How long experiments about a rule would take until their interval excludes 0 in four of five of them (a power of 80 %), as many
 * visitors entering, and as many of them reaching the goal, as did in the last weeks.
 * @throws OperatorError where the history is too short or nobody would have entered or reached the goal
 */
export async function planExperiment(
	store: Pick<Store, 'read' | 'control'> & PageReads,
	account: ReportedAccount,
	{ rule, goal, include = null }: Pick<EntryQuery, 'rule' | 'goal' | 'include'>,
	nowMs: number,
) {
	const extent = await store.read(account.id, historyExtent(nowMs));
	const weeks = Math.min(maxWeeks, Math.floor((nowMs - extent.fromMs) / weekMs));
	if (!(weeks >= 1)) throw new OperatorError('There is less than a week of hits to plan by.');
	const fromMs = nowMs - weeks * weekMs;
	const entering = { rule, goal, period: { fromMs, toMs: nowMs }, asOfMs: nowMs, include };
	const { entrants, gateways } = await entrantsIn(store, account, entering);
	const known = entrants.filter(({ isConverted }) => isConverted !== undefined);
	const sums = new GroupSums();
	for (const { isConverted, score } of known) sums.add(Number(isConverted), score);
	if (!(sums.mean > 0 && sums.mean < 1))
		throw new OperatorError(
			`Of the last ${weeks} weeks, ${known.length} visitors entered whose horizon is over, and ${known.length > 0 && sums.mean === 1 ? 'all' : 'none'} of them reached ${goal.name}: there is nothing to plan by.`,
		);
	const enteredBy = countsByWeek(entrants, fromMs, weeks);
	const last = Math.min(lastWeeks, weeks - 1);
	const entersAWeek =
		last === 0
			? (enteredBy[1] as number)
			: ((enteredBy[weeks] as number) - (enteredBy[weeks - last] as number)) / last;
	const ofXAndY = sums.varianceOfX * sums.variance();
	const varianceReduction = ofXAndY > 0 ? sums.covariance ** 2 / ofXAndY : 0;
	/** Null where it takes longer than ten years. */
	const weeksUntil = (visitors: number): number | null => {
		const entered = enteredBy.findIndex((count) => count >= visitors);
		const missing = visitors - (enteredBy[weeks] as number);
		const until = entered >= 0 ? entered : weeks + missing / entersAWeek;
		const planned = Math.ceil(until + horizonMsOf(goal) / weekMs);
		return planned <= maxPlannedWeeks ? planned : null;
	};
	return {
		goal: goal.name,
		weeksOfHistory: weeks,
		// They entered in the weeks that it is planned by, and are left out.
		...(gateways.length > 0 && { gatewayVisitors: gateways.length }),
		enteredInFirstWeek: enteredBy[1] as number,
		// In each of the last weeks, on average: at first, also those enter who have been there for long.
		entersAWeek: rounded(entersAWeek, 1),
		conversionRate: rounded(sums.mean, 6),
		// What the score at entry takes away of the variance.
		varianceReduction: rounded(varianceReduction, 4),
		plans: heldOutPercents.flatMap((holdoutPercent) =>
			liftPercents.map((relativeLiftPercent) => {
				const wanted = {
					rate: sums.mean,
					relativeLift: relativeLiftPercent / 100,
					varianceReduction,
					holdoutShare: holdoutPercent / 100,
				};
				const [visitors, visitorsAtEveryLook] = (['ordinary', 'anytime'] as const).map((interval) =>
					visitorsNeeded(wanted, interval),
				) as [number, number];
				return {
					holdoutPercent,
					// The treated less the held-out, as the report tells it.
					lift: rounded((sums.mean * relativeLiftPercent) / 100, 6),
					relativeLiftPercent,
					// Of both groups, for one look that is planned ahead, and until they have entered and their horizon is over.
					visitors,
					weeks: weeksUntil(visitors),
					visitorsAtEveryLook,
					weeksAtEveryLook: weeksUntil(visitorsAtEveryLook),
				};
			}),
		),
	};
}

/** How many had entered after 0, 1, 2 … weeks. */
function countsByWeek(entrants: Entrants['entrants'], fromMs: number, weeks: number): readonly number[] {
	const counts = new Array<number>(weeks + 1).fill(0);
	for (const { atMs } of entrants)
		for (let week = Math.floor((atMs - fromMs) / weekMs) + 1; week <= weeks; week++)
			(counts[week] as number)++;
	return counts;
}
