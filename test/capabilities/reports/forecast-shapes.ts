import { forecast } from '../../../src/capabilities/reports/forecast.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { seededRandom } from '../../../src/kit/random.ts';
import { poisson } from '../../../src/kit/reports/simulated.ts';
import { beginMs, type Plan, type Simulated, simulate, type Trouble, trouble } from './simulated-business.ts';

/** Twelve shapes of business whose future is known, and two simple forecasts to be measured against. */

interface Shape {
	readonly name: string;
	readonly plans: readonly Plan[];
	readonly trouble?: Partial<Trouble>;
	/** How many begin on a day. */
	readonly arrivals: (day: number, account: Account) => number;
	/** On which days forecasts are made. */
	readonly cuts: (account: Account) => readonly number[];
	readonly horizons: readonly number[];
	/** The first day of business. */
	readonly firstDay?: (account: Account) => number;
}

/** What differs between accounts of one shape. */
interface Account {
	readonly size: number;
	/** From 0 to 1. */
	readonly phase: number;
	readonly bursts: ReadonlyMap<number, number>;
}

const monthly = (churn: number, share = 1): Plan => ({
	name: 'monthly',
	months: 1,
	pence: 499,
	share,
	churn: { all: churn },
});
const annual = (churn: number, share: number): Plan => ({
	name: 'annual',
	months: 12,
	pence: 4990,
	share,
	churn: { all: churn },
});
const weekly: Plan = { name: 'weekly', months: 0, weeks: 1, pence: 150, share: 1, churn: { all: 0.06 } };

const lastDay = 860;
const usualCuts = ({ phase }: Account) => [0, 1, 2].map((each) => Math.round(480 + 100 * each + 60 * phase));
const steady = (_: number, { size }: Account) => size;
const both = [30, 90];
/** The second 1 December. */
const december = Math.round((Date.UTC(2025, 11, 1) - beginMs) / dayMs);

export const shapes: readonly Shape[] = [
	{ name: 'flat monthly', plans: [monthly(0.08)], arrivals: steady, cuts: usualCuts, horizons: both },
	{
		name: 'flat with annual',
		plans: [monthly(0.1, 0.7), annual(0.35, 0.3)],
		arrivals: steady,
		cuts: usualCuts,
		horizons: both,
	},
	{
		name: 'weekly',
		plans: [weekly],
		arrivals: steady,
		cuts: usualCuts,
		horizons: both,
	},
	{
		name: 'monthly with dunning',
		plans: [monthly(0.08)],
		trouble: { late: 0.15, lateDays: 12 },
		arrivals: steady,
		cuts: usualCuts,
		horizons: both,
	},
	{
		name: 'growing',
		plans: [monthly(0.08)],
		arrivals: (day, { size }) => 0.6 * size * Math.exp((0.06 * day) / 30),
		cuts: usualCuts,
		horizons: both,
	},
	{
		name: 'seasonal',
		plans: [monthly(0.12)],
		arrivals: (day, { size, phase }) => size * (1 + 0.6 * Math.sin(2 * Math.PI * (day / 365.25 + phase))),
		cuts: usualCuts,
		horizons: both,
	},
	{
		name: 'dying',
		plans: [monthly(0.12)],
		arrivals: (day, { size }) => 4 * size * Math.exp((-0.12 * day) / 30),
		cuts: usualCuts,
		horizons: both,
	},
	{
		name: 'campaign over',
		plans: [monthly(0.15)],
		arrivals: (day, { size, phase }) => {
			const end = 480 + 60 * phase;
			return size * (day > end - 45 && day <= end ? 6 : 1);
		},
		cuts: ({ phase }) => [5, 15, 25].map((after) => Math.round(480 + 60 * phase + after)),
		horizons: both,
	},
	{
		name: 'three weeks old',
		plans: [monthly(0.1)],
		arrivals: steady,
		firstDay: () => 600,
		cuts: () => [621],
		horizons: [28],
	},
	{
		name: 'price rise',
		plans: [monthly(0.08)],
		trouble: { riseDay: 470, rise: 0.3 },
		arrivals: steady,
		cuts: usualCuts,
		horizons: both,
	},
	{
		name: 'lumpy',
		plans: [monthly(0.1)],
		arrivals: (day, { size, bursts }) => 0.3 * size + size * (bursts.get(day) ?? 0),
		cuts: usualCuts,
		horizons: both,
	},
	{
		name: 'Christmas',
		plans: [monthly(0.12)],
		arrivals: (day, { size }) => {
			const ofYear = (((day - december) % 365) + 365) % 365;
			return size * (ofYear < 31 ? 5 : 1);
		},
		cuts: () => [december - 45, december, december + 45],
		horizons: both,
	},
];

