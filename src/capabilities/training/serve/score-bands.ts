import type { Band } from '../../../core/domain/goal.ts';
import { openScorer } from '../../../core/scoring/serve/visitor-scorer.ts';
import { countVisitors, profilePages } from '../../../core/store/account/reading/visitors.ts';
import type { KnownAccount } from '../../../core/store/control/control-store.ts';
import type { PageReads } from '../../../core/store/serving.ts';
import type { Store } from '../../../core/store/store.ts';
import { gatewaysOf } from '../../../kit/reading/gateways.ts';
import { historyReader } from '../../../kit/reading/histories.ts';
import { knownAccount } from '../../../kit/reading/known-account.ts';
import { endOfLog } from './base-rate.ts';

declare module '../../../kit/jobs/compute-jobs.ts' {
	interface ComputeJobs {
		distribution: { job: DistributionJob; progress: never; result: ScoreDistribution };
	}
}

/** Does `scoreDistribution` on the thread of jobs. */
interface DistributionJob {
	readonly type: 'distribution';
	readonly aid: string;
	readonly goal: string;
	readonly include: 'gateways' | null;
}

export async function distributionJob(
	store: Store & PageReads,
	{ aid, goal, include }: DistributionJob,
): Promise<ScoreDistribution> {
	return scoreDistribution(store, await knownAccount(store, aid), goal, include);
}

/** The scores of the visitors of one band of a goal. */
export interface BandScores {
	readonly band: Band;
	visitors: number;
	/** The sum of the scores: how many of them are to reach the goal within its horizon. */
	predicted: number;
	lowest: number;
	highest: number;
}

export interface ScoreDistribution {
	/** All visitors of the account but mail gateways. */
	readonly all: number;
	/** Mail gateways, who are left out. */
	readonly gatewayVisitors: number;
	/** Those of them who were scored: the ones with the lowest `vid`s, which are random. */
	readonly drawn: number;
	/** Up to when anything is known: now, or the end of a log that has ended. */
	readonly knownToMs: number;
	/** The highest first. */
	readonly bands: readonly BandScores[];
	/** Visitors by their score. Most scores are low, so that each bar is about twice as wide as the one before. */
	readonly histogram: readonly { readonly from: number; readonly to: number; readonly visitors: number }[];
}

const maxDrawn = 10_000;
/** Ends of the bars: 1, 2 and 5 hundred-thousandths, and so on up to 1. */
const ends = [-5, -4, -3, -2, -1].flatMap((power) => [1, 2, 5].map((times) => Number(`${times}e${power}`)));

/** What the visitors of an account score for a goal now, as pages would be told. */
export async function scoreDistribution(
	store: Store & PageReads,
	account: KnownAccount,
	goal: string,
	include: 'gateways' | null = null,
): Promise<ScoreDistribution> {
	const nowMs = store.now();
	const gateways = await gatewaysOf(store, account, { asOfMs: nowMs, include });
	const all = (await store.read(account.id, countVisitors())) - gateways.size;
	const bands = (['high', 'medium', 'low'] as const).map(
		(band): BandScores => ({ band, visitors: 0, predicted: 0, lowest: 1, highest: 0 }),
	);
	const scores: number[] = [];
	let drawn = 0;
	await using scorer = openScorer(store, nowMs);
	for await (const profiles of profilePages(store, account.id, maxDrawn)) {
		for (const [vid, profile] of profiles) {
			if (gateways.has(vid)) continue;
			drawn++;
			const made = await scorer.scores(account, 'vid', profile, false);
			const own = made.find((one) => one.goal === goal);
			const band = bands.find((one) => one.band === own?.band);
			if (!own || !band) continue;
			band.visitors++;
			band.predicted += own.score;
			band.lowest = Math.min(band.lowest, own.score);
			band.highest = Math.max(band.highest, own.score);
			scores.push(own.score);
		}
	}
	return {
		all,
		gatewayVisitors: gateways.size,
		drawn,
		knownToMs: await endOfLog(historyReader(store, account), nowMs),
		bands: bands.filter(({ visitors }) => visitors > 0),
		histogram: histogramOf(scores),
	};
}

/** From the lowest bar with a visitor to the highest. */
export function histogramOf(scores: readonly number[]): ScoreDistribution['histogram'] {
	const bars = [...ends, 1].map((to, place) => ({
		from: place === 0 ? 0 : (ends[place - 1] as number),
		to,
		visitors: 0,
	}));
	for (const score of scores) {
		const bar = bars.find(({ to }) => score < to) ?? bars.at(-1);
		if (bar) bar.visitors++;
	}
	const isFilled = ({ visitors }: { readonly visitors: number }) => visitors > 0;
	return bars.slice(bars.findIndex(isFilled), bars.findLastIndex(isFilled) + 1);
}
