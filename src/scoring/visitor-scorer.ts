import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { CaskScope } from '../domain/cask-scope.ts';
import type { Profile } from '../domain/profile.ts';
import type { KnownAccount, ModelName } from '../store/control/control-store.ts';
import type { ServingReader } from '../store/store.ts';
import type { GoalModel } from './goal-model.ts';
import type { Models } from './model-cache.ts';
import { type GoalScore, type GoalStandard, StandardMaker, scoreGoal } from './score-reference.ts';

export type { Band, GoalScore } from './score-reference.ts';

/** What an account's scores are measured against. */
interface Standard {
	/** Goals and versions of models that it was made for. */
	readonly madeFor: string;
	readonly madeAtMs: number;
	readonly goals: readonly (GoalStandard & { readonly modelName: ModelName | undefined })[];
	lastUsedAtMs: number;
}

/** Recent visitors that scores are compared with. */
const sampleSize = 2000;
/** Profiles read in one turn of the event loop: less than a millisecond, and some where somebody has made them large. */
const samplePage = 25;
const renewAfterMs = 60_000;
/** Accounts and scopes whose standards are kept: some kilobytes each. */
const maxStandards = 10_000;
/** Old goals and models answer at most so long after a change is known. */
const mostOutdatedMs = 1000;

/** Scores profiles of all accounts, by their models or base rates. */
export class VisitorScorer {
	readonly #reader: ServingReader;
	readonly #models: Models;
	readonly #now: () => number;
	readonly #onTrouble: (error: unknown) => void;
	readonly #standards = new LRUCache<string, Standard>({ max: maxStandards });
	/** Those that are being made. */
	readonly #making = new Map<string, Promise<Standard>>();

	/** @param options.onTrouble a standard could not be renewed; the last one goes on */
	constructor(options: {
		reader: ServingReader;
		models: Models;
		/** Milliseconds since 1970. */
		now: () => number;
		onTrouble: (error: unknown) => void;
	}) {
		this.#reader = options.reader;
		this.#models = options.models;
		this.#now = options.now;
		this.#onTrouble = options.onTrouble;
	}

	/**
	 * The scores of a profile, one for each goal of the account. At once, where the account's models are known.
	 * @throws StorageError
	 */
	scores(
		account: KnownAccount,
		scope: CaskScope,
		profile: Profile,
		explain: boolean,
	): GoalScore[] | Promise<GoalScore[]> {
		const nowMs = this.#now();
		const standard = this.#standard(account, scope, nowMs);
		if (standard instanceof Promise)
			return standard.then((made) => this.#scores(account.id, made, profile, nowMs, explain));
		return this.#scores(account.id, standard, profile, nowMs, explain);
	}

	#scores(
		accountId: number,
		{ goals }: Standard,
		profile: Profile,
		nowMs: number,
		explain: boolean,
	): GoalScore[] | Promise<GoalScore[]> {
		const models = goals.map(({ modelName }) => modelName && this.#models.get(accountId, modelName));
		const scoresBy = (known: readonly (GoalModel | undefined)[]) =>
			goals.map((goal, index) => scoreGoal(goal, known[index], profile, nowMs, explain));
		return areKnown(models) ? scoresBy(models) : Promise.all(models).then(scoresBy);
	}

	#standard(account: KnownAccount, scope: CaskScope, nowMs: number): Standard | Promise<Standard> {
		const name = `${account.id} ${scope}`;
		const standard = this.#standards.get(name);
		if (!standard) return this.#making.get(name) ?? this.#make(name, account, scope, nowMs);
		const unusedMs = Math.abs(nowMs - standard.lastUsedAtMs);
		standard.lastUsedAtMs = nowMs;
		const isOutdated = standard.madeFor !== madeFor(account, scope);
		if (!isOutdated && Math.abs(nowMs - standard.madeAtMs) < renewAfterMs) return standard;
		const making = this.#making.get(name) ?? this.#make(name, account, scope, nowMs);
		const renewed = making.catch((error) => {
			this.#onTrouble(error);
			return standard;
		});
		// What is a moment out of date answers meanwhile, but not where nobody has asked for long.
		return isOutdated && unusedMs > mostOutdatedMs ? renewed : standard;
	}

	#make(name: string, account: KnownAccount, scope: CaskScope, nowMs: number): Promise<Standard> {
		const before = this.#standards.get(name);
		const making = this.#measure(account, scope, nowMs)
			.then((standard) => {
				this.#standards.set(name, standard);
				const used = new Set(standard.goals.map(({ modelName }) => JSON.stringify(modelName)));
				for (const { modelName } of before?.goals ?? [])
					if (modelName && !used.has(JSON.stringify(modelName))) this.#models.forget(account.id, modelName);
				return standard;
			})
			.finally(() => this.#making.delete(name));
		this.#making.set(name, making);
		return making;
	}

	async #measure(account: KnownAccount, scope: CaskScope, nowMs: number): Promise<Standard> {
		const modelNames = account.goals.map((goal) =>
			account.models.find((model) => model.goal === goal.name && model.scope === scope),
		);
		const models = await Promise.all(modelNames.map((name) => name && this.#models.get(account.id, name)));
		const maker = new StandardMaker(account.goals, models, nowMs);
		for await (const profile of this.#sample(account.id, scope)) maker.add(profile);
		return {
			madeFor: madeFor(account, scope),
			madeAtMs: nowMs,
			goals: maker.standards().map((goal, index) => ({ ...goal, modelName: modelNames[index] })),
			lastUsedAtMs: nowMs,
		};
	}

	async *#sample(accountId: number, scope: CaskScope): AsyncIterable<Profile> {
		let beforeId = Number.MAX_SAFE_INTEGER;
		for (let read = 0; read < sampleSize; read += samplePage) {
			const page = await this.#reader.latest(accountId, scope, { beforeId, limit: samplePage });
			for (const { profile } of page) yield profile;
			const last = page.at(-1);
			if (!last || page.length < samplePage) return;
			beforeId = last.id;
			await nextTurn();
		}
	}
}

function areKnown(
	models: readonly (GoalModel | undefined | Promise<GoalModel | undefined>)[],
): models is readonly (GoalModel | undefined)[] {
	return models.every((model) => !(model instanceof Promise));
}

/** By the account as a snapshot holds it, which is asked at every reading. */
const madeForTexts = new WeakMap<KnownAccount, { vid: string; sid: string }>();

function madeFor(account: KnownAccount, scope: CaskScope): string {
	let texts = madeForTexts.get(account);
	if (!texts) {
		const textOf = (of: CaskScope) =>
			JSON.stringify([account.goals, account.models.filter((model) => model.scope === of)]);
		texts = { vid: textOf('vid'), sid: textOf('sid') };
		madeForTexts.set(account, texts);
	}
	return texts[scope];
}