const quiet: Trouble = { ...trouble, late: 0, missing: 0, early: 0, pause: 0, refund: 0.02, rise: 0 };

export interface Business {
	readonly shape: Shape;
	readonly simulated: readonly Simulated[];
	/** On which days forecasts are made. */
	readonly cuts: readonly number[];
}

export function businessOf(shape: Shape, seed: number): Business {
	const random = seededRandom(Math.imul(seed, 0x9e3779b1) + shapes.indexOf(shape));
	const bursts = new Map(
		Array.from({ length: 60 }, () => [Math.floor(random() * lastDay), 3 + 12 * random()] as const),
	);
	const account = { size: 2 + 6 * random(), phase: random(), bursts };
	const days: number[] = [];
	for (let day = shape.firstDay?.(account) ?? 0; day < lastDay; day++) {
		const begin = poisson(shape.arrivals(day, account), random);
		for (let one = 0; one < begin; one++) days.push(day + random());
	}
	const simulated = simulate(
		shape.plans,
		{ ...quiet, ...shape.trouble },
		{
			subscriptions: days.length,
			days: lastDay,
			random,
			dayOf: (number) => days[number] as number,
		},
	);
	return { shape, simulated, cuts: shape.cuts(account) };
}

export interface Amounts {
	readonly net: number;
	readonly present: number;
}

/** What came from a day on, for so many days. */
export function cameFrom({ simulated }: Business, day: number, days: number): Amounts {
	const [fromMs, toMs] = [beginMs + day * dayMs, beginMs + (day + days) * dayMs];
	let [net, present] = [0, 0];
	for (const { subscription } of simulated) {
		const isPresent = (subscription.acquisition?.atMs ?? 0) < fromMs;
		for (const { kind, atMs, revenuePence } of subscription.steps) {
			if (atMs < fromMs || atMs >= toMs) continue;
			net += revenuePence;
			if (kind === 'renewal' && isPresent) present += revenuePence;
		}
	}
	return { net, present };
}

/**
 * Each due date that comes × the share of those so far that were renewed, with new ones as many a day as in the last 28. It knows the
 * plans, which the product must find out.
 */
