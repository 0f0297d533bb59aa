import { dayMs } from '../../core/durations.ts';
import { rounded } from '../../kit/reports/journey.ts';
import { sumOf } from '../../kit/reports/sums.ts';

/** How many subscriptions are expected to begin. */
export interface ExpectedArrivals {
	/** In so many next days. */
	readonly countIn: (days: number) => number;
	/** How unsure that is, as the variance of the log, besides what chance makes of so many. */
	readonly varianceIn: (days: number) => number;
	/** How much more they vary than by chance. */
	readonly overdispersion: number;
}

/** How many subscriptions begin on each day before a moment, and what is expected of the next days. */
export class NewSubscriptions {
	/** How many are younger than so many days. */
	readonly #younger: Float64Array;
	/** Days since the first. */
	readonly days: number;

	/** @param beginsMs when subscriptions began */
	constructor(beginsMs: readonly number[], asOfMs: number) {
		let days = 0;
		const perDay: number[] = [];
		for (const beginMs of beginsMs) {
			const age = Math.floor((asOfMs - beginMs - 1) / dayMs);
			if (age < 0) continue;
			while (perDay.length <= age) perDay.push(0);
			perDay[age] = (perDay[age] as number) + 1;
			days = Math.max(days, (asOfMs - beginMs) / dayMs);
		}
		this.days = days;
		this.#younger = new Float64Array(perDay.length + 1);
		for (const [age, count] of perDay.entries())
			this.#younger[age + 1] = (this.#younger[age] as number) + count;
	}

	/** How many are from so many to so many days old. */
	between(from: number, to: number): number {
		const upTo = (age: number) => this.#younger[Math.max(0, Math.min(age, this.#younger.length - 1))] ?? 0;
		return upTo(to) - upTo(from);
	}

	/**
	 * As many a day as in the longest latest time that is like the weeks in it, with the season of a year ago, or else the trend of
	 * half a year, as far as chance does not explain them.
	 * @param ago as of so many days ago
	 */
	expected(ago = 0): ExpectedArrivals {
		const known = this.days - ago;
		const overdispersion = this.#overdispersion(ago);
		const span = this.#levelDays(ago, overdispersion);
		const isAll = span >= Math.floor(known);
		const counted = this.between(ago, isAll ? this.#younger.length : ago + span);
		const level = counted / (isAll ? Math.max(1, known) : span);
		const slope = this.#trend(ago, overdispersion);
		const changeIn = (days: number) => {
			const season = this.#season(days, ago, { span, overdispersion });
			// From the middle of the days of the level to that of those to come.
			const ahead = (span + days) / 2;
			const trend = Math.max(-mostTrend, Math.min(mostTrend, slope.middle * ahead));
			const rest = 1 - season.weight;
			// As far as it does not count, it is missing, if there is one.
			const missing = season.weight > 0 ? season.middle - trend : 0;
			return {
				middle: season.weight * season.middle + rest * trend,
				variance:
					season.weight ** 2 * season.variance + rest ** 2 * (slope.variance * ahead ** 2 + missing ** 2),
			};
		};
		const changes = new Map<number, Estimate>();
		const change = (days: number) => changes.getOrInsertComputed(days, changeIn);
		return {
			countIn: (days) => level * days * Math.exp(change(days).middle),
			varianceIn: (days) => overdispersion / Math.max(1, counted) + change(days).variance,
			overdispersion,
		};
	}

	/** As many a day as in the latest days, of which so many are known. @param ago as of so many days ago */
	asLately(within: number, ago = 0): ExpectedArrivals {
		const counted = this.between(ago, ago + within);
		const known = Math.max(1, Math.min(within, this.days - ago));
		const overdispersion = this.#overdispersion(ago);
		return {
			countIn: (days) => (counted / known) * days,
			varianceIn: () => overdispersion / Math.max(1, counted),
			overdispersion,
		};
	}

	/** How much more weeks differ from the next than by chance, but for the few that differ most: at least 1. */
	#overdispersion(ago: number): number {
		const ratios: number[] = [];
		for (let week = 0; week < 52 && ago + 7 * (week + 2) <= this.days; week++) {
			const from = ago + 7 * week;
			const [a, b] = [this.between(from, from + 7), this.between(from + 7, from + 14)];
			if (a + b > 0) ratios.push((a - b) ** 2 / (a + b));
		}
		const usual = ratios.sort((a, b) => a - b).slice(0, Math.ceil(usualShare * ratios.length));
		// One more, as if by chance.
		const mean = (sumOf(usual, (ratio) => ratio) + usualMean) / (usual.length + 1);
		return Math.max(1, mean / usualMean);
	}

