import { dayMs } from '../durations.ts';
import { rounded } from './journey.ts';

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

	/** As many a day as in the latest four weeks, or since the first. @param ago as of so many days ago */
	lately(days: number, ago = 0): number {
		const known = Math.max(1, Math.min(latelyDays, this.days - ago));
		return (this.between(ago, ago + latelyDays) / known) * days;
	}

	/**
	 * As many a day as in the longest latest time that is like the weeks in it, with the season of a year ago, or else the trend of
	 * half a year, as far as chance does not explain them.
	 * @param ago as of so many days ago
	 */
	expected(days: number, ago = 0): { readonly count: number; readonly spread: number } {
		const known = this.days - ago;
		const overdispersion = this.#overdispersion(ago);
		const span = this.#levelDays(ago, overdispersion);
		const count = this.between(ago, ago + span);
		const level = count / Math.max(1, Math.min(span, known));
		const [season, weight] = this.#season(days, ago, { span, overdispersion });
		const slope = this.#trend(ago, overdispersion);
		const ahead = dampedDays * (1 - Math.exp(-days / 2 / dampedDays));
		const trend = Math.max(-mostTrend, Math.min(mostTrend, slope * (span / 2 + ahead)));
		const change = weight * season + (1 - weight) * trend;
		const expected = level * days * Math.exp(change);
		const variance =
			overdispersion * (1 / Math.max(1, expected) + 1 / Math.max(1, count)) +
			(weight * (1 - weight) * season) ** 2;
		return { count: expected, spread: Math.sqrt(variance) };
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
		const sum = usual.reduce((total, ratio) => total + ratio, 0);
		// One more, as if by chance.
		return Math.max(1, (sum + usualMean) / (usual.length + 1) / usualMean);
	}

	/** Over how many days the level is taken: as long as the time before is alike. */
	#levelDays(ago: number, overdispersion: number): number {
		const known = this.days - ago;
		let span = 3;
		while (span < longestLevelDays) {
			const longer = Math.min(span === 3 ? 7 : 2 * span, Math.floor(known));
			if (longer <= span) break;
			const [young, old] = [this.between(ago, ago + span), this.between(ago + span, ago + longer)];
			const rate = (young + old) / longer;
			const error = Math.sqrt(overdispersion * rate * (1 / span + 1 / (longer - span)));
			if (Math.abs(young / span - old / (longer - span)) > unlike * error) break;
			span = longer;
		}
		return span;
	}

	/** The log of the ratio of a year ago, and how sure it is, from 0 to 1. */
	#season(
		days: number,
		ago: number,
		{ span, overdispersion }: { readonly span: number; readonly overdispersion: number },
	): readonly [season: number, weight: number] {
		const from = ago + yearDays;
		const before = Math.min(span, Math.floor(this.days) - from);
		if (days > yearDays || before < 7) return [0, 0];
		const [after, earlier] = [this.between(from - days, from) + 0.5, this.between(from, from + before) + 0.5];
		const season = Math.log(after / days / (earlier / before));
		const variance = overdispersion * (1 / after + 1 / earlier);
		return [season, Math.max(0, 1 - (2 * variance) / Math.max(season ** 2, 1e-9))];
	}

	/** By which share more or fewer come each day, over half a year: the slope of a log-linear Poisson regression, less what chance explains. */
	#trend(ago: number, overdispersion: number): number {
		const weeks = Math.min(26, Math.floor((this.days - ago) / 7));
		if (weeks < 6) return 0;
		const counts = Array.from({ length: weeks }, (_, week) =>
			this.between(ago + 7 * week, ago + 7 * week + 7),
		);
		const mean = counts.reduce((sum, count) => sum + count, 0) / weeks;
		if (mean < 1) return 0;
		const middle = (weeks - 1) / 2;
		let [level, slope] = [Math.log(mean), 0];
		let slopeVariance = 0;
		for (let step = 0; step < 25; step++) {
			let [g0, g1, h00, h01, h11] = [0, 0, 0, 0, 0];
			for (const [week, count] of counts.entries()) {
				const x = middle - week;
				const fitted = Math.exp(level + slope * x);
				g0 += count - fitted;
				g1 += x * (count - fitted);
				h00 += fitted;
				h01 += x * fitted;
				h11 += x * x * fitted;
			}
			const determinant = h00 * h11 - h01 * h01;
			if (!(determinant > 1e-9)) return 0;
			level += Math.max(-1, Math.min(1, (h11 * g0 - h01 * g1) / determinant));
			slope += Math.max(-1, Math.min(1, (h00 * g1 - h01 * g0) / determinant));
			slopeVariance = h00 / determinant;
		}
		const misfit = counts.reduce((sum, count, week) => {
			const fitted = Math.exp(level + slope * (middle - week));
			return sum + (count - fitted) ** 2 / fitted;
		}, 0);
		// What went up or down at once does not go on doing so.
		if (misfit - misfitOfStep(counts) > overdispersion * clearlyBetter) return 0;
		const variance = slopeVariance * Math.max(overdispersion, misfit / (weeks - 2));
		return (slope / 7) * Math.max(0, 1 - (2 * variance) / Math.max(slope ** 2, 1e-12));
	}
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
const latelyDays = 28;
/** A whole number of weeks. */
const yearDays = 364;
const longestLevelDays = 448;
/** Standard errors by which times differ that are not alike. */
const unlike = 3;
/** Of the squared differences of weeks, this share is usual. By chance their mean is so high, that of all being 1. */
const [usualShare, usualMean] = [0.9, 0.623];
/** By how much of chi-squared a step must fit better than a trend. */
const clearlyBetter = 4;
/** The largest change by a trend, in log. */
const mostTrend = 0.5;
/** How long a trend goes on. */
const dampedDays = 120;

