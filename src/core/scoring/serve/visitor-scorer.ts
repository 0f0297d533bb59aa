import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { monotonicMs } from '../../clock.ts';
import { scoredFor } from '../../domain/active-subscriptions.ts';
import type { CaskScope, ModelScope } from '../../domain/cask-scope.ts';
import type { Profile } from '../../domain/profile.ts';
import type { KnownAccount, ModelName } from '../../store/control/control-store.ts';
import type { PageReads, ServingReader } from '../../store/serving.ts';
import type { Store } from '../../store/store.ts';
import { type GoalModel, UnusableModelError } from './goal-model.ts';
import { ModelCache } from './model-cache.ts';
import { sampledPeople } from './sampled-people.ts';
import { type GoalScore, type ScoreReference, ScoreReferenceBuilder, scoreGoal } from './score-reference.ts';

export type { GoalScore } from './score-reference.ts';

/** What an account's scores are compared with. */
interface AccountReferences {
	/** Identifies the goals and model versions that it was made for. */
	readonly madeFor: string;
	readonly madeAtMs: number;
	readonly goals: readonly (ScoreReference & { readonly modelName: ModelName | undefined })[];
	/** The models of lift, in the order of the goals; empty where there is none. */
	readonly liftNames: readonly (ModelName | undefined)[];
	lastUsedAtMs: number;
}

/** The number of recent visitors to compare with. */
const sampleSize = 2000;
/** Profiles read in one turn of the event loop: less than a millisecond, or a few with large profiles. */
const samplePage = 25;
const renewAfterMs = 60_000;
/** The number of accounts and scopes whose references are cached: some kilobytes each. */
const maxReferences = 10_000;
/** How long old goals and models may still be used after a change is known. */
const maxOutdatedMs = 1000;

interface ScorerOptions {
	readonly reader: ServingReader;
	readonly models: Pick<ModelCache, 'get' | 'forget'>;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	/** Called when a model cannot be used, or references could not be renewed; the old ones stay in use. */
	readonly onError: (error: unknown) => void;
}

/** Scores the profiles of all accounts, by their models or base rates. */
export class VisitorScorer {
	readonly #options: ScorerOptions;
	readonly #references = new LRUCache<string, AccountReferences>({ max: maxReferences });
	/** References under construction. */
	readonly #making = new Map<string, Promise<AccountReferences>>();

	constructor(options: ScorerOptions) {
		this.#options = options;
	}