	/** Over how many days the level is taken: as long as the time before is alike. */
	#levelDays(ago: number, overdispersion: number): number {
		const known = this.days - ago;
		let span = 3;
		while (span < Math.min(longestLevelDays, Math.floor(known))) {
			const longer = Math.min(span === 3 ? 7 : 2 * span, Math.floor(known));
			const [young, old] = [this.between(ago, ago + span), this.between(ago + span, ago + longer)];
			const rate = (young + old) / longer;
			const error = Math.sqrt(overdispersion * rate * (1 / span + 1 / (longer - span)));
			if (Math.abs(young / span - old / (longer - span)) > unlike * error) break;
			span = longer;
		}
		return span;
	}

	/** The log of the ratio of a year ago, and its weight, from 0 to 1. */
	#season(
		days: number,
		ago: number,
		{ span, overdispersion }: { readonly span: number; readonly overdispersion: number },
	): Estimate & { readonly weight: number } {
		const from = ago + yearDays;
		const before = Math.min(span, Math.floor(this.days) - from);
		if (days > yearDays || before < 7) return { middle: 0, variance: 0, weight: 0 };
		const [after, earlier] = [this.between(from - days, from) + 0.5, this.between(from, from + before) + 0.5];
		const middle = Math.log(after / days / (earlier / before));
		const variance = overdispersion * (1 / after + 1 / earlier);
		return { middle, variance, weight: weightOf({ middle, variance }) };
	}

	/** By which share more or fewer come each day, over the longest known one of some times, less what chance explains. */
	#trend(ago: number, overdispersion: number): Estimate {
		const weeks = trendWeeks.find((each) => 7 * each <= this.days - ago) ?? 0;
		const counts = Array.from({ length: weeks }, (_, week) =>
			this.between(ago + 7 * week, ago + 7 * week + 7),
		);
		const { slope, variance, misfit } = logLinear(counts);
		// What went up or down at once does not go on doing so.
		if (weeks === 0 || misfit - misfitOfStep(counts) > overdispersion * clearlyBetter)
			return { middle: 0, variance: 0 };
		const daily = { middle: slope / 7, variance: (variance * overdispersion) / 49 };
		const weight = weightOf(daily);
		return { middle: weight * daily.middle, variance: weight * daily.variance };
	}
}

interface Estimate {
	readonly middle: number;
	readonly variance: number;
}

/** How sure it is that something is not 0, from 0 to 1. */
function weightOf({ middle, variance }: Estimate): number {
	return Math.max(0, 1 - (sureness * variance) / Math.max(middle ** 2, 1e-12));
}

