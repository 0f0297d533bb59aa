import { openScorer } from '../../core/scoring/serve/visitor-scorer.ts';
import { compileRule } from '../../core/segments/rule.ts';
import { scoredFacts } from '../../core/segments/rule-facts.ts';
import { profilesOf } from '../../core/store/account/reading/visitors.ts';
import type { PageReads } from '../../core/store/serving.ts';
import type { Store } from '../../core/store/store.ts';
import { profilesAsOf } from '../../kit/reading/histories.ts';
import type { ReportedAccount } from '../../kit/reports/report-query.ts';

/** Bounds memory. */
const pageVisitors = 500;

/**
 * The visitors in a segment, by their profiles as of a moment. Rules that read scores use the active models.
 * @param isPast whether the moment is in the past, so that profiles are made from the log up to then
 * @throws OperatorError where the segment does not exist
 */
export async function segmentMembers(
	store: Store & PageReads,
	{ id: accountId, aid }: Pick<ReportedAccount, 'id' | 'aid'>,
	segmentId: string,
	vids: readonly string[],
	{ asOfMs, isPast }: { readonly asOfMs: number; readonly isPast: boolean },
): Promise<Set<string>> {
	const rule = compileRule((await store.control.segment(accountId, segmentId)).rule);
	const account = (await store.control.accessSnapshot()).accounts.get(aid);
	const members = new Set<string>();
	await using scorer = openScorer(store, asOfMs);
	for (let first = 0; first < vids.length; first += pageVisitors) {
		const page = vids.slice(first, first + pageVisitors);
		const profiles = await store.read(accountId, isPast ? profilesAsOf(page, asOfMs) : profilesOf(page));
		for (const [vid, profile] of profiles)
			if (rule.matches(await scoredFacts(rule, scorer, account, profile, asOfMs))) members.add(vid);
	}
	return members;
}
