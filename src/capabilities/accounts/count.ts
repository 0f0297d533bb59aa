import { openScorer } from '../../core/scoring/serve/visitor-scorer.ts';
import type { Rule } from '../../core/segments/rule.ts';
import { scoredFacts } from '../../core/segments/rule-facts.ts';
import { countVisitors, profilePages } from '../../core/store/account/reading/visitors.ts';
import type { KnownAccount } from '../../core/store/control/control-store.ts';
import type { PageReads } from '../../core/store/serving.ts';
import type { Store } from '../../core/store/store.ts';
import { gatewaysOf } from '../../kit/reading/gateways.ts';

export interface MatchCount {
	readonly visitors: number;
	readonly matching: number;
	/** Mail gateways, who are in neither; missing if there is none. */
	readonly gatewayVisitors?: number;
}

export interface CountOptions {
	/** Whether mail gateways are counted like everybody else. */
	readonly include?: 'gateways' | null | undefined;
	readonly onProgress?: (done: number, total: number) => void;
	/** Called for each visitor that matches. */
	readonly onMatch?: (vid: string) => void;
}

/** Counts the visitors that match a rule now, with the scores that pages are told. */
export async function countMatches(
	store: Store & PageReads,
	account: KnownAccount,
	rule: Rule,
	{ include = null, onProgress = () => {}, onMatch = () => {} }: CountOptions = {},
): Promise<MatchCount> {
	const nowMs = store.now();
	const total = await store.read(account.id, countVisitors());
	const gateways = await gatewaysOf(store, account, { asOfMs: nowMs, include });
	let visitors = 0;
	let matching = 0;
	let left = 0;
	await using scorer = openScorer(store, nowMs);
	for await (const profiles of profilePages(store, account.id)) {
		for (const [vid, profile] of profiles) {
			if (gateways.has(vid)) left++;
			else visitors++;
			if (gateways.has(vid) || !rule.matches(await scoredFacts(rule, scorer, account, profile, nowMs)))
				continue;
			matching++;
			onMatch(vid);
		}
		// Visitors may arrive during the count.
		onProgress(visitors + left, Math.max(total, visitors + left));
	}
	return { visitors, matching, ...(left > 0 && { gatewayVisitors: left }) };
}
