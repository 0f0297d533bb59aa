import { scoredFor } from '../../domain/active-subscriptions.ts';
import { visitorHistories } from '../../store/account/reading/histories.ts';
import type { KnownAccount } from '../../store/control/control-store.ts';
import type { Store } from '../../store/store.ts';
import { profilesAt } from '../rows/snapshots.ts';
import { type GoalModel, openModel, UnusableModelError } from './goal-model.ts';

/** What a model says of a visitor at a moment. */
export interface LifeScore {
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

export interface LifeScores {
	/** By time, then in the order of goals. */
	readonly scores: readonly LifeScore[];
	/** Ends of visits, events, and now: of so many moments those of the scores are an even choice. */
	readonly moments: number;
	/** Goals without a model that can be used, which everybody is served the base rate of. */
	readonly without: readonly string[];
}

const maxMoments = 60;
/** A change by this part of the score before, and by this much, is a jump, and explained. */
const jump = { part: 0.1, least: 0.002 };

/**
 * What the active models say of a visitor after each visit and event, and now, knowing what was known at each moment. It is
 * not what was served then, which is not kept.
 */
export async function lifeScores(
	store: Pick<Store, 'read' | 'now' | 'control'>,
	account: KnownAccount,
	vid: string,
): Promise<LifeScores> {
	const nowMs = store.now();
	const models = await activeModels(store, account);
	const without = account.goals.filter(({ name }) => !models.has(name)).map(({ name }) => name);
	const [history] = models.size === 0 ? [] : await store.read(account.id, visitorHistories([vid], nowMs));
	if (!history) return { scores: [], moments: 0, without };
	const endsMs = new Map(history.hits.map(({ sid, atMs }) => [sid, atMs]));
	const firstMs = history.hits[0]?.atMs as number;
	const eventsMs = history.events.map(({ knownFromMs }) => knownFromMs).filter((atMs) => atMs >= firstMs);
	const all = [...new Set([...endsMs.values(), ...eventsMs, nowMs])].sort((a, b) => a - b);
	const every = Math.ceil(all.length / maxMoments);
	const chosen = all.filter((_, place) => (all.length - 1 - place) % every === 0);
	const profiles = profilesAt(history, chosen);
	const before = new Map<string, number>();
	const scores = chosen.flatMap((atMs, place) =>
		account.goals.flatMap((goal): LifeScore[] => {
			const [model, profile] = [models.get(goal.name), profiles[place]];
			const scored = profile && scoredFor(goal, profile, atMs, account.cadences);
			if (!model || !scored) return [];
			const score = Math.round(model.probability(profile, atMs, scored) * 1e4) / 1e4;
			const earlier = before.get(goal.name);
			before.set(goal.name, score);
			const change = earlier === undefined ? null : Math.round((score - earlier) * 1e4) / 1e4;
			const least = Math.max(jump.least, jump.part * (earlier ?? 0));
			const isJump = change === null || Math.abs(change) >= least;
			const direction = (change ?? 1) > 0 ? 'raise' : 'lower';
			const reasons = isJump ? model.reasons(profile, atMs, direction, scored) : [];
			return [{ atMs, goal: goal.name, score, change, reasons, model: model.version }];
		}),
	);
	return { scores, moments: all.length, without };
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
