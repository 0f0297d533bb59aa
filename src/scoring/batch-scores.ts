import type { Goal } from '../domain/goal.ts';
import type { Profile } from '../domain/profile.ts';
import type { ClientReader } from '../store/account/account-reader.ts';
import { profileThen } from '../store/account/visitor-history.ts';
import type { GoalModel } from './goal-model.ts';
import { type GoalScore, ScoreReferenceBuilder, scoreGoal } from './score-reference.ts';

/** Whom somebody wants scores of. */
export interface VisitorRef {
	readonly vid: string;
	/** What they are called elsewhere. */
	readonly visitor?: string;
}

export interface VisitorScores extends VisitorRef {
	/** One for each goal. */
	readonly scores: readonly GoalScore[];
}

export interface BatchOptions {
	readonly goals: readonly Goal[];
	/** Of each goal, where there is one. */
	readonly models: readonly (GoalModel | undefined)[];
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
 * Scores of visitors, a page at a time, as of a moment. Percentiles are among all visitors of the account that were known
 * then. Who was not known then is left out.
 */
export async function* batchScores(
	reader: ClientReader,
	options: BatchOptions,
): AsyncIterable<VisitorScores[]> {
	const { goals, models, nowMs, fromLog, onProgress } = options;
	const profilesOf = async (vids: readonly string[]) => {
		if (!fromLog) return reader.profilesOf(vids);
		const histories = await reader.visitorHistories(vids, nowMs);
		return new Map(histories.map((history) => [history.vid, profileThen(history)]));
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
			yield fromLog ? withProfiles(known, await profilesOf(known.map(({ vid }) => vid))) : known;
			onProgress(label, Math.min(total, (done + stored.length) * every), total);
		}
	}

	async function* ofWanted(pages: AsyncIterable<readonly VisitorRef[]>): AsyncIterable<KnownVisitor[]> {
		for await (const page of pages) yield withProfiles(page, await profilesOf(page.map(({ vid }) => vid)));
	}

	const maker = new ScoreReferenceBuilder(goals, models, nowMs);
	for await (const page of all('comparing', Math.max(1, Math.ceil(total / maxCompared))))
		for (const { profile } of page) maker.add(profile);
	const references = maker.references();
	for await (const page of options.wanted ? ofWanted(options.wanted) : all('scoring', 1))
		yield page.map(({ vid, visitor, profile }) => ({
			...(visitor !== undefined && { visitor }),
			vid,
			scores: references.map((reference, index) =>
				scoreGoal(reference, models[index], profile, nowMs, false),
			),
		}));
}

interface KnownVisitor extends VisitorRef {
	readonly profile: Profile;
}

function withProfiles(wanted: readonly VisitorRef[], profiles: ReadonlyMap<string, Profile>): KnownVisitor[] {
	return wanted.flatMap(({ vid, visitor }) => {
		const profile = profiles.get(vid);
		return profile ? [{ vid, ...(visitor !== undefined && { visitor }), profile }] : [];
	});
}
