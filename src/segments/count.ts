import type { Profile } from '../domain/profile.ts';
import type { TabledCadences } from '../domain/subscription-cadence.ts';
import type { GoalScore } from '../scoring/serve/visitor-scorer.ts';
import { countVisitors, visitorsFrom } from '../store/account/reading/visitors.ts';
import type { Reading } from '../store/steps.ts';
import type { Rule } from './rule.ts';
import { ruleFacts } from './rule-facts.ts';

export type ScoresOf = (profile: Profile) => readonly GoalScore[] | Promise<readonly GoalScore[]>;

export interface MatchCount {
	readonly visitors: number;
	readonly matching: number;
}

/** Bounds memory: a profile has a few kilobytes. */
const pageVisitors = 500;

/**
 * Counts the visitors that match a rule as of a moment, a page at a time.
 * @param scoresOf called only where the rule reads scores
 * @param onMatch called for each of them
 */
export async function countMatches(
	read: <T>(reading: Reading<T>) => Promise<T>,
	rule: Rule,
	scoresOf: ScoresOf,
	{ nowMs, cadences }: { readonly nowMs: number; readonly cadences: TabledCadences },
	onProgress: (done: number, total: number) => void,
	onMatch: (vid: string) => void = () => {},
): Promise<MatchCount> {
	const total = await read(countVisitors());
	let afterId = 0;
	let visitors = 0;
	let matching = 0;
	for (;;) {
		const page = await read(visitorsFrom(afterId, pageVisitors));
		for (const { id, vid, profile } of page) {
			afterId = id;
			visitors++;
			const scores = rule.readsScores ? await scoresOf(profile) : [];
			if (!rule.matches(ruleFacts(profile, scores, nowMs, cadences))) continue;
			matching++;
			onMatch(vid);
		}
		// Visitors may arrive during the count.
		if (page.length > 0) onProgress(visitors, Math.max(total, visitors));
		if (page.length < pageVisitors) return { visitors, matching };
	}
}