export function byDues({ simulated }: Business, day: number, days: number): Amounts {
	const atMs = beginMs + day * dayMs;
	const cadence = ({ months, weeks = 0 }: Plan) => weeks * 7 + (months * 365.25) / 12;
	const counts = new Map<string, { due: number; renewed: number }>();
	for (const { plan, dues } of simulated) {
		const count = counts.getOrInsertComputed(plan.name, () => ({ due: 0, renewed: 0 }));
		for (const due of dues)
			if (due.atMs < atMs - 20 * dayMs) {
				count.due++;
				if (due.isRenewed) count.renewed++;
			}
	}
	const rateOf = (plan: Plan) => {
		const { due, renewed } = counts.get(plan.name) as { due: number; renewed: number };
		return due > 0 ? renewed / due : 1;
	};
	let [present, refunds, paid] = [0, 0, 0];
	let [acquired, ofNew] = [0, 0];
	for (const { plan, subscription } of simulated) {
		const known = subscription.steps.filter((step) => step.atMs < atMs);
		if (known.length === 0) continue;
		for (const { revenuePence } of known) {
			if (revenuePence < 0) refunds -= revenuePence;
			else paid += revenuePence;
		}
		const last = known.filter(({ kind }) => kind !== 'refund').at(-1);
		if (!last) continue;
		const isRefunded = known.at(-1)?.kind === 'refund';
		let chance = isRefunded ? 0 : rateOf(plan);
		const ageDays = (atMs - last.atMs) / dayMs;
		if (ageDays < cadence(plan))
			for (let due = cadence(plan) - ageDays; due < days; due += cadence(plan)) {
				present += chance * last.revenuePence;
				chance *= rateOf(plan);
			}
		const first = known[0];
		if (first && first.atMs > atMs - 28 * dayMs) {
			const each = days / 28;
			acquired += each * first.revenuePence;
			// Spread evenly over the days.
			for (let due = cadence(plan), of = rateOf(plan); due < days; due += cadence(plan), of *= rateOf(plan))
				ofNew += each * ((days - due) / days) * of * first.revenuePence;
		}
	}
	return { present, net: (present + acquired + ofNew) * (1 - refunds / Math.max(1, paid)) };
}

export interface Told extends Amounts {
	readonly low: number;
	readonly high: number;
	readonly presentLow: number;
	readonly presentHigh: number;
	/** What new business was told by. */
	readonly by?: string;
}

/** What was told of some days, by the product and simple methods, and what came. */
export interface Made {
	readonly shape: string;
	readonly days: number;
	readonly told: Told;
	readonly came: Amounts;
	readonly last: number;
	readonly dues: Amounts;
}

/** Forecasts of an account of each shape. @param forecast asked of the events before a moment */
export function madeOf(
	seed: number,
	forecast: (simulated: readonly Simulated[], atMs: number, days: number) => Told,
	of: readonly Shape[] = shapes,
): Made[] {
	return of.flatMap((shape) => {
		const business = businessOf(shape, seed);
		return business.cuts.flatMap((day) => {
			const atMs = beginMs + day * dayMs;
			const known = business.simulated.flatMap((one) => {
				const steps = one.subscription.steps.filter((step) => step.atMs < atMs);
				return steps.length > 0 ? [{ ...one, subscription: { ...one.subscription, steps } }] : [];
			});
			return shape.horizons.map((days) => ({
				shape: shape.name,
				days,
				told: forecast(known, atMs, days),
				came: cameFrom(business, day, days),
				last: cameFrom(business, day - days, days).net,
				dues: byDues(business, day, days),
			}));
		});
	});
}

export interface Judged {
	readonly shape: string;
	readonly days: number;
	readonly forecasts: number;
	/** Share of what came that lies in the bounds of 80 %. */
	readonly inBounds: number;
	readonly presentInBounds: number;
	/** Mean of told ÷ came − 1. */
	readonly bias: number;
	/** Mean absolute errors of the net, as shares of what came; of simple methods with the standard error of the difference. */
	readonly error: number;
	readonly byLast: number;
	readonly byLastNoise: number;
	readonly byDues: number;
	readonly byDuesNoise: number;
	readonly presentError: number;
	readonly presentByDues: number;
	readonly by: string;
}

/** By shape and days. */
export function judge(made: readonly Made[]): Judged[] {
	return [...Map.groupBy(made, ({ shape, days }) => `${shape}, ${days}`).values()].map(judgedOf);
}

