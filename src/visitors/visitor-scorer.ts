import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CaskScope } from '../access/cask.ts';
import { percentile as percentileOf, quantiles } from '../scoring/percentile.ts';
import type { KnownAccount } from '../store/control.ts';
import type { ServingReader } from '../store/store.ts';
import { type Goal, hasReached } from './goal.ts';
import type { Profile } from './profile.ts';

export type Band = 'low' | 'medium' | 'high';

export interface GoalScore {
	readonly goal: string;
	/** The probability that the goal is reached within its horizon, as of now. */
	readonly score: number;
	/** Among the account's recent visitors, 0 to 100. */
	readonly percentile: number;
	readonly band: Band;
	/** The model's version, or `prior` where there is none. */
	readonly model: string;
	/** What speaks for it, most important first; only where asked for. */
	readonly reasons?: readonly string[];
}

/** A trained model, ready to score. */
export interface GoalModel {
	readonly version: string;
	probability(profile: Profile, nowMs: number): number;
	/** In plain language, the largest contribution first; at most three. */
	reasons(profile: Profile, nowMs: number): string[];
}

/** Loads the active model of a goal, where there is one. */
export type LoadModel = (
	account: KnownAccount,
	goal: Goal,
	scope: CaskScope,
) => Promise<GoalModel | undefined>;

/** What an account's scores are measured against. */
interface Standard {
	/** Goals and versions of models that it was made for. */
	readonly madeFor: string;
	readonly madeAtMs: number;
	readonly goals: readonly GoalStandard[];
}

interface GoalStandard {
	readonly goal: Goal;
	readonly baseRate: number;
	readonly model: GoalModel | undefined;
	/** Of the model's scores of recent visitors. */
	readonly grid: readonly number[];
}

/** Recent visitors that scores are compared with. */
const sampleSize = 2000;
/** Profiles read in one turn of the event loop: about a millisecond. */
const samplePage = 100;
const renewAfterMs = 60_000;
/** Until an account has data of its own, its base rates are taken to be this, with the weight of so many visitors. */
const priorRate = 0.02;
const priorWeight = 50;

/** Scores profiles of all accounts, by their models or base rates. */
export class VisitorScorer {
	readonly #reader: ServingReader;
	readonly #loadModel: LoadModel;
	readonly #now: () => number;
	readonly #onTrouble: (error: unknown) => void;
	readonly #standards = new Map<string, Standard>();
	/** Those that are being made. */
	readonly #making = new Map<string, Promise<Standard>>();

	/** @param options.onTrouble a standard could not be renewed; the last one goes on */
	constructor(options: {
		reader: ServingReader;
		loadModel: LoadModel;
		/** Milliseconds since 1970. */
		now: () => number;
		onTrouble: (error: unknown) => void;
	}) {
		this.#reader = options.reader;
		this.#loadModel = options.loadModel;
		this.#now = options.now;
		this.#onTrouble = options.onTrouble;
	}

	/**
	 * The scores of a profile, one for each goal of the account. Synchronous but for an account's first.
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
			return standard.then(({ goals }) => goals.map((goal) => score(goal, profile, nowMs, explain)));
		return standard.goals.map((goal) => score(goal, profile, nowMs, explain));
	}

	#standard(account: KnownAccount, scope: CaskScope, nowMs: number): Standard | Promise<Standard> {
		const name = `${account.id} ${scope}`;
		const standard = this.#standards.get(name);
		const isNew = standard && standard.madeFor === madeFor(account, scope);
		if (isNew && Math.abs(nowMs - standard.madeAtMs) < renewAfterMs) return standard;
		const making = this.#making.get(name) ?? this.#make(name, account, scope, nowMs);
		if (!standard) return making;
		// What is a moment out of date answers meanwhile.
		making.catch(this.#onTrouble);
		return standard;
	}

	#make(name: string, account: KnownAccount, scope: CaskScope, nowMs: number): Promise<Standard> {
		const making = this.#measure(account, scope, nowMs)
			.then((standard) => {
				this.#standards.set(name, standard);
				return standard;
			})
			.finally(() => this.#making.delete(name));
		this.#making.set(name, making);
		return making;
	}

	async #measure(account: KnownAccount, scope: CaskScope, nowMs: number): Promise<Standard> {
		const models = await Promise.all(account.goals.map((goal) => this.#loadModel(account, goal, scope)));
		const reached = account.goals.map(() => 0);
		const scores: number[][] = account.goals.map(() => []);
		let visitors = 0;
		for await (const profile of this.#sample(account.id, scope)) {
			visitors++;
			account.goals.forEach((goal, index) => {
				if (hasReached(profile, goal)) reached[index] = (reached[index] ?? 0) + 1;
				const probability = models[index]?.probability(profile, nowMs);
				if (probability !== undefined) scores[index]?.push(probability);
			});
		}
		return {
			madeFor: madeFor(account, scope),
			madeAtMs: nowMs,
			goals: account.goals.map((goal, index) => ({
				goal,
				baseRate: ((reached[index] ?? 0) + priorRate * priorWeight) / (visitors + priorWeight),
				model: models[index],
				grid: quantiles(scores[index] ?? []),
			})),
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

function madeFor({ goals, models }: KnownAccount, scope: CaskScope): string {
	return JSON.stringify([goals, models.filter((model) => model.scope === scope)]);
}

function score(
	{ goal, baseRate, model, grid }: GoalStandard,
	profile: Profile,
	nowMs: number,
	explain: boolean,
): GoalScore {
	const probability = model?.probability(profile, nowMs) ?? baseRate;
	const percentile = Math.round(percentileOf(grid, probability));
	return {
		goal: goal.name,
		score: Math.round(probability * 1e4) / 1e4,
		percentile,
		band: percentile >= goal.highFrom ? 'high' : percentile >= goal.mediumFrom ? 'medium' : 'low',
		model: model?.version ?? 'prior',
		...(explain && { reasons: model?.reasons(profile, nowMs) ?? [] }),
	};
}