/** Poisson regression of counts, the latest first, on time. @returns the slope per count, its variance by chance, and chi-squared */
function logLinear(counts: readonly number[]): { slope: number; variance: number; misfit: number } {
	const mean = counts.reduce((sum, count) => sum + count, 0) / counts.length;
	if (mean < 1) return { slope: 0, variance: 0, misfit: 0 };
	const middle = (counts.length - 1) / 2;
	let [level, slope, variance] = [Math.log(mean), 0, 0];
	for (let step = 0; step < 25; step++) {
		let [g0, g1, h00, h01, h11] = [0, 0, 0, 0, 0];
		for (const [place, count] of counts.entries()) {
			const x = middle - place;
			const fitted = Math.exp(level + slope * x);
			g0 += count - fitted;
			g1 += x * (count - fitted);
			h00 += fitted;
			h01 += x * fitted;
			h11 += x * x * fitted;
		}
		const determinant = h00 * h11 - h01 * h01;
		if (!(determinant > 1e-9)) return { slope: 0, variance: 0, misfit: 0 };
		const moves = [(h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant];
		const [up, turn] = moves.map((move) => Math.max(-1, Math.min(1, move))) as [number, number];
		level += up;
		slope += turn;
		variance = h00 / determinant;
		if (Math.abs(up) + Math.abs(turn) < 1e-9) break;
	}
	const misfit = counts.reduce((sum, count, place) => {
		const fitted = Math.exp(level + slope * (middle - place));
		return sum + (count - fitted) ** 2 / fitted;
	}, 0);
	return { slope, variance, misfit };
}

/** Chi-squared of counts that are taken for two levels, one after the other, where it fits best. */
function misfitOfStep(counts: readonly number[]): number {
	const misfit = (some: readonly number[]) => {
		const mean = some.reduce((sum, count) => sum + count, 0) / some.length;
		return mean > 0 ? some.reduce((sum, count) => sum + (count - mean) ** 2, 0) / mean : 0;
	};
	return Math.min(
		...counts.keys().map((place) => misfit(counts.slice(0, place)) + misfit(counts.slice(place))),
	);
}

/** The time whose arrivals say how many there will be, where nothing else is known. */
export const latelyDays = 28;
/** A whole number of weeks. */
const yearDays = 364;
const longestLevelDays = 448;
/** Standard errors by which times differ that are not alike. */
const unlike = 3.5;
/** Of the squared differences of weeks, this share is usual. By chance their mean is so high, that of all being 1. */
const [usualShare, usualMean] = [0.9, 0.639];
/** By how much of chi-squared a step must fit better than a trend. */
const clearlyBetter = 4;
/** Squared standard errors that a season or a trend must exceed. */
const sureness = 4;
/** Over how many weeks a trend is looked for. */
const trendWeeks = [104, 52, 26, 13, 8];
/** The largest change by a trend, in log. */
const mostTrend = 0.5;

/** What subscriptions that begin in some days bring in these days. */
export interface NewPence {
	readonly acquisitions: number;
	readonly renewals: number;
}

/** Revenue of new subscriptions, as the report tells it. */
export interface ToldNewPence extends NewPence {
	/** What chance makes of it, as the standard deviation of the log. */
	readonly spread: number;
}

/** What new business is told by. */
export const newBusinessMethods = ['model', 'lastPeriod', 'dues'] as const;
export type NewBusinessMethod = (typeof newBusinessMethods)[number];

/** What the methods said of a time that is over, and what came. */
export interface BackTest extends Readonly<Record<NewBusinessMethod, number>> {
	/** As of when it was told. */
	readonly atMs: number;
	readonly came: number;
}

export interface NewBusinessChoice {
	readonly method: NewBusinessMethod;
	readonly backTests: number;
	/** Sums of absolute errors by what came. Null without a back-test. */
	readonly errors: Readonly<Record<NewBusinessMethod, number>> | null;
}

/**
 * The model, unless a simple method was nearer to what came than chance explains; of two, the nearer one.
 * @param backTests the latest first
 * @param independent what share of them counts, because they overlap
 */
export function chosenBy(backTests: readonly BackTest[], independent = 1): NewBusinessChoice {
	const tests = backTests.filter((one) => one.came > 0);
	if (tests.length === 0) return { method: 'model', backTests: 0, errors: null };
	const weights = recencyWeightsOf(tests);
	const mean = (of: (one: BackTest) => number) =>
		sumOf(tests.entries(), ([place, one]) => (weights[place] as number) * of(one)) /
		sumOf(weights, (weight) => weight);
	const errorOf = (method: NewBusinessMethod) =>
		rounded(
			mean((one) => offBy(one[method], one.came)),
			4,
		);
	const errors = { model: errorOf('model'), lastPeriod: errorOf('lastPeriod'), dues: errorOf('dues') };
	const count =
		(independent * sumOf(weights, (weight) => weight) ** 2) / sumOf(weights, (weight) => weight ** 2);
	const isNearer = (method: NewBusinessMethod) => {
		const nearer = (one: BackTest) => offBy(one.model, one.came) - offBy(one[method], one.came);
		const middle = mean(nearer);
		const variance = mean((one) => (nearer(one) - middle) ** 2) / Math.max(1, count);
		return middle > 0 && middle >= clearly * Math.sqrt(variance);
	};
	const [simple] = (['dues', 'lastPeriod'] as const).filter(isNearer).sort((a, b) => errors[a] - errors[b]);
	return { method: simple ?? 'model', backTests: tests.length, errors };
}

/** How much each of some moments counts. */
export function recencyWeightsOf(moments: readonly { readonly atMs: number }[]): number[] {
	const latestMs = Math.max(...moments.map(({ atMs }) => atMs));
	return moments.map(({ atMs }) => 0.5 ** ((latestMs - atMs) / halfLifeMs));
}

/** Standard errors by which a simple method must be nearer. */
const clearly = 2;
/** A moment counts half as much as one that is so much later. */
const halfLifeMs = 120 * dayMs;

/** The difference of two amounts by their mean, so that no single time decides. */
function offBy(told: number, came: number): number {
	return Math.abs(told - came) / ((told + came) / 2);
}

/** Where next to nothing is known, the bounds of 80 % are from 0.28 to 3.6 times what is told. */
const mostSpread = 1;

/**
 * The standard deviation of the log of what new subscriptions bring, as chance makes it.
 * @param values what the latest ones would have brought
 */
export function spreadOf(
	{ countIn, varianceIn, overdispersion }: ExpectedArrivals,
	days: number,
	values: readonly number[],
): number {
	const sum = sumOf(values, (value) => value);
	/** By how much more sums of values vary than counts. */
	const dispersion = sum > 0 ? (values.length * sumOf(values, (value) => value ** 2)) / sum ** 2 : 1;
	const variance =
		(overdispersion * dispersion) / Math.max(1, countIn(days)) +
		varianceIn(days) +
		(dispersion - 1) / Math.max(1, values.length);
	return Math.min(mostSpread, Math.sqrt(variance));
}
