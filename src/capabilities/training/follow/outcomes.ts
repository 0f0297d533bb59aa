import { type ScoringSubject, scoredFor } from '../../../core/domain/active-subscriptions.ts';
import { type Goal, horizonMsOf } from '../../../core/domain/goal.ts';
import type { Profile } from '../../../core/domain/profile.ts';
import type { Cadences } from '../../../core/domain/subscription-cadence.ts';
import type { VisitorHistory } from '../../../kit/reading/histories.ts';
import { renewalOutcome } from '../rows/renewal-snapshots.ts';
import { outcomesOf } from '../rows/snapshots.ts';

/** How visitors are scored, and their outcomes known. */
interface OutcomeBasis {
	readonly goal: Goal;
	readonly cadences: Cadences;
	/** Everything that came of the last scores is known. */
	readonly knownToMs: number;
}

/** What a visitor is scored for, and the outcome; nothing where they are not scored, or it is not known yet. */
export function outcomesIn(
	history: VisitorHistory,
	{ goal, cadences, knownToMs }: OutcomeBasis,
): (profile: Profile, atMs: number) => readonly { readonly scored: ScoringSubject; readonly label: 0 | 1 }[] {
	const { cancellationEvt } = cadences;
	const labelsAt = outcomesOf(history, { goals: [goal], horizonMs: horizonMsOf(goal), cancellationEvt });
	return (profile, atMs) => {
		const scored = scoredFor(goal, profile, atMs, cadences);
		if (!scored) return [];
		const label = scored.renewing
			? renewalOutcome(history, scored.renewing, { cadences, knownToMs })?.label
			: labelsAt(atMs)[0];
		return label === undefined ? [] : [{ scored, label }];
	};
}
