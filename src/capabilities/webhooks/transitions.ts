import { type ReachedCount, reachedOf } from '../../core/domain/goal.ts';
import type { Profile } from '../../core/domain/profile.ts';
import type { GoalScore } from '../../core/scoring/serve/visitor-scorer.ts';
import { matchingSegments } from '../../core/segments/matching.ts';
import { ruleFacts } from '../../core/segments/rule-facts.ts';
import type { KnownAccount } from '../../core/store/control/control-store.ts';
import { heldBand, type Standing } from './domain/standing.ts';

export const nowhere: Standing = { segments: new Set(), bands: new Map(), goals: new Map() };

/** A change of a visitor that webhooks are notified of. */
export type Transition = ReturnType<typeof transitionsOf>[number];

/** Maximum number of messages about one visitor and goal at a time. */
const maxReached = 100;

/**
 * A visitor's current standing, by the rules that reads use. Rules see the held bands, so that visitors at the edge of
 * a band do not change back and forth.
 * @param scores empty if neither rules nor webhooks need them
 * @param heldOut segments that experiments hide from the visitor
 */
export function standingOf(
	{ goals, segments, models, cadences }: Pick<KnownAccount, 'goals' | 'segments' | 'models' | 'cadences'>,
	profile: Profile,
	scores: readonly GoalScore[],
	before: Standing,
	nowMs: number,
	heldOut: ReadonlySet<string> = new Set(),
): Standing {
	const held = scores.map((score) => {
		const goal = goals.find(({ name }) => name === score.goal);
		if (!goal) return score;
		if (score.model === 'prior') {
			// A model that cannot be read for a moment changes no band.
			const isMissing = models.some((model) => model.goal === goal.name && model.scope === 'vid');
			const last = isMissing ? before.bands.get(goal.name) : undefined;
			return last ? { ...score, band: last, model: 'missing' } : score;
		}
		return { ...score, band: heldBand(goal, score.percentile, before.bands.get(goal.name)) };
	});
	const facts = ruleFacts(profile, held, nowMs, cadences);
	return {
		segments: new Set(
			matchingSegments(segments, facts)
				.map(({ id }) => id)
				.filter((id) => !heldOut.has(id)),
		),
		bands: new Map(
			held.flatMap(({ goal, band, model }) => (model === 'prior' ? [] : [[goal, band] as const])),
		),
		goals: new Map(
			goals.flatMap((goal) => {
				const reached = reachedOf(profile, goal, cadences.cancellationEvt);
				return reached ? [[goal.name, reached] as const] : [];
			}),
		),
	};
}

/** The changes, in a fixed order. `number` is how often the visitor has reached the goal, from 1. */
export function transitionsOf(before: Standing, after: Standing) {
	return [
		...[...before.segments.difference(after.segments)].map(
			(segment) => ({ type: 'segment.left', segment }) as const,
		),
		...[...after.segments.difference(before.segments)].map(
			(segment) => ({ type: 'segment.entered', segment }) as const,
		),
		...[...after.bands]
			.filter(([goal, band]) => before.bands.get(goal) !== band)
			.map(([goal, band]) => {
				const previousBand = before.bands.get(goal) ?? null;
				return { type: 'score.band.changed', goal, band, previousBand } as const;
			}),
		...[...after.goals].flatMap(([goal, reached]) =>
			reachings(before.goals.get(goal), reached).map(
				(number) => ({ type: 'goal.reached', goal, number, reachedAtMs: reached.lastAtMs }) as const,
			),
		),
	];
}

/** The numbers of new reachings. Counts of rare events may restart, because profiles keep the latest 50 names. */
function reachings(before: ReachedCount | undefined, { count, lastAtMs }: ReachedCount): number[] {
	if (!before) return numbersTo(count, count);
	if (count > before.count) return numbersTo(count, count - before.count);
	return count < before.count && lastAtMs > before.lastAtMs ? [count] : [];
}

function numbersTo(last: number, count: number): number[] {
	const shown = Math.min(count, maxReached);
	return Array.from({ length: shown }, (_, index) => last - shown + 1 + index);
}

/** The stored form of a standing, without segments, which are stored separately. */
export function bodyOf({ bands, goals }: Standing): string {
	return JSON.stringify({ bands: [...bands], goals: [...goals] });
}
