import type { SubscriptionStep } from '../domain/subscription.ts';
import { dayMs } from '../durations.ts';
import { seededRandom } from '../scoring/rows/random.ts';
import { reportThat } from './report.ts';
import { bars } from './report-drawing.ts';
import { withColumns } from './report-table.ts';
import { boundsOf, normal } from './simulated.ts';

/** What was paid for a subscription, in order of time. */
export interface PaidSubscription {
	readonly steps: readonly Pick<SubscriptionStep, 'kind' | 'atMs' | 'revenuePence'>[];
}

const parts = ['acquisitions', 'renewals of new', 'renewals of present', 'refunds', 'net'] as const;
type Part = (typeof parts)[number];

/** An amount, with the bounds that four of five simulated futures keep. */
interface Expected {
	readonly pence: number;
	readonly lowPence: number;
	readonly highPence: number;
}

const simulations = 1000;
/** Ages are counted in weeks since the acquisition. */
const ageDays = 7;
/** The time whose acquisitions say how many there will be. */
const arrivalDays = 28;
/** A year earlier, this many acquisitions tell a season. */
const minSeason = 100;
/** How many days a level is compared over, and what is assumed of it before any is known, with the weight of so many. */
const levelDays = 28;
const [assumedLevel, assumedWeight] = [0.25, 3];
/** The curve's level, slope and bend were fitted to the same months. */
const fitted = 3;
const bendsDays = [7, 14, 30, 60, 120];

/** What is known of subscriptions as of a moment, in days of age and pence. */
interface Known {
	/** In days before the moment. */
	readonly ages: readonly number[];
	/** Later payments: the age of the subscription, how many days before the moment, and the pence. */
	readonly later: readonly { readonly age: number; readonly ago: number; readonly pence: number }[];
	readonly firstPence: number;
	readonly refundShare: number;
}

/**
 * What the next days will bring, as of a moment; of what happened then and later, nothing is used. New subscriptions come at the rate
 * of the last four weeks, with the season of a year ago where that is known. Renewals by the age of a subscription follow
 * a curve that falls like a power of its age, as rates of repeat buying do (Fader and Hardie 2005), fitted by Poisson
 * regression and corrected at each age by what was paid at it. Bounds are those of simulated futures: the number of arrivals, the sum
 * of random payments, and a level that moves as much as it did from month to month. The same input gives the same result.
 * @param days how many
 */
export function forecast(
	subscriptions: readonly PaidSubscription[],
	asOfMs: number,
	days: number,
): Record<Part, Expected> {
	const known = knownAt(subscriptions, asOfMs);
	const rateAt = renewalRates(known);
	const [arrivals, spread] = arrivalsIn(known.ages, days);
	/** What a subscription pays from one age on for some days. */
	const lasting = new Float64Array(Math.ceil(Math.max(0, ...known.ages)) + days + 2);
	for (let day = 1; day < lasting.length; day++)
		lasting[day] = (lasting[day - 1] as number) + rateAt(day - 0.5);
	const paidFrom = (age: number) => {
		const from = Math.floor(age);
		return (lasting[from + days] as number) - (lasting[from] as number);
	};
	const present = known.ages.reduce((sum, age) => sum + paidFrom(age), 0);
	let ofOne = 0;
	for (let day = 0; day < days; day++) ofOne += (lasting[days - day] as number) / days;
	const level = levelSpread(known, rateAt);
	const squares = known.later.reduce((sum, { pence }) => sum + pence ** 2, 0);
	const pences = known.later.reduce((sum, { pence }) => sum + pence, 0);
	/** Of the variance of a sum of random payments: their mean square by their mean. */
	const grain = pences > 0 ? squares / pences : 0;
	const random = seededRandom(1);
	const partsOf = (count: number, moved: number, ofNew: number, ofPresent: number): Record<Part, number> => {
		const acquisitions = count * known.firstPence;
		const [renewalsOfNew, renewalsOfPresent] = [ofNew * moved, ofPresent * moved];
		const refunds = -known.refundShare * (acquisitions + renewalsOfNew + renewalsOfPresent);
		return {
			acquisitions,
			'renewals of new': renewalsOfNew,
			'renewals of present': renewalsOfPresent,
			refunds,
			net: acquisitions + renewalsOfNew + renewalsOfPresent + refunds,
		};
	};
	const paid = (mean: number) => Math.max(0, mean + Math.sqrt(Math.max(0, mean) * grain) * normal(random));
	const middle = partsOf(arrivals, 1, arrivals * ofOne, present);
	const futures = Array.from({ length: simulations }, () => {
		const count = Math.max(0, arrivals + spread * normal(random));
		return partsOf(count, Math.exp(level * normal(random)), paid(count * ofOne), paid(present));
	});
	return Object.fromEntries(
		parts.map((part) => {
			const [low, high] = boundsOf(
				futures.map((future) => future[part]),
				0.1,
			);
			const [pence, lowPence, highPence] = [middle[part], low, high].map(Math.round);
			return [part, { pence, lowPence, highPence }];
		}),
	) as Record<Part, Expected>;
}

