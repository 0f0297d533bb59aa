import { boundsOf, poisson } from '../../kit/reports/simulated.ts';
import { creditShares, MarkovChain } from './markov.ts';

/** Visitors who did the same: paths that led to subscriptions, or one that led to none. */
export interface SimilarVisitors {
	readonly visitors: number;
	readonly converted: readonly (readonly number[])[];
	/** Null if they subscribed. */
	readonly lost: readonly number[] | null;
}

export interface ShareInterval {
	readonly low: number;
	readonly high: number;
}

const resamples = 200;

/**
 * The 95 % intervals of the shares of credit, from 200 bootstrap samples of visitors. How often one of n equal visitors
 * is drawn is close to Poisson with mean n, independently of the others.
 * @param visitors in an order independent of how they were read, so that results are repeatable
 */
export function shareIntervals(
	visitors: readonly SimilarVisitors[],
	labels: number,
	random: () => number,
): ShareInterval[] {
	const chain = new MarkovChain(labels);
	const packed = packTransitions(visitors, chain);
	const shares = Array.from({ length: resamples }, () => {
		chain.clear();
		for (let group = 0; group < visitors.length; group++) {
			const times = poisson((visitors[group] as SimilarVisitors).visitors, random);
			if (times > 0)
				chain.addTransitions(packed.transitions, times, packed.starts[group], packed.starts[group + 1]);
		}
		return creditShares(chain.removalEffects());
	});
	return Array.from({ length: labels }, (_, label) => {
		const [low, high] = boundsOf(shares.map((each) => each[label] as number));
		return { low, high };
	});
}

/** The transitions of all visitors in one list, and where those of each group begin: there may be hundreds of thousands. */
function packTransitions(
	visitors: readonly SimilarVisitors[],
	chain: MarkovChain,
): { transitions: Int32Array; starts: Int32Array } {
	const length = (path: readonly number[]) => path.length + 1;
	const sizes = visitors.map(
		({ converted, lost }) =>
			converted.reduce((all, path) => all + length(path), 0) + (lost ? length(lost) : 0),
	);
	const starts = new Int32Array(visitors.length + 1);
	for (const [group, size] of sizes.entries()) starts[group + 1] = (starts[group] as number) + size;
	const transitions = new Int32Array(starts.at(-1) as number);
	let at = 0;
	const add = (path: readonly number[], isConverted: boolean) => {
		transitions.set(chain.transitionsOf(path, isConverted), at);
		at += length(path);
	};
	for (const { converted, lost } of visitors) {
		for (const path of converted) add(path, true);
		if (lost) add(lost, false);
	}
	return { transitions, starts };
}
