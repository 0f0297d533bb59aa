import { dayMs, hourMs } from '../../src/core/durations.ts';
import { logistic } from '../../src/core/scoring/model/log-odds.ts';
import { seededRandom } from '../../src/kit/random.ts';
import type { PlainVisitor } from './plain-visitors.ts';

const startMs = Date.UTC(2024, 11, 1);

/** A kind of generated history, and the goal to predict on it. */
export interface KindOfHistory {
	readonly name: string;
	/** When visitors are scored: all at a cut, or after each hit. */
	readonly at: 'cut' | 'hit';
	readonly horizonDays: number;
	readonly evts: readonly string[];
	readonly visitors: (seed: number) => PlainVisitor[];
}

interface Random {
	readonly uniform: () => number;
	readonly exponential: (mean: number) => number;
	/** Standard normal distribution. */
	readonly normal: () => number;
}

function randomOf(seed: number): Random {
	const uniform = seededRandom(Math.imul(seed, 0x9e3779b1));
	return {
		uniform,
		exponential: (mean) => -Math.log(1 - uniform()) * mean,
		normal: () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()),
	};
}

/** Draws an item from 0 on. Item n has a frequency proportional to 1 / (n + 1). */
function zipf(random: Random, items: number): number {
	return Math.floor((items + 1) ** random.uniform()) - 1;
}

/**
 * Two years of a shop whose customers order repeatedly until they leave. Most join early, and fewer and fewer later. The
 * season is autumn. So the conversion rate of the next 90 days falls and rises again.
 */
function customersOfAShop(seed: number): PlainVisitor[] {
	const random = randomOf(seed);
	const days = 730;
	const season = (day: number) => 1 + 0.5 * Math.cos((2 * Math.PI * (day - 345)) / 365);
	return Array.from({ length: 1500 }, (): PlainVisitor => {
		const joins = days * random.uniform() ** 1.7;
		const pace = 60 * Math.exp(0.9 * random.normal());
		const lifeDays = random.exponential(400);
		const pence = 20_000 * Math.exp(0.8 * random.normal());
		const hits: PlainVisitor['hits'][number][] = [];
		const sales: NonNullable<PlainVisitor['sales']>[number][] = [];
		let visit = 0;
		for (let day = joins; day < Math.min(days, joins + lifeDays); day += random.exponential(pace / 1.5)) {
			if (visit > 0 && random.uniform() * 1.5 > season(day)) continue;
			const atMs = startMs + Math.floor(day) * dayMs + Math.floor((8 + 10 * random.uniform()) * hourMs);
			hits.push({ atMs, visit: visit++, page: `c${zipf(random, 40)}`, channel: 'direct' });
			sales.push({ atMs, evt: 'order', pence: Math.round(pence * Math.exp(0.5 * random.normal())) });
		}
		return { hits, sales };
	}).filter(({ hits }) => hits.length > 0);
}

const origins = [
	['organic', 0.29, 0.1],
	['paid', 0.2, 0.15],
	['social', 0.17, -0.7],
	['unknown', 0.14, 0.4],
	['direct', 0.06, 0.1],
	['email', 0.06, -1.2],
	['referral', 0.04, -0.3],
	['display', 0.04, -0.8],
] as const;

/** The total share of the origins up to an index. */
function shareUpTo(index: number): number {
	return origins.slice(0, index + 1).reduce((sum, [, share]) => sum + share, 0);
}

/** Leads with one visit each, at midnight of its day. In the first half nearly none is won; then the rate rises. */
function leads(seed: number): PlainVisitor[] {
	const random = randomOf(seed);
	const days = 350;
	const pageEffects = Array.from({ length: 400 }, () => 0.7 * random.normal());
	return Array.from({ length: 5000 }, (): PlainVisitor => {
		const day = Math.floor(days * random.uniform() ** 0.6);
		const position = random.uniform();
		const origin = origins.find((_, index) => position < shareUpTo(index)) ?? origins[0];
		const page = zipf(random, 400);
		const atMs = startMs + day * dayMs;
		const level = day < 150 ? -4.5 : day < 190 ? -4.5 + (day - 150) / 16 : -2;
		const wins = random.uniform() < logistic(level + origin[2] + (pageEffects[page] as number));
		const wonMs = atMs + Math.floor(random.exponential(22) * dayMs);
		return {
			hits: [{ atMs, visit: 0, page: `lp-${page}`, channel: origin[0] }],
			sales: wins && wonMs < startMs + days * dayMs ? [{ atMs: wonMs, evt: 'won', pence: 0 }] : [],
		};
	});
}