function knownAt(subscriptions: readonly PaidSubscription[], asOfMs: number): Known {
	const ages: number[] = [];
	const later: { age: number; ago: number; pence: number }[] = [];
	let [first, firsts, all, refunds] = [0, 0, 0, 0];
	for (const { steps } of subscriptions) {
		const acquired = steps.find(({ kind }) => kind === 'acquisition');
		if (!acquired || acquired.atMs >= asOfMs) continue;
		ages.push((asOfMs - acquired.atMs) / dayMs);
		for (const { kind, atMs, revenuePence: pence } of steps) {
			if (atMs >= asOfMs) continue;
			if (kind === 'refund') refunds -= pence;
			else all += pence;
			if (kind === 'acquisition') [first, firsts] = [first + pence, firsts + 1];
			if (kind === 'renewal')
				later.push({ age: (atMs - acquired.atMs) / dayMs, ago: (asOfMs - atMs) / dayMs, pence });
		}
	}
	return { ages, later, firstPence: first / Math.max(1, firsts), refundShare: all > 0 ? refunds / all : 0 };
}

/** How many subscriptions are to come, and how far that may be off: weeks differ more than by chance alone. */
function arrivalsIn(ages: readonly number[], days: number): [expected: number, spread: number] {
	const between = (from: number, to: number) => ages.filter((age) => age > from && age <= to).length;
	const lately = between(0, arrivalDays);
	const yearDays = 364;
	const before = between(yearDays, yearDays + arrivalDays);
	const after = between(yearDays - days, yearDays);
	const season = before >= minSeason && after >= minSeason ? (after / before) * (arrivalDays / days) : 1;
	const expected = (lately / arrivalDays) * days * season;
	const weeks = [0, 7, 14, 21].map((from) => between(from, from + 7));
	const mean = lately / weeks.length;
	const variance = weeks.reduce((sum, count) => sum + (count - mean) ** 2, 0) / (weeks.length - 1);
	const overdispersion = mean > 0 ? Math.max(1, variance / mean) : 1;
	return [expected, Math.sqrt(expected * overdispersion * (1 + days / arrivalDays))];
}

/** Pence per day by age in days. */
function renewalRates({ ages, later }: Known): (age: number) => number {
	const weeks = Math.ceil(Math.max(0, ...ages) / ageDays) + 1;
	const [paid, lived] = [new Float64Array(weeks), new Float64Array(weeks)];
	for (const { age, pence } of later) {
		const week = Math.min(weeks - 1, Math.floor(age / ageDays));
		paid[week] = (paid[week] as number) + pence;
	}
	for (const age of ages)
		for (let week = 0; week * ageDays < age; week++)
			lived[week] = (lived[week] as number) + Math.min(ageDays, age - week * ageDays);
	const total = paid.reduce((sum, pence) => sum + pence, 0);
	if (total === 0) return () => 0;
	const grain = total / later.length;
	const [best] = bendsDays
		.map((bend) => powerLaw(paid, lived, grain, bend))
		.sort((a, b) => b.likelihood - a.likelihood) as [PowerLaw];
	/** A curve counts as much as this many payments at each age. */
	const weight = 20 * grain;
	return (age) => {
		const expected = best.rateAt(age);
		const week = Math.floor(age / ageDays);
		const paidSoFar = paid[week] ?? 0;
		const expectedSoFar = (lived[week] ?? 0) * best.rateAt((week + 0.5) * ageDays);
		return (expected * (paidSoFar + weight)) / (expectedSoFar + weight);
	};
}

interface PowerLaw {
	readonly likelihood: number;
	readonly rateAt: (age: number) => number;
}

/** Poisson regression of payments on log(1 + age ÷ bend), by Newton's method. */
function powerLaw(paid: Float64Array, lived: Float64Array, grain: number, bend: number): PowerLaw {
	const at = Array.from(paid, (pence, week) => ({
		x: Math.log1p(((week + 0.5) * ageDays) / bend),
		count: pence / grain,
		lived: lived[week] as number,
	})).filter(({ lived: days }) => days > 0);
	const sum = (of: (one: (typeof at)[number]) => number) => at.reduce((all, one) => all + of(one), 0);
	let [level, slope] = [Math.log(sum(({ count }) => count) / sum((one) => one.lived)), 0];
	const mean = (one: { x: number; lived: number }) => one.lived * Math.exp(level + slope * one.x);
	for (let step = 0; step < 50; step++) {
		const [g0, g1] = [sum((one) => one.count - mean(one)), sum((one) => one.x * (one.count - mean(one)))];
		// A weak prior holds the slope where ages are alike.
		const [h00, h01, h11] = [
			sum(mean),
			sum((one) => one.x * mean(one)),
			sum((one) => one.x ** 2 * mean(one)) + 1,
		];
		const determinant = h00 * h11 - h01 * h01;
		if (!(determinant > 1e-9)) break;
		const gradient = g1 - slope;
		const moves = [(h11 * g0 - h01 * gradient) / determinant, (h00 * gradient - h01 * g0) / determinant];
		const [a, b] = moves.map((move) => Math.max(-1, Math.min(1, move))) as [number, number];
		level += a;
		slope += b;
		if (Math.abs(a) + Math.abs(b) < 1e-9) break;
	}
	const [finalLevel, finalSlope] = [level, slope];
	return {
		likelihood: sum((one) => one.count * Math.log(mean(one)) - mean(one)),
		rateAt: (age) => grain * Math.exp(finalLevel + finalSlope * Math.log1p(age / bend)),
	};
}

