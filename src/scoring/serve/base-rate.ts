import { type Goal, horizonMsOf, isScoredFor } from '../../domain/goal.ts';
import type { Profile } from '../../domain/profile.ts';
import { dayMs } from '../../durations.ts';
import type { HitMoment, VisitorHistory } from '../../store/account/reading/histories.ts';
import { type Recency, recencies, recencyOf } from '../rows/recency.ts';
import { maxHitsOfOne, outcomesOf, profilesAt } from '../rows/snapshots.ts';

/** Served for a goal without a model: the share of visitors who reach it within its horizon, by recency. */
export interface BaseRate {
	/** Rates of visitors who are present, were present within the last horizon, and before; see `Recency`. */
	readonly byRecency: readonly number[];
}

/** Reads a bounded part of an account's history; see `historyReader`. */
export interface RateReader {
	hitsBefore(atMs: number, limit: number): Promise<HitMoment[]>;
	vidsAfter(vid: string, limit: number): Promise<string[]>;
	visitorHistories(vids: readonly string[], asOfMs: number): Promise<VisitorHistory[]>;
}

/** The assumed base rate of an account without data. */
const priorRate = 0.02;
/** The weight of what is assumed: ten visitors, or half a conversion if that is more, so that no rate vanishes. */
const minPriorVisitors = 10;
const minPriorConversions = 0.5;
/** The sample: moments of the past and hits at each, and visitors at as many places among all. */
const places = 40;
const hitsPerPlace = 25;
const visitorsPerPlace = 50;
const visitorsPerRead = 250;
/** Hits from this period are sampled, or from a quarter of the horizon if that is longer. */
const minPeriodMs = 7 * dayMs;
/** See `accountRows`. */
const maxSilenceMs = dayMs;

/** The rate for a visitor, or a visit, by its last activity. */
export function baseRateFor(rate: BaseRate, goal: Goal, profile: Profile, nowMs: number): number {
	return rate.byRecency[recencyOf(profile, nowMs, horizonMsOf(goal))] as number;
}

/** A rate observed on `of` visitors, shrunken towards another. */
export function smoothedRate(reached: number, of: number, towards = priorRate): number {
	const weight = Math.max(minPriorVisitors, minPriorConversions / towards);
	return (reached + towards * weight) / (of + weight);
}

/**
 * Measures how many of those whose horizon is just over have reached each goal: after hits, and visitors in general.
 * Samples at most 1,000 hits and 2,000 visitors for each horizon, however many there are.
 * @param sampled the visitors; by default, a new sample
 */
export async function measureBaseRates(
	reader: RateReader,
	goals: readonly Goal[],
	asOfMs: number,
	sampled?: readonly string[],
): Promise<ReadonlyMap<string, BaseRate>> {
	const rates = new Map<string, BaseRate>();
	const vids = sampled ?? (await spreadVisitors(reader));
	const nowMs = await endOfLog(reader, asOfMs, vids);
	for (const [horizonMs, ofHorizon] of Map.groupBy(goals, horizonMsOf)) {
		const counts = ofHorizon.map(() => recencies.map((): Count => ({ reached: 0, of: 0 })));
		const toMs = nowMs - horizonMs;
		const periodMs = Math.max(minPeriodMs, horizonMs / 4);
		const [earliest] = (await reader.hitsBefore(toMs, places * hitsPerPlace)).slice(-1);
		// A week of few hits would give a rate of few hits.
		const fromMs = Math.min(toMs - periodMs, (earliest?.atMs ?? toMs) - 1);
		for await (const { recency, profile, labels } of sampleOutcomes(reader, {
			...{ goals: ofHorizon, horizonMs, fromMs, toMs, nowMs, vids },
		}))
			for (const [index, label] of labels.entries()) {
				if (!isScoredFor(ofHorizon[index] as Goal, profile)) continue;
				const count = counts[index]?.[recency] as Count;
				count.reached += label;
				count.of++;
			}
		for (const [index, { name }] of ofHorizon.entries()) {
			const ofGoal = counts[index] as Count[];
			const sum = (of: keyof Count) => ofGoal.reduce((total, count) => total + count[of], 0);
			const all = smoothedRate(sum('reached'), sum('of'));
			rates.set(name, { byRecency: ofGoal.map((count) => smoothedRate(count.reached, count.of, all)) });
		}
	}
	return rates;
}

type Count = { reached: number; of: number };

/** If the log has ended, its end; the time since says nothing. */
export async function endOfLog(
	reader: RateReader,
	asOfMs: number,
	sampled?: readonly string[],
): Promise<number> {
	const [last] = await reader.hitsBefore(asOfMs, 1);
	let endMs = last?.atMs ?? 0;
	if (asOfMs - endMs <= maxSilenceMs) return asOfMs;
	for await (const history of histories(reader, sampled ?? (await spreadVisitors(reader)), asOfMs))
		endMs = Math.max(endMs, lastBefore(history, asOfMs) ?? 0);
	return asOfMs - endMs > maxSilenceMs && endMs > 0 ? endMs : asOfMs;
}

