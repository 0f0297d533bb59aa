import { activeSubscriptions, scoredFor } from '../../core/domain/active-subscriptions.ts';
import type { Profile } from '../../core/domain/profile.ts';
import { type GoalModel, openModel, UnusableModelError } from '../../core/scoring/serve/goal-model.ts';
import { openScorer } from '../../core/scoring/serve/visitor-scorer.ts';
import { matchingSegments, readScores } from '../../core/segments/matching.ts';
import { scoredFacts } from '../../core/segments/rule-facts.ts';
import type { KnownAccount } from '../../core/store/control/control-store.ts';
import type { PageReads } from '../../core/store/serving.ts';
import type { Store } from '../../core/store/store.ts';
import { visitorHistories } from '../../kit/reading/histories.ts';
import { profilesAt } from '../training/rows/snapshots.ts';

/** What a model says of a visitor at a moment. */
export interface ScoreChange {
	readonly atMs: number;
	readonly goal: string;
	/** As `GoalScore` has it. */
	readonly score: number;
	/** Since the moment before; null at the first one. */
	readonly change: number | null;
	/** What raised it or, where it fell, lowers it, most important first. Empty where it is much as before. */
	readonly reasons: readonly string[];
	readonly model: string;
}

/** A visitor begins or ceases to match the rule of a segment. */
export interface SegmentChange {
	readonly atMs: number;
	/** Its id. */
	readonly segment: string;
	readonly name: string;
	readonly isIn: boolean;
}

export interface VisitorChanges {
	/** By time, then in the order of goals. */
	readonly scores: readonly ScoreChange[];
	/** By time, then in the order of segments. */
	readonly segments: readonly SegmentChange[];
	/** Ends of visits, events, and the end: of so many, an even choice was looked at, and when subscriptions ended. */
	readonly moments: number;
	readonly looks: number;
	/** Goals without a model that can be used, which everybody is served the base rate of. */
	readonly without: readonly string[];
}

const maxMoments = 60;
/** A change by this part of the score before, and by this much, is a jump, and explained. */
const jump = { part: 0.1, least: 0.002 };

/**
 * What the active models and the rules of the segments say of a visitor after each visit and event, when a subscription
 * ends for want of a renewal, and at the end, knowing what was known at each moment. It is not what was served then, which is not kept.
 * @param untilMs the end; nothing later is known
 */
export async function visitorChanges(
	store: Store & PageReads,
	account: KnownAccount,
	vid: string,
	untilMs: number,
): Promise<VisitorChanges> {
	const models = await activeModels(store, account);
	const without = account.goals.filter(({ name }) => !models.has(name)).map(({ name }) => name);
	const [history] = await store.read(account.id, visitorHistories([vid], untilMs));
	if (!history) return { scores: [], segments: [], moments: 0, looks: 0, without };
	const endsMs = new Map(history.hits.map(({ sid, atMs }) => [sid, atMs]));
	const firstMs = history.hits[0]?.atMs as number;
	const eventsMs = history.events
		.map(({ knownFromMs }) => knownFromMs)
		.filter((atMs) => atMs >= firstMs && atMs <= untilMs);
	const all = [...new Set([...endsMs.values(), ...eventsMs, untilMs])].sort((a, b) => a - b);
	const every = Math.ceil(all.length / maxMoments);
	const chosenMs = all.filter((_, place) => (all.length - 1 - place) % every === 0);
	const looksAt = (moments: readonly number[]) =>
		profilesAt(history, moments).map((profile, place) => ({ atMs: moments[place] as number, profile }));
	const lapsesMs = lapses(looksAt(chosenMs), account.cadences);
	const looks = looksAt([...new Set([...chosenMs, ...lapsesMs])].sort((a, b) => a - b));
	return {
		scores: scoreChanges(account, models, looks),
		segments: await segmentChanges(store, account, looks),
		moments: all.length,
		looks: chosenMs.length,
		without,
	};
}

type Looks = readonly { readonly atMs: number; readonly profile: Profile }[];

/** When subscriptions end because no renewal came: nothing else happens then. */
function lapses(looks: Looks, cadences: KnownAccount['cadences']): number[] {
	return looks.flatMap(({ atMs, profile }, place) => {
		const nextMs = looks[place + 1]?.atMs ?? atMs;
		return activeSubscriptions(profile, atMs, cadences)
			.map(({ cover }) => cover?.lapsesAtMs ?? nextMs)
			.filter((lapsesAtMs) => lapsesAtMs < nextMs);
	});
}

function scoreChanges(
	account: KnownAccount,
	models: ReadonlyMap<string, GoalModel>,
	looks: Looks,
): ScoreChange[] {
	const { goals, cadences } = account;
	const before = new Map<string, number>();
	return looks.flatMap(({ atMs, profile }) =>
		goals.flatMap((goal): ScoreChange[] => {
			const model = models.get(goal.name);
			const scored = scoredFor(goal, profile, atMs, cadences);
			if (!model || !scored) return [];
			const score = Math.round(model.probability(profile, atMs, scored) * 1e4) / 1e4;
			const earlier = before.get(goal.name);
			before.set(goal.name, score);
			const change = earlier === undefined ? null : Math.round((score - earlier) * 1e4) / 1e4;
			const least = Math.max(jump.least, jump.part * (earlier ?? 0));
			const isJump = change === null || Math.abs(change) >= least;
			const direction = (change ?? 1) > 0 ? 'raise' : 'lower';
			const reasons = isJump ? model.reasons(profile, atMs, direction, account, scored) : [];
			return [{ atMs, goal: goal.name, score, change, reasons, model: model.version }];
		}),
	);
}

async function segmentChanges(
	store: Store & PageReads,
	account: KnownAccount,
	looks: Looks,
): Promise<SegmentChange[]> {
	const { segments } = account;
	const needed = { readsScores: readScores(segments) };
	await using scorer = openScorer(store, looks.at(-1)?.atMs ?? 0);
	const changes: SegmentChange[] = [];
	let before = new Set<string>();
	for (const { atMs, profile } of looks) {
		const facts = await scoredFacts(needed, scorer, account, profile, atMs);
		const matching = new Set(matchingSegments(segments, facts).map(({ id }) => id));
		for (const { id, name } of segments)
			if (matching.has(id) !== before.has(id))
				changes.push({ atMs, segment: id, name, isIn: matching.has(id) });
		before = matching;
	}
	return changes;
}

async function activeModels(
	{ control }: Pick<Store, 'control'>,
	{ id, models }: KnownAccount,
): Promise<ReadonlyMap<string, GoalModel>> {
	const opened = new Map<string, GoalModel>();
	for (const name of models.filter(({ scope }) => scope === 'vid'))
		try {
			opened.set(name.goal, openModel(name.version, await control.modelBody(id, name)));
		} catch (error) {
			// Its base rate is served.
			if (!(error instanceof UnusableModelError)) throw error;
		}
	return opened;
}