/** How far renewals were off from month to month, in log: the standard deviation, drawn to what is assumed while few are known. */
function levelSpread({ ages, later }: Known, rateAt: (age: number) => number): number {
	const oldest = Math.max(0, ...ages);
	let [squares, months] = [0, 0];
	for (let from = 0; from + levelDays <= oldest; from += levelDays) {
		const paid = later.reduce(
			(sum, { ago, pence }) => sum + (ago > from && ago <= from + levelDays ? pence : 0),
			0,
		);
		let expected = 0;
		for (const age of ages) {
			const [begin, end] = [Math.max(0, age - from - levelDays), age - from];
			if (end > begin) expected += (end - begin) * rateAt((begin + end) / 2);
		}
		if (!(paid > 0 && expected > 0)) continue;
		squares += Math.log(paid / expected) ** 2;
		months++;
	}
	return Math.sqrt(
		(assumedWeight * assumedLevel ** 2 + squares) / (assumedWeight + Math.max(0, months - fitted)),
	);
}

/** What has come since a moment, by parts of a forecast as of then. */
export function cameSince(
	subscriptions: readonly PaidSubscription[],
	fromMs: number,
	toMs: number,
): Record<Part, number> {
	const came = Object.fromEntries(parts.map((part) => [part, 0])) as Record<Part, number>;
	for (const { steps } of subscriptions) {
		const acquiredMs = steps.find(({ kind }) => kind === 'acquisition')?.atMs;
		if (acquiredMs === undefined) continue;
		const renewals = acquiredMs >= fromMs ? 'renewals of new' : 'renewals of present';
		const partOf = { acquisition: 'acquisitions', renewal: renewals, refund: 'refunds' } as const;
		for (const { kind, atMs, revenuePence } of steps) {
			if (atMs < fromMs || atMs >= toMs) continue;
			came[partOf[kind]] += revenuePence;
			came.net += revenuePence;
		}
	}
	return came;
}

export const forecastReport = reportThat({
	kind: 'forecast',
	title: 'Forecast',
	summary: 'what the next days will bring, and what of the last forecast came',
	definition:
		'What is to be paid in the next days (`expectedPence`): for new subscriptions, as many as come now, for their renewals, for renewals of the present ones by their age, less refunds; with the bounds that four of five simulated futures keep (`lowPence`, `highPence`). Beside it the forecast of as many days ago, from what was known then (`earlierPence` with its bounds), and what has come of it (`camePence`).',
	parameters: ['asOf', 'timezone', 'days', 'evt'],
	async make({ query, asOfMs, subscriptions: read }) {
		const { days } = query;
		const subscriptions = (await read()).map(({ subscription }) => subscription);
		const earlierMs = asOfMs - days * dayMs;
		const [next, earlier] = [forecast(subscriptions, asOfMs, days), forecast(subscriptions, earlierMs, days)];
		const came = cameSince(subscriptions, earlierMs, asOfMs);
		const rows = parts.map((part) => {
			const { pence: expectedPence, ...bounds } = next[part];
			const { pence: earlierPence, lowPence: earlierLowPence, highPence: earlierHighPence } = earlier[part];
			const before = { earlierPence, earlierLowPence, earlierHighPence, camePence: came[part] };
			return { part, expectedPence, ...bounds, ...before };
		});
		return { days, rows };
	},
	parts: ({ rows, days }) => [
		{
			title: `Expected in the next ${days} days, with bounds that hold four times of five`,
			rows: withColumns(rows, ['part', 'expectedPence', 'lowPence', 'highPence']),
		},
		{
			title: `What the forecast of ${days} days ago said, and what came`,
			rows: withColumns(rows, ['part', 'earlierPence', 'earlierLowPence', 'earlierHighPence', 'camePence']),
			columns: {
				earlierPence: { heading: 'expected' },
				earlierLowPence: { heading: 'low' },
				earlierHighPence: { heading: 'high' },
			},
		},
	],
	draw: ({ rows }, table, money) =>
		rows.length > 0 &&
		bars(table, 'expectedPence', { title: 'To be paid', money, bounds: ['lowPence', 'highPence'] }),
});
