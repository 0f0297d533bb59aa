import { visitFacts, visitorFacts } from '../domain/facts.ts';
import type { Profile } from '../domain/profile.ts';
import type { Cadences } from '../domain/subscription-cadence.ts';
import type { GoalScore, VisitorScorer } from '../scoring/serve/visitor-scorer.ts';
import type { KnownAccount } from '../store/control/control-store.ts';
import type { Rule } from './rule.ts';
import type { RuleFacts } from './rule-environment.ts';

/**
 * Builds a rule's variables from a profile as of `nowMs` and its scores.
 * @param cadences the account's
 */
export function ruleFacts(
	profile: Profile | null,
	scores: readonly GoalScore[],
	nowMs: number,
	cadences?: Cadences,
): RuleFacts {
	return {
		visitor: visitorFacts(profile, nowMs, cadences),
		visit: visitFacts(profile),
		scores: new Map(scores.map(({ goal, score }) => [goal, score])),
		percentiles: new Map(scores.map(({ goal, percentile }) => [goal, percentile])),
		bands: new Map(scores.map(({ goal, band }) => [goal, band])),
		lifts: liftsByGoal(scores),
	};
}

/**
 * The facts that a rule reads of a visitor, with the visitor's scores if the rule reads them.
 * @param account none where it is disabled: then nothing is scored
 */
export async function scoredFacts(
	{ readsScores }: Pick<Rule, 'readsScores'>,
	scorer: VisitorScorer,
	account: KnownAccount | undefined,
	profile: Profile,
	atMs: number,
): Promise<RuleFacts> {
	const scores = readsScores && account ? await scorer.scores(account, 'vid', profile, false, atMs) : [];
	return ruleFacts(profile, scores, atMs, account?.cadences);
}

const none: ReadonlyMap<string, number> = new Map();

/** By goal; those without a model of lift are missing. */
function liftsByGoal(scores: readonly GoalScore[]): ReadonlyMap<string, number> {
	let lifts: Map<string, number> | undefined;
	for (const { goal, lift } of scores) if (lift !== undefined) lifts = (lifts ?? new Map()).set(goal, lift);
	return lifts ?? none;
}