function judgedOf(made: readonly Made[]): Judged {
	const mean = (of: (one: Made) => number) => made.reduce((sum, one) => sum + of(one), 0) / made.length;
	const off = (told: number, came: number) => Math.abs(told / came - 1);
	const error = ({ told, came }: Made) => off(told.net, came.net);
	const byLast = ({ last, came }: Made) => off(last, came.net);
	const dues = ({ dues: by, came }: Made) => off(by.net, came.net);
	const noise = (simple: (one: Made) => number) => {
		const middle = mean((one) => error(one) - simple(one));
		return Math.sqrt(mean((one) => (error(one) - simple(one) - middle) ** 2) / made.length);
	};
	const { shape, days } = made[0] as Made;
	const by = Map.groupBy(made, ({ told }) => told.by ?? '');
	return {
		shape,
		days,
		forecasts: made.length,
		inBounds: mean(({ told, came }) => Number(told.low <= came.net && came.net <= told.high)),
		presentInBounds: mean(({ told, came }) =>
			Number(told.presentLow <= came.present && came.present <= told.presentHigh),
		),
		bias: mean(({ told, came }) => told.net / came.net - 1),
		error: mean(error),
		byLast: mean(byLast),
		byLastNoise: noise(byLast),
		byDues: mean(dues),
		byDuesNoise: noise(dues),
		presentError: mean(({ told, came }) => off(told.present, came.present)),
		presentByDues: mean(({ dues: told, came }) => off(told.present, came.present)),
		by: [...by].map(([name, own]) => `${name} ${own.length}`).join(', '),
	};
}

/** Of what came, bounds of 80 % hold so much. */
const [leastInBounds, mostInBounds] = [0.76, 0.84];
/** What chance brings about less often than this is none. */
const [unlikely, unlikelyDeviations] = [0.01, 2.33];

/**
 * Where forecasts are not as good as they must be: bounds of 80 % hold 76 to 84 % of what comes, where there is a past to learn from;
 * and no simple method is nearer. What so few forecasts cannot tell from that is not found.
 */
export function shortcomingsOf(judged: readonly Judged[]): string[] {
	return judged.flatMap(({ shape, days, forecasts, inBounds, error, ...by }) => {
		const found: string[] = [];
		const told = `${shape}, ${days} days`;
		const held = Math.round(inBounds * forecasts);
		const isYoung = shape === 'three weeks old';
		const isFew = atMost(held, forecasts, leastInBounds) < unlikely;
		const isMany = atMost(forecasts - held, forecasts, 1 - mostInBounds) < unlikely;
		if (!isYoung && (isFew || isMany)) found.push(`${told}: ${held} of ${forecasts} in the bounds of 80 %`);
		if (error - by.byLast > unlikelyDeviations * by.byLastNoise)
			found.push(`${told}: as much as the last period is nearer`);
		if (error - by.byDues > unlikelyDeviations * by.byDuesNoise)
			found.push(`${told}: due dates × rates so far are nearer`);
		return found;
	});
}

/** How likely it is that at most so many of some happen, each with a chance (binomial distribution). */
function atMost(count: number, of: number, chance: number): number {
	let [sum, each] = [0, (1 - chance) ** of];
	for (let happened = 0; happened <= count; happened++) {
		sum += each;
		each *= ((of - happened) / (happened + 1)) * (chance / (1 - chance));
	}
	return sum;
}

/** What the product tells. */
export function toldBy(simulated: readonly Simulated[], atMs: number, days: number): Told {
	const { parts, newBusiness } = forecast(simulated, atMs, days);
	const { net, 'renewals of present': present } = parts;
	return {
		net: net.pence,
		low: net.lowPence,
		high: net.highPence,
		present: present.pence,
		presentLow: present.lowPence,
		presentHigh: present.highPence,
		by: newBusiness.method,
	};
}

/** In per cent, for people. */
export function judgedTable(judged: readonly Judged[]) {
	const inPercent = (share: number) => Number((100 * share).toFixed(1));
	return judged.map(({ shape, days, forecasts, by, ...shares }) => ({
		shape,
		days,
		forecasts,
		...Object.fromEntries(Object.entries(shares).map(([name, share]) => [name, inPercent(share)])),
		by,
	}));
}