/** What subscriptions that begin in some days bring in these days. */
export interface NewPence {
	readonly acquisitions: number;
	readonly renewals: number;
}

/** What new business is told by. */
export const newBusinessMethods = ['model', 'lastPeriod', 'dues'] as const;
export type NewBusinessMethod = (typeof newBusinessMethods)[number];

/** What the methods said of a time that is over, and what came. */
export interface BackTest extends Readonly<Record<NewBusinessMethod, number>> {
	readonly came: number;
}

export interface NewBusinessChoice {
	readonly method: NewBusinessMethod;
	readonly backTests: number;
	/** Sums of absolute errors by what came. Null without a back-test. */
	readonly errors: Readonly<Record<NewBusinessMethod, number>> | null;
}

/** The model, if it was nearer to what came than both simple methods; else the better of these. */
export function chosenBy(backTests: readonly BackTest[]): NewBusinessChoice {
	const came = backTests.reduce((sum, one) => sum + one.came, 0);
	if (came <= 0) return { method: 'model', backTests: 0, errors: null };
	const errorOf = (method: NewBusinessMethod) =>
		rounded(backTests.reduce((sum, one) => sum + Math.abs(one[method] - one.came), 0) / came, 4);
	const errors = { model: errorOf('model'), lastPeriod: errorOf('lastPeriod'), dues: errorOf('dues') };
	const simple = errors.dues <= errors.lastPeriod ? 'dues' : 'lastPeriod';
	return { method: errors.model < errors[simple] ? 'model' : simple, backTests: backTests.length, errors };
}

/** As what one back-test counts what the model says of its own spread. */
const assumedBackTests = 4;
const mostLog = 1.5;

/**
 * The standard deviation of the log of what comes by what was told: what chance and the model say, and how far it was off.
 * @param independent as how many back-tests that do not overlap these count
 */
export function spreadOf(
	backTests: readonly BackTest[],
	{ method, assumed, independent }: { method: NewBusinessMethod; assumed: number; independent: number },
): number {
	const squares = backTests.map((one) => {
		const log = Math.log((one.came + 1) / (one[method] + 1));
		return Math.max(-mostLog, Math.min(mostLog, log)) ** 2;
	});
	const mean = squares.reduce((sum, square) => sum + square, 0) / Math.max(1, squares.length);
	return Math.sqrt((assumedBackTests * assumed ** 2 + independent * mean) / (assumedBackTests + independent));
}
