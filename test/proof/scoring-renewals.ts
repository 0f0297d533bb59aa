import { logLosses, meanOfGroups } from '../../src/capabilities/training/fit/measure.ts';
import {
	defaultMaxScores,
	drawnVisitors,
	scoresAsOf,
} from '../../src/capabilities/training/follow/backtest.ts';
import { outcomesIn } from '../../src/capabilities/training/follow/outcomes.ts';
import { renewalSnapshots } from '../../src/capabilities/training/rows/renewal-snapshots.ts';
import { profilesAt } from '../../src/capabilities/training/rows/snapshots.ts';
import { type Goal, goalDefaults } from '../../src/core/domain/goal.ts';
import { Cadences } from '../../src/core/domain/subscription-cadence.ts';
import { dayMs } from '../../src/core/durations.ts';
import { percentile, quantiles } from '../../src/core/scoring/serve/percentile.ts';
import { smoothedRate } from '../../src/core/scoring/serve/served-rate.ts';
import { seededRandom } from '../../src/kit/random.ts';
import { type AccountHistory, historiesOf } from '../../src/kit/reading/histories.ts';
import type { Aim } from './aim.ts';
import { readerOf } from './plain-visitors.ts';
import { type KindOfRenewals, kindsOfRenewals } from './renewal-histories.ts';

export const renewal: Goal = {
	name: 'renewal',
	evts: ['news'],
	...goalDefaults,
	counts: 'renewal',
	horizonDays: 7,
};
const cuts = 4;

export interface RenewalLosses {
	readonly served: Float64Array;
	readonly rule: Float64Array;
	readonly base: Float64Array;
	readonly groups: Uint32Array;
	readonly kinds: readonly string[];
	/** Whether it is past due, which the rule does not know. */
	readonly due: readonly boolean[];
	readonly labels: readonly number[];
	readonly scores: readonly number[];
	/** By band, how many were in it and how many of them renewed. */
	readonly bands: readonly { of: number; renewed: number }[];
}

/** The tenure rule: how many of those with as many payments in a row renewed, of who was due in the last two cycles. */
async function tenureRule(
	reader: AccountHistory,
	vids: readonly string[],
	cutMs: number,
	cadenceDays: number,
) {
	const cadences = await reader.cadences(cutMs);
	const counts = new Map<number, { reached: number; of: number }>();
	const plan = { goal: renewal, cadences, knownToMs: cutMs };
	const random = seededRandom(1);
	let [reached, of] = [0, 0];
	for await (const history of historiesOf(reader, vids, cutMs))
		for (const { renewing, labels, knownAtMs = 0 } of renewalSnapshots(history, plan, random)) {
			if (!renewing || knownAtMs <= cutMs - 2 * cadenceDays * dayMs) continue;
			const count = counts.getOrInsertComputed(renewing.paymentsInRow, () => ({ reached: 0, of: 0 }));
			count.reached += labels[0] as number;
			count.of++;
			reached += labels[0] as number;
			of++;
		}
	const all = smoothedRate(reached, of, 0.5);
	return (payments: number) => {
		const count = counts.get(payments);
		return count ? smoothedRate(count.reached, count.of, all) : all;
	};
}

