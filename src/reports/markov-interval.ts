import { creditShares, MarkovChain } from './markov.ts';

/** Visitors who have done the same: paths that led to subscriptions, or one that led to none. */
export interface SimilarVisitors {
	readonly visitors: number;
	readonly converted: readonly (readonly number[])[];
	/** Null where they have subscribed. */
	readonly lost: readonly number[] | null;
}

export interface ShareInterval {
	readonly low: number;
	readonly high: number;
}

const resamples = 200;
/** From so many on, a Poisson number is as good as normal. */
const normalFrom = 30;

/**
 * The interval that 95 % of the shares of credit are in when visitors are drawn anew, 200 times. How often one of n alike
 * visitors is drawn is close to Poisson with mean n, whatever becomes of the others.
 * @param visitors in an order that does not depend on how they were read, so that the same chance falls to the same
 */
export function shareIntervals(
	visitors: readonly SimilarVisitors[],
	labels: number,
	random: () => number,
): ShareInterval[] {
	const chain = new MarkovChain(labels);
	const drawn = visitors.map(({ visitors: count, converted, lost }) => ({
		count,
		transitions: [
			...converted.flatMap((path) => chain.transitionsOf(path, true)),
			...(lost ? chain.transitionsOf(lost, false) : []),
		],
	}));
	const shares = Array.from({ length: resamples }, () => {
		chain.clear();
		for (const { count, transitions } of drawn) {
			const times = poisson(count, random);
			if (times > 0) chain.addTransitions(transitions, times);
		}
		return creditShares(chain.removalEffects());
	});
	return Array.from({ length: labels }, (_, label) => {
		const sorted = Float64Array.from(shares, (each) => each[label] as number).sort();
		const cut = Math.floor(0.025 * resamples);
		return { low: sorted[cut] as number, high: sorted[resamples - 1 - cut] as number };
	});
}

function poisson(mean: number, random: () => number): number {
	if (mean >= normalFrom) {
		const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
		return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal));
	}
	const limit = Math.exp(-mean);
	let number = 0;
	for (let product = random(); product > limit; product *= random()) number++;
	return number;
}
