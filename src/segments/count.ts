import { openScorer } from '../scoring/serve/visitor-scorer.ts';
import { countVisitors, profilePages } from '../store/account/reading/visitors.ts';
import type { KnownAccount } from '../store/control/control-store.ts';
import type { PageReads } from '../store/serving.ts';
import type { Store } from '../store/store.ts';
import type { Rule } from './rule.ts';
import { scoredFacts } from './rule-facts.ts';

export interface MatchCount {
	readonly visitors: number;
	readonly matching: number;
}

/**
 * Counts the visitors that match a rule now, with the scores that pages are told.
 * @param onMatch called for each of them
 */
export async function countMatches(
	store: Store & PageReads,
	account: KnownAccount,
	rule: Rule,
	onProgress: (done: number, total: number) => void = () => {},
	onMatch: (vid: string) => void = () => {},
): Promise<MatchCount> {
	const nowMs = store.now();
	const total = await store.read(account.id, countVisitors());
	let visitors = 0;
	let matching = 0;
	await using scorer = openScorer(store, nowMs);
	for await (const profiles of profilePages(store, account.id)) {
		for (const [vid, profile] of profiles) {
			if (!rule.matches(await scoredFacts(rule, scorer, account, profile, nowMs))) continue;
			matching++;
			onMatch(vid);
		}
		visitors += profiles.size;
		// Visitors may arrive during the count.
		onProgress(visitors, Math.max(total, visitors));
	}
	return { visitors, matching };
}