/** Of the renewals that are next as of four moments, by what was served then, by the tenure rule, and by the base rate. */
export async function renewalLosses(
	{ visitors, cadenceDays }: KindOfRenewals,
	seed: number,
): Promise<RenewalLosses> {
	const cadences = new Cadences({ prices: [], evts: [['news', [cadenceDays]]], all: [] }, {});
	const reader: AccountHistory = { ...readerOf(visitors(seed)), cadences: async () => cadences };
	const { fromMs, toMs } = await reader.historyExtent(Number.POSITIVE_INFINITY);
	const { vids: drawn } = await drawnVisitors(reader, defaultMaxScores, toMs);
	const [labels, scores, rule, base, groups]: number[][] = [[], [], [], [], []] as number[][];
	const numbers = new Map<string, number>();
	const kinds: string[] = [];
	const due: boolean[] = [];
	const bands = Array.from({ length: 3 }, () => ({ of: 0, renewed: 0 }));
	const lastMs = toMs - 1.5 * cadenceDays * dayMs;
	for (let cut = 0; cut < cuts; cut++) {
		const cutMs = fromMs + (lastMs - fromMs) * (0.6 + (0.4 * cut) / (cuts - 1));
		const of = {
			goal: renewal,
			cutsMs: [cutMs],
			untilMs: cutMs,
			seed,
			at: 'cut' as const,
			onProgress: () => {},
		};
		const { outcomes, kind } = await scoresAsOf(
			reader,
			of,
			{ cutMs, untilMs: cutMs, knownToMs: toMs, drawn },
			numbers,
		);
		kinds.push(kind);
		const ranks = quantiles(outcomes.served);
		for (const [place, score] of outcomes.served.entries()) {
			const rank = percentile(ranks, score);
			const band = bands[rank >= renewal.highFrom ? 2 : rank >= renewal.mediumFrom ? 1 : 0];
			if (!band) continue;
			band.of++;
			band.renewed += outcomes.labels[place] as number;
		}
		const rateOf = await tenureRule(reader, drawn, cutMs, cadenceDays);
		for await (const history of historiesOf(reader, drawn, toMs)) {
			const [profile] = profilesAt(history, [cutMs]);
			const outcomesAt = outcomesIn(history, { goal: renewal, cadences, knownToMs: toMs });
			for (const { scored } of profile ? outcomesAt(profile, cutMs) : []) {
				rule?.push(rateOf(scored.renewing?.paymentsInRow ?? 0));
				due.push((scored.renewing?.cover?.dueAtMs ?? 0) <= cutMs);
			}
		}
		labels?.push(...outcomes.labels);
		scores?.push(...outcomes.served);
		base?.push(...outcomes.base);
		groups?.push(...outcomes.groups);
	}
	const lossesOf = (said: number[] = []) => logLosses(Uint8Array.from(labels ?? []), Float64Array.from(said));
	return {
		served: lossesOf(scores),
		rule: lossesOf(rule),
		base: lossesOf(base),
		groups: Uint32Array.from(groups ?? []),
		kinds,
		due,
		bands,
		labels: labels ?? [],
		scores: scores ?? [],
	};
}

/** What is served for the next renewal, against the tenure rule, and how many of each band renewed. */
export async function* renewalAims(seeds: readonly number[]): AsyncGenerator<Aim> {
	for (const kind of kindsOfRenewals) {
		const [over, overOfNotDue, outOfOrder]: [number[], number[], number[]] = [[], [], []];
		for (const seed of seeds) {
			const { served, rule, groups, due, bands } = await renewalLosses(kind, seed);
			const more = served.map((loss, row) => loss - (rule[row] as number));
			const isNotDue = (_: unknown, row: number) => !due[row];
			over.push(meanOfGroups(more, groups).high);
			overOfNotDue.push(
				meanOfGroups(more.filter(isNotDue), groups.filter(isNotDue))[kind.isPublic ? 'value' : 'high'],
			);
			const [low = 0, medium = 0, high = 0] = bands.map(({ of, renewed }) => renewed / of);
			outOfOrder.push(Math.max(low - medium, medium - high));
		}
		yield {
			name: `renewals, ${kind.name}: over the tenure rule, upper end`,
			values: over,
			max: 0,
		};
		// Published counts tell nothing but tenure, so that nothing can be better there.
		yield {
			name: `  of who is not past due, ${kind.isPublic ? 'mean' : 'upper end'}`,
			values: overOfNotDue,
			max: kind.isPublic ? 0.003 : 0,
		};
		yield { name: '  rate of a band less that of the next', values: outOfOrder, max: 0 };
	}
}
