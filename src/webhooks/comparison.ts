import type { Profile } from '../domain/profile.ts';
import type { Standing } from '../domain/standing.ts';
import { dayMs } from '../durations.ts';
import type { GoalScore } from '../scoring/serve/visitor-scorer.ts';
import type { EvaluationState } from '../store/account/webhooks/evaluation.ts';
import type { EvaluatedVisitor } from '../store/account/webhooks/standings.ts';
import type { KnownAccount } from '../store/control/control-store.ts';
import { bodyOf, nowhere, standingOf, type Transition, transitionsOf } from './standing.ts';

/** After a longer interruption, changes are counted instead of sent. */
export const maxBreakMs = dayMs;

/** Whether changes are sent one by one, or only counted. */
export type ChangeMode = 'send' | 'count';

/** A change of a visitor, to be stored. */
export interface Change {
	readonly vid: string;
	readonly before: Standing;
	readonly after: Standing;
	/** Whether the visitor no longer exists. */
	readonly isGone: boolean;
	/** The transitions to send. */
	readonly transitions: readonly Transition[];
}

/** The result of comparing a visitor with the stored standing. */
export interface Comparison {
	/** Missing if nothing is to be stored. */
	readonly change?: Change;
	/** The standings to count, before and after; missing if the visitor does not count. */
	readonly standings?: readonly [before: Standing, after: Standing];
}

export interface ComparisonOptions {
	readonly account: KnownAccount;
	readonly state: Pick<EvaluationState, 'sinceMs' | 'sweepAtMs'>;
	readonly mode: ChangeMode;
	readonly nowMs: number;
	/** Segments that experiments hide from the visitor. */
	readonly heldOut?: ReadonlySet<string>;
	/** Returns no scores if neither rules nor webhooks read them. */
	readonly scoresOf: (profile: Profile) => readonly GoalScore[] | Promise<readonly GoalScore[]>;
}

/** Compares a visitor with the stored standing. */
export async function compareVisitor(
	{ vid, profile, standing: before }: EvaluatedVisitor,
	{ account, state, mode, nowMs, scoresOf, heldOut }: ComparisonOptions,
): Promise<Comparison> {
	if (!profile) {
		if (!before) return {};
		const after = { ...nowhere, goals: before.goals };
		const transitions = mode === 'send' ? transitionsOf(before, after) : [];
		return { change: { vid, before, after, isGone: true, transitions }, standings: [before, after] };
	}
	// Entries of the log since the sweep began are evaluated from the log.
	if (mode === 'count' && profile.lastAtMs > state.sweepAtMs)
		return before ? { standings: [before, before] } : {};
	const known = before ?? nowhere;
	const after = standingOf(account, profile, await scoresOf(profile), known, nowMs, heldOut);
	const standings = [known, after] as const;
	const transitions = transitionsOf(known, after);
	if (before && transitions.length === 0 && bodyOf(before) === bodyOf(after)) return { standings };
	const isNew = profile.firstAtMs >= state.sinceMs && nowMs - profile.lastAtMs < maxBreakMs;
	const isSent = (transition: Transition) => {
		if (before) return mode === 'send';
		if (isNew) return true;
		// A visitor from before webhooks: only recent changes are sent.
		return (
			transition.type === 'goal.reached' &&
			transition.reachedAtMs >= state.sinceMs &&
			transition.number === after.goals.get(transition.goal)?.count
		);
	};
	return {
		change: { vid, before: known, after, isGone: false, transitions: transitions.filter(isSent) },
		standings,
	};
}
