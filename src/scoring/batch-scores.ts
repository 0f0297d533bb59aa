import type { CaskScope } from '../domain/cask-scope.ts';
import type { Profile } from '../domain/profile.ts';
import type { ClientReader } from '../store/account/account-reader.ts';
import { profileThen, type VisitorHistory } from '../store/account/visitor-history.ts';
import { type GoalScore, type ReferenceOf, ScoreReferenceBuilder, scoreGoal } from './score-reference.ts';
import { profilesAt, visitProfileAt } from './snapshots.ts';

/** Whom somebody wants scores of. */
export interface VisitorRef {
	readonly vid: string;
	/** What they are called elsewhere. */
	readonly visitor?: string;
}

export interface VisitorScores extends VisitorRef {
	/** The visit, where visits are scored. */
	readonly sid?: string;
	/** As of when, where that is not the same for all; milliseconds since 1970. */
	readonly atMs?: number;
	/** One for each goal. */
	readonly scores: readonly GoalScore[];
}

export interface BatchOptions {
	/** What is scored, and by what. */
	readonly goals: readonly ReferenceOf[];
	/** Visitors, or of each visitor the latest visit. */
	readonly scope: CaskScope;
	/** Each as of its last hit, as a page was told then, instead of all as of one moment. */
	readonly eachAtItsLastHit: boolean;
	readonly explain: boolean;
	/** The moment as of which is scored. */
	readonly nowMs: number;
	/** The moment has passed: profiles are made from the log, and nothing later is seen. */
	readonly fromLog: boolean;
	/** Pages of those whom it is about; all visitors where there are none. */
	readonly wanted?: AsyncIterable<readonly VisitorRef[]>;
	readonly onProgress: (label: string, done: number, total: number) => void;
}

/** Bounds what is in memory at a time. */
export const pageVisitors = 200;
/** Scores are compared with those of so many visitors at most, taken evenly from all. */
const maxCompared = 100_000;

/**
 * Scores of visitors, a page at a time, as of a moment. Percentiles are among those who were there within the last horizon;
 * where each is scored as of its last hit, among all so scored. Who was not known then is left out.
 */
export async function* batchScores(
	reader: ClientReader,
	options: BatchOptions,
): AsyncIterable<VisitorScores[]> {
	const { goals, scope, eachAtItsLastHit, explain, nowMs, fromLog, onProgress } = options;
	const fromHistory = (history: VisitorHistory): Omit<KnownVisitor, 'vid'> => {
		const last = history.hits.at(-1);
		const atMs = eachAtItsLastHit && last ? last.atMs : nowMs;
		if (scope === 'sid' && last)
			return { profile: visitProfileAt(history, last.sid, atMs), atMs, sid: last.sid };
		const [profile] = atMs === nowMs ? [] : profilesAt(history, [atMs]);
		return { profile: profile ?? profileThen(history), atMs };
	};
	const knownOf = async (vids: readonly string[]): Promise<Map<string, Omit<KnownVisitor, 'vid'>>> => {
		if (!fromLog && !eachAtItsLastHit && scope === 'vid') {
			const profiles = await reader.profilesOf(vids);
			return new Map([...profiles].map(([vid, profile]) => [vid, { profile, atMs: nowMs }]));
		}
		const histories = await reader.visitorHistories(vids, nowMs);
		return new Map(histories.map((history) => [history.vid, fromHistory(history)]));
	};
	const total = await reader.countVisitors();

	async function* all(label: string, every: number): AsyncIterable<KnownVisitor[]> {
		let afterId = 0;
		for (let done = 0; ; done += pageVisitors) {
			const stored = await reader.visitorProfiles(afterId, pageVisitors, every);
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

	const builder = new ScoreReferenceBuilder(goals, nowMs);
	for await (const page of all('comparing', Math.max(1, Math.ceil(total / maxCompared))))
		for (const { profile, atMs } of page) builder.add(profile, atMs);
	const references = builder.references();
	for await (const page of options.wanted ? ofWanted(options.wanted) : all('scoring', 1))
		yield page.map(({ vid, visitor, profile, atMs, sid }) => ({
			...(visitor !== undefined && { visitor }),
			vid,
			...(sid !== undefined && { sid }),
			...(eachAtItsLastHit && { atMs }),
			scores: references.map((reference, index) =>
				scoreGoal(reference, goals[index]?.model, profile, atMs, explain),
			),
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
