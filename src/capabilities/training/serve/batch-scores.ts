import { scoredFor } from '../../../core/domain/active-subscriptions.ts';
import type { CaskScope } from '../../../core/domain/cask-scope.ts';
import type { Gateways } from '../../../core/domain/mail-gateways.ts';
import type { Profile } from '../../../core/domain/profile.ts';
import type { Cadences } from '../../../core/domain/subscription-cadence.ts';
import type { GoalModel } from '../../../core/scoring/serve/goal-model.ts';
import type { Wording } from '../../../core/scoring/serve/reasons.ts';
import {
	type GoalScore,
	type ReferenceOf,
	ScoreReferenceBuilder,
	scoreGoal,
} from '../../../core/scoring/serve/score-reference.ts';
import { countVisitors, profilesOf, visitorsFrom } from '../../../core/store/account/reading/visitors.ts';
import type { Reading } from '../../../core/store/steps.ts';
import type { Store } from '../../../core/store/store.ts';
import { profileAtEnd, type VisitorHistory, visitorHistories } from '../../../kit/reading/histories.ts';
import { profilesAt, visitProfileAt } from '../rows/snapshots.ts';

/** A visitor to score. */
export interface VisitorRef {
	readonly vid: string;
	/** The visitor's name in another system. */
	readonly visitor?: string;
}

export interface VisitorScores extends VisitorRef {
	/** The visit, if visits are scored. */
	readonly sid?: string;
	/** The moment of the score if it differs between visitors; milliseconds since 1970. */
	readonly atMs?: number;
	/** One for each goal that the visitor can reach. */
	readonly scores: readonly GoalScore[];
}

export interface BatchOptions {
	/** The goals, with what scores them, and their models of lift. */
	readonly goals: readonly (ReferenceOf & { readonly lift?: GoalModel | undefined })[];
	/** Visitors, or the latest visit of each visitor. */
	readonly scope: CaskScope;
	/** Score each as of its last hit, as pages were told, instead of all as of one moment. */
	readonly eachAtItsLastHit: boolean;
	/** In whose words reasons are told; null to leave them out. */
	readonly explain: Wording | null;
	/** As of the moment of the scores. */
	readonly cadences: Cadences;
	/** The moment of the scores. */
	readonly nowMs: number;
	/** They are scored, but nobody is compared with them. */
	readonly gateways: Gateways;
	/** The moment is in the past: profiles are made from the log up to then. */
	readonly fromLog: boolean;
	/** Pages of the visitors to score; all visitors by default. */
	readonly wanted?: AsyncIterable<readonly VisitorRef[]>;
	readonly onProgress: (label: string, done: number, total: number) => void;
}

/** Bounds memory. */
export const pageVisitors = 200;
/** The maximum number of scores to compare with, sampled evenly. */
const maxCompared = 100_000;

/**
 * Scores visitors as of a moment, a page at a time. Percentiles are among visitors who were present within the last
 * horizon, or among all scored ones if each is scored as of its last hit. Visitors unknown at that moment are left out.
 */
export async function* batchScores(
	store: Pick<Store, 'read'>,
	accountId: number,
	options: BatchOptions,
): AsyncIterable<VisitorScores[]> {
	const read = <T>(reading: Reading<T>) => store.read(accountId, reading);
	const { goals, scope, eachAtItsLastHit, explain, cadences, nowMs, fromLog, gateways, onProgress } = options;
	const fromHistory = (history: VisitorHistory): Omit<KnownVisitor, 'vid'> => {
		const last = history.hits.at(-1);
		const atMs = eachAtItsLastHit && last ? last.atMs : nowMs;
		if (scope === 'sid' && last)
			return { profile: visitProfileAt(history, last.sid, atMs), atMs, sid: last.sid };
		const [profile] = atMs === nowMs ? [] : profilesAt(history, [atMs]);
		return { profile: profile ?? profileAtEnd(history), atMs };
	};
	const knownOf = async (vids: readonly string[]): Promise<Map<string, Omit<KnownVisitor, 'vid'>>> => {
		if (!fromLog && !eachAtItsLastHit && scope === 'vid') {
			const profiles = await read(profilesOf(vids));
			return new Map([...profiles].map(([vid, profile]) => [vid, { profile, atMs: nowMs }]));
		}
		const histories = await read(visitorHistories(vids, nowMs));
		return new Map(histories.map((history) => [history.vid, fromHistory(history)]));
	};
	const total = await read(countVisitors());

	async function* all(label: string, every: number): AsyncIterable<KnownVisitor[]> {
		let afterId = 0;
		for (let done = 0; ; done += pageVisitors) {
			const stored = await read(visitorsFrom(afterId, pageVisitors, every));
			const last = stored.at(-1);
			if (!last) return;
			afterId = last.id;
			const known = stored.filter(({ profile }) => profile.firstAtMs <= nowMs);
			yield withProfiles(known, await knownOf(known.map(({ vid }) => vid)));
			onProgress(label, Math.min(total, (done + stored.length) * every), total);
		}
	}

	async function* ofWanted(pages: AsyncIterable<readonly VisitorRef[]>): AsyncIterable<KnownVisitor[]> {
		for await (const page of pages) yield withProfiles(page, await knownOf(page.map(({ vid }) => vid)));
	}

	const builder = new ScoreReferenceBuilder(goals, nowMs, cadences);
	for await (const page of all('comparing', Math.max(1, Math.ceil(total / maxCompared))))
		for (const { vid, profile, atMs } of page) if (!gateways.has(vid)) builder.add(profile, atMs);
	const references = builder.references();
	for await (const page of options.wanted ? ofWanted(options.wanted) : all('scoring', 1))
		yield page.map(({ vid, visitor, profile, atMs, sid }) => ({
			...(visitor !== undefined && { visitor }),
			vid,
			...(sid !== undefined && { sid }),
			...(eachAtItsLastHit && { atMs }),
			scores: references.flatMap((reference, index) => {
				const scored = scoredFor(reference.goal, profile, atMs, cadences);
				const { model, lift } = goals[index] ?? {};
				return scored ? [scoreGoal(reference, model, profile, atMs, scored, explain, lift)] : [];
			}),
		}));
}

interface KnownVisitor extends VisitorRef {
	readonly profile: Profile;
	readonly atMs: number;
	readonly sid?: string;
}

function withProfiles(
	wanted: readonly VisitorRef[],
	known: ReadonlyMap<string, Omit<KnownVisitor, 'vid'>>,
): KnownVisitor[] {
	return wanted.flatMap(({ vid, visitor }) => {
		const one = known.get(vid);
		return one ? [{ vid, ...(visitor !== undefined && { visitor }), ...one }] : [];
	});
}
