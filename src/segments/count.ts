import type { ClientReader } from '../store/client.ts';
import { visitFacts, visitorFacts } from '../visitors/facts.ts';
import type { Profile } from '../visitors/profile.ts';
import type { Rule } from './rule.ts';
import type { RuleFacts } from './rule-environment.ts';

export type GoalScores = Pick<RuleFacts, 'scores' | 'percentiles' | 'bands'>;

export interface MatchCount {
	readonly visitors: number;
	readonly matching: number;
}

/** A profile is some kilobytes: this bounds what is in memory at a time. */
const pageVisitors = 500;

/**
 * Counts the visitors that a rule matches as of `nowMs`, a page at a time.
 *
 * @param scoresOf gives a visitor's scores; asked only where the rule reads them
 */
export async function countMatches(
	reader: ClientReader,
	rule: Rule,
	scoresOf: (profile: Profile, nowMs: number) => GoalScores,
	nowMs: number,
	onProgress: (done: number, total: number) => void,
): Promise<MatchCount> {
	const total = await reader.countVisitors();
	let afterId = 0;
	let visitors = 0;
	let matching = 0;
	for (;;) {
		const page = await reader.visitorProfiles(afterId, pageVisitors);
		for (const { id, profile } of page) {
			afterId = id;
			visitors++;
			const scores = rule.readsScores ? scoresOf(profile, nowMs) : noScores;
			const facts = { visitor: visitorFacts(profile, nowMs), visit: visitFacts(profile), ...scores };
			if (rule.matches(facts)) matching++;
		}
		// Visitors may come while this counts.
		if (page.length > 0) onProgress(visitors, Math.max(total, visitors));
		if (page.length < pageVisitors) return { visitors, matching };
	}
}

const noScores: GoalScores = { scores: new Map(), percentiles: new Map(), bands: new Map() };