/** Page events of 800 shoppers over two months. Half of them buy, a fifth within a day of a hit. */
function shoppers(seed: number): PlainVisitor[] {
	const random = randomOf(seed);
	const days = 60;
	return Array.from({ length: 800 }, (): PlainVisitor => {
		const hits: PlainVisitor['hits'][number][] = [];
		const keenness = random.normal();
		const paceDays = 6 * Math.exp(0.7 * random.normal());
		let visit = 0;
		for (let day = days * random.uniform(); day < days; day += 0.05 + random.exponential(paceDays)) {
			let atMs = startMs + Math.floor(day * dayMs);
			let inCart = false;
			for (let more = true; more; more = random.uniform() < 0.8) {
				const inMood = random.uniform() < logistic(-1.5 + 0.5 * keenness);
				const events: string[] = [];
				if (inMood) events.push('cart');
				else if (inCart && random.uniform() < 0.15) events.push('purchase');
				inCart ||= inMood;
				const page = events[0] ?? (random.uniform() < 0.5 ? 'product' : 'list');
				hits.push({ atMs, visit, page, channel: 'direct', events });
				atMs += 5000 + Math.floor(random.exponential(90_000));
			}
			visit++;
		}
		return { hits };
	}).filter(({ hits }) => hits.length > 0);
}

/**
 * Visitors whose interest awakens for some days and passes again. They come often meanwhile, look at more pages from visit to visit, and
 * only then buy. So what was done lately tells more than all that was ever done.
 */
function browsersInBursts(seed: number): PlainVisitor[] {
	const random = randomOf(seed);
	const days = 240;
	return Array.from({ length: 2000 }, (): PlainVisitor => {
		const hits: PlainVisitor['hits'][number][] = [];
		const sales: NonNullable<PlainVisitor['sales']>[number][] = [];
		const idlePace = 25 * Math.exp(0.6 * random.normal());
		const keenness = 0.6 * random.normal();
		let visit = 0;
		let interestedUntil = 0;
		for (let day = days * random.uniform(); day < days; ) {
			if (day >= interestedUntil && random.uniform() < 0.12) interestedUntil = day + random.exponential(12);
			const isInterested = day < interestedUntil;
			let atMs = startMs + Math.floor(day * dayMs);
			const pages = 1 + Math.floor(random.exponential(isInterested ? 5 : 1.5));
			for (let page = 0; page < pages; page++) {
				hits.push({ atMs, visit, page: `p${zipf(random, 60)}`, channel: 'direct' });
				atMs += 5000 + Math.floor(random.exponential(60_000));
			}
			visit++;
			if (isInterested && random.uniform() < logistic(-2 + keenness)) {
				sales.push({ atMs, evt: 'order', pence: 3000 });
				interestedUntil = day;
			}
			day += 0.1 + random.exponential(isInterested ? 2 : idlePace);
		}
		return { hits, sales };
	}).filter(({ hits }) => hits.length > 0);
}

export const kindsOfHistory: readonly KindOfHistory[] = [
	{ name: 'customers, 90 days', at: 'cut', horizonDays: 90, evts: ['order'], visitors: customersOfAShop },
	{ name: 'leads, 30 days', at: 'hit', horizonDays: 30, evts: ['won'], visitors: leads },
	{ name: 'browsers, 14 days', at: 'hit', horizonDays: 14, evts: ['order'], visitors: browsersInBursts },
	{
		name: 'browsers at cuts, 14 days',
		at: 'cut',
		horizonDays: 14,
		evts: ['order'],
		visitors: browsersInBursts,
	},
	{ name: 'shoppers, 1 day', at: 'hit', horizonDays: 1, evts: ['purchase'], visitors: shoppers },
];
