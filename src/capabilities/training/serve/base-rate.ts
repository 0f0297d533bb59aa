import { delayMsOf, type Goal, horizonMsOf } from '../../../core/domain/goal.ts';
import { dayMs } from '../../../core/durations.ts';
import { type Recency, recencies, recencyOf } from '../../../core/scoring/rows/recency.ts';
import { type BaseRate, priorRateOf, smoothedRate } from '../../../core/scoring/serve/served-rate.ts';
import { seededRandom } from '../../../kit/random.ts';
import {
	type AccountHistory,
	type HitMoment,
	historiesOf,
	type VisitorHistory,
} from '../../../kit/reading/histories.ts';
import { mean } from '../fit/measure.ts';
import { endOfHistory } from '../rows/account-rows.ts';
import { recentRows } from '../rows/recent-rows.ts';
import { renewalSnapshots } from '../rows/renewal-snapshots.ts';
import { maxRowsOfOne, outcomesOf, profilesAt, type Snapshot } from '../rows/snapshots.ts';

/** The sample: moments of the past and hits at each, and visitors at as many places among all. */
const places = 40;
const hitsPerPlace = 25;
const visitorsPerPlace = 50;
/** Hits from this period are sampled, or from a quarter of the horizon if that is longer. */
const minPeriodMs = 7 * dayMs;

/**
 * Measures how many of those whose horizon is just over have reached each goal: after hits, and visitors in general.
 * Samples at most 1,000 hits and 2,000 visitors for each horizon, however many there are.
 * @param sampled the visitors; by default, a new sample
 */
export async function measureBaseRates(
	reader: AccountHistory,
	goals: readonly Goal[],
	asOfMs: number,
	sampled?: readonly string[],
): Promise<ReadonlyMap<string, BaseRate>> {
	const rates = new Map<string, BaseRate>();
	const nowMs = await endOfLog(reader, asOfMs);
	const vids = sampled ?? (await spreadVisitors(reader, nowMs));
	for (const ofPlan of Map.groupBy(goals, planOf).values()) {
		const [first] = ofPlan as [Goal];
		const toMs = nowMs - delayMsOf(first);
		const periodMs = Math.max(minPeriodMs, horizonMsOf(first) / 4);
		const latest = await peoplesHits(reader, nowMs, toMs, places * hitsPerPlace);
		const earliest = latest.at(-1);
		// A week of few hits would give a rate of few hits. Renewals are few: the latest of all are taken.
		const fromMs =
			first.counts === 'renewal'
				? Number.NEGATIVE_INFINITY
				: Math.min(toMs - periodMs, (earliest?.atMs ?? toMs) - 1);
		const outcomes: Outcome[] = [];
		const period = { goals: ofPlan, fromMs, toMs, nowMs, vids };
		for await (const { history, recency, labels, atMs, knownAtMs = atMs } of sampleOutcomes(reader, period))
			outcomes.push({ vid: history.vid, recency, labels, atMs: knownAtMs });
		const chosen = first.counts === 'renewal' ? latestDues(outcomes) : outcomes;
		const byRecency = recencies.map((each) => chosen.filter(({ recency }) => recency === each));
		for (const [index, goal] of ofPlan.entries()) {
			// Pages ask after each hit, so the rate is that of hits. It is trusted as far as there are visitors.
			const counts = byRecency.map((some) => {
				const of = new Set(some.map(({ vid }) => vid)).size;
				return { of, reached: of && of * mean(some.map(({ labels }) => labels[index] as number)) };
			});
			const sum = (key: 'of' | 'reached') => counts.reduce((total, count) => total + count[key], 0);
			const all = smoothedRate(sum('reached'), sum('of'), priorRateOf(goal));
			rates.set(goal.name, {
				byRecency: counts.map(({ reached, of }) => smoothedRate(reached, of, all)),
			});
		}
	}
	return rates;
}

interface Outcome {
	readonly vid: string;
	readonly recency: Recency;
	readonly labels: readonly (0 | 1)[];
	/** When it was known. */
	readonly atMs: number;
}

/** Renewal rates move, too: the latest dues tell it, as they set the level of models. */
function latestDues(outcomes: readonly Outcome[]): readonly Outcome[] {
	const byTime = outcomes.toSorted((a, b) => a.atMs - b.atMs);
	if (byTime.length === 0) return [];
	const numbers = new Map<string, number>();
	const [places = new Uint32Array()] = recentRows({
		atMs: Float64Array.from(byTime, ({ atMs }) => atMs),
		labels: Uint8Array.from(byTime, ({ labels }) => labels[0] as number),
		groups: Uint32Array.from(byTime, ({ vid }) => numbers.getOrInsert(vid, numbers.size)),
		recency: new Uint8Array(byTime.length),
	});
	return byTime.slice(places[0]);
}

/** Goals of one plan are measured together. */
function planOf(goal: Goal): string {
	return goal.counts === 'renewal' ? goal.name : String(horizonMsOf(goal));
}

/** If the log has ended, its end; the time since says nothing. */
export async function endOfLog(reader: AccountHistory, asOfMs: number): Promise<number> {
	const [last] = await reader.hitsBefore(asOfMs, 1);
	// The extent counts all hits, so it is only read if there was none of late.
	if (last && endOfHistory({ toMs: last.atMs }, asOfMs) === asOfMs) return asOfMs;
	return endOfHistory(await reader.historyExtent(asOfMs), asOfMs);
}

export interface SampleOptions {
	/** Of one horizon, or one goal of renewals. */
	readonly goals: readonly Goal[];
	/** The period of the sampled hits. Sampled visitors are as of its end. Of renewals, the period in which they were due at last. */
	readonly fromMs: number;
	readonly toMs: number;
	/** Outcomes are known up to this moment. */
	readonly nowMs: number;
	/** Visitors sampled before; by default, a new sample. */
	readonly vids?: readonly string[];
}