export interface SampleOptions {
	readonly goals: readonly Goal[];
	readonly horizonMs: number;
	/** The period of the sampled hits. Sampled visitors are as of its end. */
	readonly fromMs: number;
	readonly toMs: number;
	/** Outcomes are known up to this moment. */
	readonly nowMs: number;
	/** Visitors sampled before; by default, a new sample. */
	readonly vids?: readonly string[];
}

/** A visitor as of a moment, with the outcomes. */
export interface SampledOutcome {
	readonly history: VisitorHistory;
	readonly atMs: number;
	readonly recency: Recency;
	readonly profile: Profile;
	/** For each goal. */
	readonly labels: readonly (0 | 1)[];
}

/**
 * Samples hits of a period, with their visitors as of the hit, and visitors as of its end: at most 1,000 hits and 2,000
 * visitors, however many there are, and of one visitor no more hits than training uses.
 */
export async function* sampleOutcomes(
	reader: RateReader,
	{ goals, horizonMs, fromMs, toMs, nowMs, vids }: SampleOptions,
): AsyncGenerator<SampledOutcome> {
	for await (const history of histories(reader, vids ?? (await spreadVisitors(reader)), nowMs)) {
		const lastAtMs = lastBefore(history, toMs);
		const recency = lastAtMs === undefined ? 0 : recencyOf({ lastAtMs }, toMs, horizonMs);
		// Visitors who are present are sampled by their hits.
		if (recency !== 0) yield* outcomesAt(history, [toMs], recency, { goals, horizonMs });
	}
	const moments = await spreadHits(reader, fromMs, toMs);
	for await (const history of histories(reader, [...moments.keys()], nowMs)) {
		// The store gives the latest hits of a visitor with very many.
		const firstMs = history.hits[0]?.atMs ?? Number.POSITIVE_INFINITY;
		const known = [...(moments.get(history.vid) ?? [])].filter((atMs) => atMs >= firstMs);
		const every = Math.ceil(known.length / maxHitsOfOne);
		const some = known.sort((a, b) => a - b).filter((_, index) => index % every === 0);
		yield* outcomesAt(history, some, 0, { goals, horizonMs });
	}
}

function outcomesAt(
	history: VisitorHistory,
	momentsMs: readonly number[],
	recency: Recency,
	plan: Pick<SampleOptions, 'goals' | 'horizonMs'>,
): SampledOutcome[] {
	const labelsAt = outcomesOf(history, plan);
	return profilesAt(history, momentsMs).map((profile, index) => {
		const atMs = momentsMs[index] as number;
		return { history, atMs, recency, profile, labels: labelsAt(atMs) };
	});
}

async function* histories(
	reader: RateReader,
	vids: readonly string[],
	nowMs: number,
): AsyncGenerator<VisitorHistory> {
	for (let from = 0; from < vids.length; from += visitorsPerRead)
		yield* await reader.visitorHistories(vids.slice(from, from + visitorsPerRead), nowMs);
}

/** When a visitor was last active; undefined before the first activity. */
function lastBefore({ hits, events }: VisitorHistory, atMs: number): number | undefined {
	const firstMs = hits[0]?.atMs;
	if (firstMs === undefined || firstMs > atMs) return undefined;
	const timesMs = [
		...hits.map((hit) => hit.atMs),
		...events.filter(({ knownFromMs }) => knownFromMs <= atMs).map(({ entry }) => entry.atMs),
	];
	return timesMs.reduce((last, time) => (time <= atMs && time > last ? time : last), firstMs);
}

/** Samples visitors. Ids are random, so the visitors after evenly spaced ids are a random sample. */
async function spreadVisitors(reader: RateReader): Promise<string[]> {
	const vids = new Set<string>();
	for (let place = 0; place < places; place++) {
		const prefix = Math.floor((place / places) * 0x10000)
			.toString(16)
			.padStart(4, '0');
		for (const vid of await reader.vidsAfter(prefix, visitorsPerPlace)) vids.add(vid);
	}
	return [...vids];
}

/** Samples hits, by `vid`. */
async function spreadHits(
	reader: RateReader,
	fromMs: number,
	toMs: number,
): Promise<Map<string, Set<number>>> {
	const moments = new Map<string, Set<number>>();
	for (let place = 0; place < places; place++) {
		const beforeMs = toMs - Math.round(((toMs - fromMs) * place) / places);
		const latest = await reader.hitsBefore(beforeMs, hitsPerPlace);
		// Of the hits of one moment, all or none: which of them come first depends on ids.
		const cutMs = latest.length < hitsPerPlace ? Number.NEGATIVE_INFINITY : (latest.at(-1)?.atMs ?? 0);
		const isCut = latest.some(({ atMs }) => atMs > cutMs);
		for (const { vid, atMs } of latest) {
			if (atMs <= fromMs || (isCut && atMs === cutMs)) continue;
			const known = moments.get(vid);
			if (known) known.add(atMs);
			else moments.set(vid, new Set([atMs]));
		}
	}
	return moments;
}
