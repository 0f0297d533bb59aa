import type { Profile } from '../../core/domain/profile.ts';
import { dayMs } from '../../core/durations.ts';
import { openScorer } from '../../core/scoring/serve/visitor-scorer.ts';
import { compileRule, type Rule } from '../../core/segments/rule.ts';
import { scoredFacts } from '../../core/segments/rule-facts.ts';
import { countVisitors, profilePages } from '../../core/store/account/reading/visitors.ts';
import type { KnownAccount } from '../../core/store/control/control-store.ts';
import type { PageReads } from '../../core/store/serving.ts';
import type { Store } from '../../core/store/store.ts';
import { gatewaysOf } from '../../kit/reading/gateways.ts';
import { type VisitorHistory, visitorHistories } from '../../kit/reading/histories.ts';
import { knownAccount } from '../../kit/reading/known-account.ts';
import { profilesAt } from './rows/snapshots.ts';

declare module '../../kit/jobs/compute-jobs.ts' {
	interface ComputeJobs {
		outcomes: { job: OutcomesJob; progress: never; result: RuleOutcomes };
	}
}

/** Does `ruleOutcomes` on the thread of jobs. */
interface OutcomesJob {
	readonly type: 'outcomes';
	readonly aid: string;
	readonly rules: readonly string[];
	readonly include: 'gateways' | null;
}

export async function outcomesJob(
	store: Store & PageReads,
	{ aid, rules, include }: OutcomesJob,
): Promise<RuleOutcomes> {
	const compiled = rules.map((rule) => compileRule(rule));
	return ruleOutcomes(store, await knownAccount(store, aid), compiled, include);
}

/** What became of those who matched a rule. */
export interface RuleOutcome {
	/** Visitors who match now. */
	matching: number;
	/** Visitors who matched after one of their hits in the last days. */
	recent: number;
	/** Those of them with a new subscription after the first such hit. */
	subscribed: number;
}

export interface RuleOutcomes {
	/** All visitors of the account but mail gateways. */
	readonly all: number;
	/** Mail gateways, who are left out. */
	readonly gatewayVisitors: number;
	/** Those of them whom the figures are of. Their `vid`s are the lowest, and random, so they are a fair sample. */
	readonly visitors: number;
	/** Of everybody: `recent` are all who came in the last days. */
	readonly base: RuleOutcome;
	/** In the order of the rules. */
	readonly rules: readonly RuleOutcome[];
}

export const outcomeDays = 30;
/** Bounds how long a page takes. */
const maxVisitors = 10_000;
/** After so many hits of a visitor it is looked, evenly spread over all. */
const maxMoments = 50;

/**
 * Counts the visitors who match each of some rules now, and those who did in the last days, and who subscribed then. Rules
 * that read scores are given what the active models say of each moment.
 */
export async function ruleOutcomes(
	store: Store & PageReads,
	account: KnownAccount,
	rules: readonly Rule[],
	include: 'gateways' | null = null,
	maxSample = maxVisitors,
): Promise<RuleOutcomes> {
	const nowMs = store.now();
	const gateways = await gatewaysOf(store, account, { asOfMs: nowMs, include });
	const all = (await store.read(account.id, countVisitors())) - gateways.size;
	const counts = rules.map(noOutcome);
	const base = noOutcome();
	const needed = { readsScores: rules.some(({ readsScores }) => readsScores) };
	await using scorer = openScorer(store, nowMs);
	/** For each rule, whether it matches. */
	const matchesAt = async (profile: Profile, atMs: number): Promise<boolean[]> => {
		const facts = await scoredFacts(needed, scorer, account, profile, atMs);
		return rules.map((rule) => rule.matches(facts));
	};
	for await (const profiles of profilePages(store, account.id, maxSample)) {
		const people = [...profiles].filter(([vid]) => !gateways.has(vid));
		for (const [, profile] of people) {
			base.matching++;
			for (const [place, isMatch] of (await matchesAt(profile, nowMs)).entries())
				if (isMatch) (counts[place] as RuleOutcome).matching++;
		}
		const vids = people.map(([vid]) => vid);
		for (const history of await store.read(account.id, visitorHistories(vids, nowMs)))
			await addRecent(history, nowMs, matchesAt, [base, ...counts]);
	}
	return { all, gatewayVisitors: gateways.size, visitors: base.matching, base, rules: counts };
}

/** @param outcomes of everybody, then of each rule */
async function addRecent(
	history: VisitorHistory,
	nowMs: number,
	matchesAt: (profile: Profile, atMs: number) => Promise<readonly boolean[]>,
	outcomes: readonly RuleOutcome[],
): Promise<void> {
	const timesMs = [...new Set(history.hits.map(({ atMs }) => atMs))].filter(
		(atMs) => atMs > nowMs - outcomeDays * dayMs,
	);
	if (timesMs.length === 0) return;
	const every = Math.ceil(timesMs.length / maxMoments);
	const moments = timesMs.filter((_, place) => place % every === 0);
	const lastAcquiredMs = lastAcquisitionMs(history);
	const counted = new Set<number>();
	for (const [place, profile] of profilesAt(history, moments).entries()) {
		const atMs = moments[place] as number;
		const matches = [true, ...(await matchesAt(profile, atMs))];
		for (const [of, outcome] of outcomes.entries()) {
			if (!matches[of] || counted.has(of)) continue;
			counted.add(of);
			outcome.recent++;
			if (lastAcquiredMs > atMs) outcome.subscribed++;
		}
		if (counted.size === outcomes.length) return;
	}
}

/** When the visitor has last begun a subscription. Who sees the page that thanks for it has, although its upload comes later. */
function lastAcquisitionMs({ events }: VisitorHistory): number {
	const acquired = new Set<string>();
	let lastMs = Number.NEGATIVE_INFINITY;
	const present = events.filter(({ knownUntilMs }) => knownUntilMs === Number.POSITIVE_INFINITY);
	for (const { entry, shownAtMs = entry.atMs } of present.toSorted((a, b) => a.entry.atMs - b.entry.atMs)) {
		if (entry.revenuePence < 0 || acquired.has(entry.subid)) continue;
		acquired.add(entry.subid);
		lastMs = Math.max(lastMs, Math.min(entry.atMs, shownAtMs));
	}
	return lastMs;
}

function noOutcome(): RuleOutcome {
	return { matching: 0, recent: 0, subscribed: 0 };
}
