/** What the visitors of a group brought: sums over an outcome `y` and over `x`, which was known before it. */
export class GroupSums {
	count = 0;
	#y = 0;
	#yy = 0;
	#x = 0;
	#xx = 0;
	#xy = 0;

	/**
	 * @param x what chance alone makes different between the groups, such as a score at entry
	 * @param visitors how many there are of whom both hold
	 */
	add(y: number, x = 0, visitors = 1): void {
		this.count += visitors;
		this.#y += visitors * y;
		this.#yy += visitors * y * y;
		this.#x += visitors * x;
		this.#xx += visitors * x * x;
		this.#xy += visitors * x * y;
	}

	/** 0 of nobody. */
	get mean(): number {
		return this.#y / Math.max(1, this.count);
	}

	get meanOfX(): number {
		return this.#x / Math.max(1, this.count);
	}

	get varianceOfX(): number {
		return Math.max(0, this.#xx - this.#x * this.meanOfX) / (this.count - 1);
	}

	get covariance(): number {
		return (this.#xy - this.#x * this.mean) / (this.count - 1);
	}

	/** Of y − slope · x. */
	variance(slope = 0): number {
		const ofY = Math.max(0, this.#yy - this.#y * this.mean) / (this.count - 1);
		return Math.max(0, ofY - 2 * slope * this.covariance + slope * slope * this.varianceOfX);
	}
}

/** How far one group is above the other, and how sure that is. In the unit of the outcome. */
export interface Difference {
	/** Of the means, less what the groups differed by before. */
	readonly difference: number;
	/** Of the means as they are. */
	readonly unadjusted: number;
	/** The ordinary 95 % interval: of one look that was planned ahead. */
	readonly low: number;
	readonly high: number;
	/** The 95 % interval that holds at every look. */
	readonly anytimeLow: number;
	readonly anytimeHigh: number;
	/** The part of the variance that the adjustment takes away: as many of the visitors can be spared. */
	readonly varianceReduction: number;
}

/** Fewer visitors of a group than these have no interval: means of few are not normally distributed. */
const leastVisitors = 100;
const alpha = 0.05;
/** Of the standard normal distribution, at 97.5 %. */
const ordinaryMultiplier = 1.959964;

/**
 * The difference of two means with its intervals; undefined where a group has too few visitors.
 *
 * Adjusted by what was known of each visitor before (CUPED: Deng et al. 2013, "Improving the sensitivity of online controlled
 * experiments by utilizing pre-experiment data"): y − θ·x is compared instead of y, with one θ for both groups, the one that makes
 * the variance of the difference smallest. Where `x` says nothing, nothing changes.
 *
 * A group's variance counts as no smaller than that of both together: where conversions are rare, that of a small group
 * is too small in just those cases in which its mean is wrong.
 * @param holdoutShare of all visitors, as it was set
 */
export function differenceOf(
	treated: GroupSums,
	holdout: GroupSums,
	holdoutShare: number,
): Difference | undefined {
	if (Math.min(treated.count, holdout.count) < leastVisitors) return undefined;
	const shared = (of: (group: GroupSums) => number) =>
		of(treated) / treated.count + of(holdout) / holdout.count;
	const ofX = shared((group) => group.varianceOfX);
	const slope = ofX > 0 ? shared((group) => group.covariance) / ofX : 0;
	const [plainError, error] = [0, slope].map((by) => standardError(treated, holdout, by)) as [number, number];
	const unadjusted = treated.mean - holdout.mean;
	const difference = unadjusted - slope * (treated.meanOfX - holdout.meanOfX);
	const anytime = error * anytimeMultiplier(treated.count + holdout.count, holdoutShare);
	return {
		difference,
		unadjusted,
		low: difference - ordinaryMultiplier * error,
		high: difference + ordinaryMultiplier * error,
		anytimeLow: difference - anytime,
		anytimeHigh: difference + anytime,
		varianceReduction: plainError > 0 ? Math.max(0, 1 - (error / plainError) ** 2) : 0,
	};
}

function standardError(treated: GroupSums, holdout: GroupSums, slope: number): number {
	const [ofTreated, ofHoldout] = [treated.variance(slope), holdout.variance(slope)];
	const all = treated.count + holdout.count;
	const pooled = (ofTreated * treated.count + ofHoldout * holdout.count) / all;
	return Math.sqrt(Math.max(pooled, ofTreated) / treated.count + Math.max(pooled, ofHoldout) / holdout.count);
}

/** How many visitors both groups have when the smaller one is expected to have enough for an interval. */
export function firstLookAt(holdoutShare: number): number {
	return leastVisitors / Math.min(holdoutShare, 1 - holdoutShare);
}

/**
 * How many standard errors the interval that holds at every look reaches to either side: an asymptotic confidence sequence
 * (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2021, "Time-uniform central limit theory and asymptotic confidence
 * sequences", arXiv 2103.06476, theorem 2.2). However often and whenever one looks from the first look on, the truth is
 * outside at any of the looks in about 5 % of experiments, or fewer.
 *
 * Its ρ may be chosen, but not after looking at the data. It is the one that makes the interval shortest at the first look, where
 * `firstLookAt` visitors are known: √((−2·ln α + ln(−2·ln α + 1)) ÷ visitors), their approximation of the best. With a hundred times
 * as many visitors, the interval is 17 % longer than the best for that many.
 * @param visitors of both groups
 */
export function anytimeMultiplier(visitors: number, holdoutShare: number): number {
	const surprise = -2 * Math.log(alpha);
	/** ρ² times the visitors. */
	const scale = ((surprise + Math.log(surprise + 1)) * visitors) / firstLookAt(holdoutShare);
	return Math.sqrt((2 * (scale + 1) * Math.log(Math.sqrt(scale + 1) / alpha)) / scale);
}

/** Of χ² with one degree of freedom; larger ones come by chance in one of a thousand cases. */
const largestChiSquare = 10.828;

/**
 * Whether the groups' sizes can no longer be explained by the share that is held out (sample ratio mismatch, χ², p < .001). Of
 * experiments without a fault, one in 1,000 is told so at one look, and 15 to 22 if looked at on each of 120 days.
 */
export function isMismatched(treated: number, holdout: number, holdoutShare: number): boolean {
	const expected = (treated + holdout) * holdoutShare;
	return (holdout - expected) ** 2 > largestChiSquare * expected * (1 - holdoutShare);
}

/** Of the standard normal distribution, at 80 %. */
const powerMultiplier = 0.841621;
/** With so many times the visitors of the first look, the smaller group has enough in 99 of 100 draws, not in half of them. */
const surelyEnough = 1.3;

/** A difference between two rates that one would like to see. */
export interface WantedLift {
	/** Of visitors who are held out, who reach the goal. */
	readonly rate: number;
	/** By which part of the rate that of the treated is higher. */
	readonly relativeLift: number;
	readonly holdoutShare: number;
	readonly varianceReduction?: number;
}

/**
 * How many visitors both groups must have so that the interval excludes 0 in four of five experiments. For an interval that holds
 * at every look, that is at the last look; earlier looks find some sooner.
 *
 * The difference must be as large as the interval reaches by the error that the report will tell, in which no group's variance counts
 * as smaller than that of both, and what chance takes from the difference in four of five cases, by the true error.
 */
export function visitorsNeeded(
	{ rate, relativeLift, holdoutShare, varianceReduction = 0 }: WantedLift,
	interval: 'ordinary' | 'anytime',
): number {
	const treated = Math.min(1, rate * (1 + relativeLift));
	const [ofTreated, ofHoldout] = [treated * (1 - treated), rate * (1 - rate)];
	const pooled = ofTreated * (1 - holdoutShare) + ofHoldout * holdoutShare;
	/** The standard error of one visitor. */
	const errorBy = (varianceOf: (own: number) => number) =>
		Math.sqrt(
			(1 - varianceReduction) *
				(varianceOf(ofTreated) / (1 - holdoutShare) + varianceOf(ofHoldout) / holdoutShare),
		);
	const trueError = errorBy((own) => own);
	const toldError = errorBy((own) => Math.max(pooled, own));
	const isEnough = (visitors: number) => {
		const multiplier =
			interval === 'ordinary' ? ordinaryMultiplier : anytimeMultiplier(visitors, holdoutShare);
		const reach = multiplier * toldError + powerMultiplier * trueError;
		return reach / Math.sqrt(visitors) <= treated - rate;
	};
	const least = Math.ceil(surelyEnough * firstLookAt(holdoutShare));
	let [few, enough] = [0, least];
	while (!isEnough(enough)) {
		if (enough > Number.MAX_SAFE_INTEGER / 4) return Number.POSITIVE_INFINITY;
		[few, enough] = [enough, 2 * enough];
	}
	while (enough - few > 1) {
		const middle = Math.floor((few + enough) / 2);
		if (isEnough(middle)) enough = middle;
		else few = middle;
	}
	return Math.max(enough, least);
}
