import { scoredFor } from '../../../core/domain/active-subscriptions.ts';
import { compareTexts } from '../../../core/domain/compare-texts.ts';
import type { Band, Goal } from '../../../core/domain/goal.ts';
import { horizonMsOf } from '../../../core/domain/goal.ts';
import { type AccountHistory, historiesOf } from '../../../kit/reading/histories.ts';
import type { Calendar } from '../../../kit/reports/calendar.ts';
import { rounded } from '../../../kit/reports/journey.ts';
import { countBounds } from '../../../kit/reports/poisson-binomial.ts';
import { sumOf } from '../../../kit/reports/sums.ts';
import { outcomesIn } from '../follow/outcomes.ts';
import { profilesAt } from '../rows/snapshots.ts';
import { endOfLog } from '../serve/base-rate.ts';
import type { ServedScore } from '../store/served-scores.ts';

interface Outcome {
	readonly vid: string;
	readonly atMs: number;
	readonly week: string;
	readonly band: Band;
	/** The subscription and when it was paid last, of goals of renewals. */
	readonly renewal: string | undefined;
	readonly chance: number;
	/** Undefined while it is not known. */
	readonly label: 0 | 1 | undefined;
}

/** What the scores of a week, from its Monday, or of all weeks said, and what came of it. */
export type PromiseRow = Awaited<ReturnType<typeof comparePromises>>[number];

const bandsInOrder = ['high', 'medium', 'low'] as const;
/** The week of the rows of all weeks. */
export const allWeeks = 'all';

/**
 * Compares served scores with what came of them, one of each visitor, goal and week: the first that was drawn. Rows of all weeks come
 * first: what is too small to be seen in a week may be plain in all of them.
 * @param served in order of time
 */
export async function comparePromises(
	reader: AccountHistory,
	goals: readonly Goal[],
	served: readonly ServedScore[],
	{ asOfMs, calendar }: { readonly asOfMs: number; readonly calendar: Calendar },
) {
	const weekOf = weeksIn(calendar, served);
	const drawn = new Map<string, ServedScore[]>();
	const taken = new Set<string>();
	for (const one of served) {
		const name = `${weekOf(one.atMs)} ${one.vid} ${one.goal}`;
		if (taken.has(name)) continue;
		taken.add(name);
		drawn.getOrInsertComputed(one.vid, () => []).push(one);
	}
	if (drawn.size === 0) return [];
	// The time since a log ended would look like a time without outcomes.
	const knownToMs = await endOfLog(reader, asOfMs);
	const cadences = await reader.cadences(asOfMs);
	const outcomes = new Map<string, Outcome[]>(goals.map(({ name }) => [name, []]));
	for await (const history of historiesOf(reader, [...drawn.keys()], asOfMs)) {
		const { vid } = history;
		const own = drawn.get(vid) as ServedScore[];
		const profiles = profilesAt(
			history,
			own.map(({ atMs }) => atMs),
		);
		for (const goal of goals) {
			const outcomesAt = outcomesIn(history, { goal, cadences, knownToMs });
			for (const [place, { goal: name, atMs, band, millionths }] of own.entries()) {
				const profile = profiles[place];
				if (name !== goal.name || !profile) continue;
				const isOver = goal.counts === 'renewal' || atMs + horizonMsOf(goal) <= knownToMs;
				const label = isOver ? outcomesAt(profile, atMs)[0]?.label : undefined;
				const due = scoredFor(goal, profile, atMs, cadences)?.renewing;
				outcomes.get(name)?.push({
					vid,
					atMs,
					week: weekOf(atMs),
					band,
					chance: millionths / 1e6,
					label,
					renewal: due && `${due.subid} ${due.paidAtMs}`,
				});
			}
		}
	}
	return goals.flatMap((goal) => {
		const all = outcomes.get(goal.name) as Outcome[];
		const weeks = [...Map.groupBy(all, ({ week }) => week)].sort(([a], [b]) => compareTexts(a, b));
		return [[allWeeks, apart(all, horizonMsOf(goal))] as const, ...weeks].flatMap(([week, some]) =>
			(['all', ...bandsInOrder] as const).flatMap((band) => {
				const own = some.filter((one) => band === 'all' || one.band === band);
				return own.length === 0 ? [] : [{ goal: goal.name, week, band, ...compared(own) }];
			}),
		);
	});
}

/**
 * The outcomes of a visitor that are of different chances: none within the horizon of the one before, and one of each renewal. Others
 * would count one conversion several times, and the bounds of all weeks would be too narrow.
 */
function apart(outcomes: readonly Outcome[], horizonMs: number): readonly Outcome[] {
	const overAtMs = new Map<string, number>();
	return outcomes
		.toSorted((a, b) => a.atMs - b.atMs)
		.filter(({ vid, atMs, renewal }) => {
			const chance = renewal === undefined ? vid : `${vid} ${renewal}`;
			if (atMs < (overAtMs.get(chance) ?? 0)) return false;
			overAtMs.set(chance, renewal === undefined ? atMs + horizonMs : Number.POSITIVE_INFINITY);
			return true;
		});
}

/** The Monday of a moment's week, by the calendar. */
function weeksIn(calendar: Calendar, served: readonly ServedScore[]): (atMs: number) => string {
	const [first, last] = [served[0], served.at(-1)];
	const weeks = first && last ? calendar.spans('week', first.atMs, last.atMs) : [];
	return (atMs) => weeks.findLast(({ fromMs }) => fromMs <= atMs)?.name ?? '';
}

function compared(outcomes: readonly Outcome[]) {
	const known = outcomes.filter(({ label }) => label !== undefined);
	const chances = known.map(({ chance }) => chance);
	const observed = known.filter(({ label }) => label === 1).length;
	const { low, high } = countBounds(chances);
	const predicted = rounded(sumOf(chances, Number), 2);
	const asPredicted = observed > high ? 'more came' : observed < low ? 'fewer came' : 'not contradicted';
	return {
		visitors: known.length,
		// Their outcome is not known yet.
		waiting: outcomes.length - known.length,
		predicted,
		low,
		high,
		observed,
		result: known.length === 0 ? 'waiting' : asPredicted,
	} as const;
}