	/**
	 * A profile's scores, one for each goal of the account that the visitor can reach. Synchronous if the account's models are cached.
	 * @param atMs the moment that the profile is of, now by default; percentiles are among recent visitors in any case
	 * @throws StorageError
	 */
	scores(
		account: KnownAccount,
		scope: CaskScope,
		profile: Profile,
		explain: boolean,
		atMs?: number,
	): GoalScore[] | Promise<GoalScore[]> {
		const nowMs = this.#options.now();
		const references = this.#referencesOf(account, scope, nowMs);
		if (references instanceof Promise)
			return references.then((made) => this.#scores(account, made, profile, atMs ?? nowMs, explain));
		return this.#scores(account, references, profile, atMs ?? nowMs, explain);
	}

	/**
	 * Resolves when scores are by the account's present goals and models. Else old ones may answer for a moment.
	 * @throws StorageError
	 */
	async prepare(account: KnownAccount, scope: CaskScope): Promise<void> {
		const name = `${account.id} ${scope}`;
		while (this.#references.get(name)?.madeFor !== cacheKeyOf(account, scope))
			await (this.#making.get(name) ?? this.#make(name, account, scope, this.#options.now()));
	}

	#scores(
		account: KnownAccount,
		{ goals, liftNames }: AccountReferences,
		profile: Profile,
		nowMs: number,
		explain: boolean,
	): GoalScore[] | Promise<GoalScore[]> {
		const { id, cadences } = account;
		const wording = explain ? account : null;
		const models = goals.map(({ modelName }) => modelName && this.#options.models.get(id, modelName));
		for (const name of liftNames) models.push(name && this.#options.models.get(id, name));
		const scoresBy = (known: readonly (GoalModel | undefined)[]) =>
			goals.flatMap((one, index) => {
				const scored = scoredFor(one.goal, profile, nowMs, cadences);
				if (!scored) return [];
				const lift = known[goals.length + index];
				return [scoreGoal(one, known[index], profile, nowMs, scored, wording, lift)];
			});
		return areKnown(models) ? scoresBy(models) : Promise.all(models).then(scoresBy);
	}

	#referencesOf(
		account: KnownAccount,
		scope: CaskScope,
		nowMs: number,
	): AccountReferences | Promise<AccountReferences> {
		const name = `${account.id} ${scope}`;
		const references = this.#references.get(name);
		if (!references) return this.#making.get(name) ?? this.#make(name, account, scope, nowMs);
		const unusedMs = Math.abs(nowMs - references.lastUsedAtMs);
		references.lastUsedAtMs = nowMs;
		const isOutdated = references.madeFor !== cacheKeyOf(account, scope);
		if (!isOutdated && Math.abs(nowMs - references.madeAtMs) < renewAfterMs) return references;
		const making = this.#making.get(name) ?? this.#make(name, account, scope, nowMs);
		const renewed = making.catch((error) => {
			this.#options.onError(error);
			return references;
		});
		// Slightly outdated references are used while new ones are made, unless they have not been used for long.
		return isOutdated && unusedMs > maxOutdatedMs ? renewed : references;
	}

	#make(name: string, account: KnownAccount, scope: CaskScope, nowMs: number): Promise<AccountReferences> {
		const before = this.#references.get(name);
		const making = this.#measure(account, scope, nowMs)
			.then((references) => {
				this.#references.set(name, references);
				const used = new Set(namesOf(references).map((name) => JSON.stringify(name)));
				for (const name of before ? namesOf(before) : [])
					if (name && !used.has(JSON.stringify(name))) this.#options.models.forget(account.id, name);
				return references;
			})
			.finally(() => this.#making.delete(name));
		this.#making.set(name, making);
		return making;
	}

	async #measure(account: KnownAccount, scope: CaskScope, nowMs: number): Promise<AccountReferences> {
		const activeOf = (of: ModelScope) =>
			account.goals.map((goal) =>
				account.models.find((model) => model.goal === goal.name && model.scope === of),
			);
		const modelNames = activeOf(scope);
		// Who is treated is decided by visitor.
		const liftNames = scope === 'vid' ? activeOf('lift') : [];
		const models = await Promise.all(
			modelNames.map((name) => name && this.#options.models.get(account.id, name)),
		);
		const maker = new ScoreReferenceBuilder(
			account.goals.map((goal, index) => {
				const byRecency = account.baseRates.get(goal.name);
				return { goal, model: models[index], baseRate: byRecency && { byRecency } };
			}),
			nowMs,
			account.cadences,
		);
		for await (const profile of sampledPeople(this.#sample(account.id, scope), nowMs)) maker.add(profile);
		return {
			madeFor: cacheKeyOf(account, scope),
			madeAtMs: nowMs,
			goals: maker.references().map((goal, index) => ({ ...goal, modelName: modelNames[index] })),
			liftNames: liftNames.some(Boolean) ? liftNames : [],
			lastUsedAtMs: nowMs,
		};
	}

	async *#sample(accountId: number, scope: CaskScope): AsyncIterable<Profile> {
		let beforeId = Number.MAX_SAFE_INTEGER;
		for (let read = 0; read < sampleSize; read += samplePage) {
			const page = await this.#options.reader.latest(accountId, scope, { beforeId, limit: samplePage });
			for (const { profile } of page) yield profile;
			const last = page.at(-1);
			if (!last || page.length < samplePage) return;
			beforeId = last.id;
			await nextTurn();
		}
	}
}

function namesOf({ goals, liftNames }: AccountReferences): readonly (ModelName | undefined)[] {
	return [...goals.map(({ modelName }) => modelName), ...liftNames];
}

function areKnown(
	models: readonly (GoalModel | undefined | Promise<GoalModel | undefined>)[],
): models is readonly (GoalModel | undefined)[] {
	return models.every((model) => !(model instanceof Promise));
}

/** By account object of the current snapshot, because every read needs it. */
const cacheKeys = new WeakMap<KnownAccount, { vid: string; sid: string }>();

function cacheKeyOf(account: KnownAccount, scope: CaskScope): string {
	let texts = cacheKeys.get(account);
	if (!texts) {
		const textOf = (of: CaskScope) =>
			JSON.stringify([
				account.goals,
				account.models.filter(({ scope }) => scope === of || (of === 'vid' && scope === 'lift')),
				[...account.baseRates],
			]);
		texts = { vid: textOf('vid'), sid: textOf('sid') };
		cacheKeys.set(account, texts);
	}
	return texts[scope];
}

/** A scorer with the models of a store. */
export function scorerOf(
	{ control }: Pick<Store, 'control'>,
	options: Omit<ScorerOptions, 'models'>,
): VisitorScorer {
	const read = (accountId: number, name: ModelName) => control.modelBody(accountId, name);
	return new VisitorScorer({
		...options,
		models: new ModelCache({ read, monotonicMs, onError: options.onError }),
	});
}

/**
 * A scorer for a page or a command, which says what pages would be told: a model that cannot be used counts as there, by its
 * base rate. It reads by connections of its own, so dispose of it.
 * @param nowMs the moment that scores are of, and that recent visitors are as of
 */
export function openScorer(
	store: Pick<Store, 'control'> & PageReads,
	nowMs: number,
): VisitorScorer & AsyncDisposable {
	const reader = store.startReading();
	const onError = (error: unknown) => {
		if (!(error instanceof UnusableModelError)) throw error;
	};
	return Object.assign(scorerOf(store, { reader, now: () => nowMs, onError }), {
		[Symbol.asyncDispose]: () => reader.close(),
	});
}