/** A visitor as of a moment, with the outcomes. */
export interface SampledOutcome extends Snapshot {
	readonly history: VisitorHistory;
	readonly recency: Recency;
}

/**
 * Samples hits of a period, with their visitors as of the hit, and visitors as of its end: at most 1,000 hits and 2,000
 * visitors, however many there are, and of one visitor no more hits than training uses.
 */
export async function* sampleOutcomes(
	reader: AccountHistory,
	{ goals, fromMs, toMs, nowMs, vids }: SampleOptions,
): AsyncGenerator<SampledOutcome> {
	const [goal] = goals as readonly [Goal];
	const horizonMs = horizonMsOf(goal);
	if (goal.counts === 'renewal') {
		const plan = { goal, cadences: await reader.cadences(nowMs), knownToMs: toMs };
		const random = seededRandom(1);
		for await (const history of historiesOf(reader, vids ?? (await spreadVisitors(reader, nowMs)), nowMs))
			for (const snapshot of renewalSnapshots(history, plan, random)) {
				const { profile, atMs, knownAtMs = atMs } = snapshot;
				if (knownAtMs > fromMs) yield { history, recency: recencyOf(profile, atMs, horizonMs), ...snapshot };
			}
		return;
	}
	const { cancellationEvt } = reader;
	const plan = { goals, horizonMs, cancellationEvt };
	for await (const history of historiesOf(reader, vids ?? (await spreadVisitors(reader, nowMs)), nowMs)) {
		const lastAtMs = lastBefore(history, toMs);
		const recency = lastAtMs === undefined ? 0 : recencyOf({ lastAtMs }, toMs, horizonMs);
		// Visitors who are present are sampled by their hits.
		if (recency !== 0) yield* outcomesAt(history, [toMs], recency, plan);
	}
	const moments = await spreadHits(reader, { fromMs, toMs, nowMs });
	for await (const history of historiesOf(reader, [...moments.keys()], nowMs)) {
		// The store gives the latest hits of a visitor with very many.
		const firstMs = history.hits[0]?.atMs ?? Number.POSITIVE_INFINITY;
		const known = [...(moments.get(history.vid) ?? [])].filter((atMs) => atMs >= firstMs);
		const every = Math.ceil(known.length / maxRowsOfOne);
		const some = known.sort((a, b) => a - b).filter((_, index) => index % every === 0);
		yield* outcomesAt(history, some, 0, plan);
	}
}

function outcomesAt(
	history: VisitorHistory,
	momentsMs: readonly number[],
	recency: Recency,
	plan: Parameters<typeof outcomesOf>[1],
): SampledOutcome[] {
	const labelsAt = outcomesOf(history, plan);
	return profilesAt(history, momentsMs).map((profile, index) => {
		const atMs = momentsMs[index] as number;
		return { history, atMs, recency, profile, labels: labelsAt(atMs) };
	});
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
async function spreadVisitors(reader: AccountHistory, nowMs: number): Promise<string[]> {
	const gateways = await reader.gateways(nowMs);
	const vids = new Set<string>();
	for (let place = 0; place < places; place++) {
		const prefix = Math.floor((place / places) * 0x10000)
			.toString(16)
			.padStart(4, '0');
		const read = (limit: number) => reader.vidsAfter(prefix, limit);
		for (const vid of await withoutSome(read, visitorsPerPlace, (vid) => gateways.has(vid))) vids.add(vid);
	}
	return [...vids];
}

/** The latest hits up to a moment, without those of visitors who are mail gateways as of now. */
async function peoplesHits(
	reader: AccountHistory,
	nowMs: number,
	beforeMs: number,
	wanted: number,
): Promise<HitMoment[]> {
	const gateways = await reader.gateways(nowMs);
	const read = (limit: number) => reader.hitsBefore(beforeMs, limit);
	return withoutSome(read, wanted, ({ vid }) => gateways.has(vid));
}

/** Samples hits, by `vid`. */
async function spreadHits(
	reader: AccountHistory,
	{ fromMs, toMs, nowMs }: Pick<SampleOptions, 'fromMs' | 'toMs' | 'nowMs'>,
): Promise<Map<string, Set<number>>> {
	const moments = new Map<string, Set<number>>();
	for (let place = 0; place < places; place++) {
		const beforeMs = toMs - Math.round(((toMs - fromMs) * place) / places);
		const latest = await peoplesHits(reader, nowMs, beforeMs, hitsPerPlace);
		// Of the hits of one moment, all or none: which of them come first depends on ids.
		const cutMs = latest.length < hitsPerPlace ? Number.NEGATIVE_INFINITY : (latest.at(-1)?.atMs ?? 0);
		const isCut = latest.some(({ atMs }) => atMs > cutMs);
		for (const { vid, atMs } of latest) {
			if (atMs <= fromMs || (isCut && atMs === cutMs)) continue;
			moments.getOrInsertComputed(vid, () => new Set()).add(atMs);
		}
	}
	return moments;
}

/** Bounds what is read of a place where nearly all are left out. */
const maxTimesMore = 64;

/** Reads as many as are wanted, although some are left out. */
async function withoutSome<One>(
	read: (limit: number) => Promise<One[]>,
	wanted: number,
	isLeftOut: (one: One) => boolean,
): Promise<One[]> {
	for (let limit = wanted; ; limit *= 2) {
		const all = await read(limit);
		const some = all.filter((one) => !isLeftOut(one));
		if (some.length >= wanted || all.length < limit || limit >= wanted * maxTimesMore)
			return some.slice(0, wanted);
	}
}
