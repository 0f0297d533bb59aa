import fc from 'fast-check';
import { dayMs, hourMs, minuteMs } from '../../src/core/durations.ts';

/** What a hit shows of who the visitor is; numbers stand for names. */
export interface Shown {
	readonly tid: number | null;
	readonly cid: number | null;
	/** What of it nothing proves. Nothing, where it is left out. */
	readonly isUnproven?: 'tid' | 'cid' | 'both' | null;
}

/** A subscription event. Those with a number have the `tid` that pages may show, the others one of their own. */
export interface Sale {
	readonly tid: number | null;
	readonly subid: number;
	readonly cid: number | null;
	readonly rvn: number;
	/** Whether it says that the subscription is cancelled. */
	readonly isGoodbye?: boolean;
}

/** One thing that happens, some time after the previous one. Nothing but numbers, so that a failure prints as a script. */
export type Happening = { readonly afterMs: number } & (
	| ({
			/** Somebody looks at pages. How they arrive decides what one transaction stores. */
			readonly does: 'browse';
			readonly who: number;
			readonly hits: number;
			readonly everyMs: number;
			readonly from: number;
			readonly arriving: 'one by one' | 'at once' | 'in one transaction';
			/** How far behind the clock is. */
			readonly behindMs: number;
			/** The visit that the page names: its own, none, or somebody else's. */
			readonly visit: 'own' | 'none' | 'stolen';
			/** In place of the cookie that the browser has, it has none from here on. */
			readonly isNew: boolean;
			/** It sends its seed while it has no cookie. A person has one seed. */
			readonly hasSeed: boolean;
	  } & Shown)
	| {
			/** Somebody turns out to be, in a new browser, whoever began a subscription, and perhaps earlier than anybody else. */
			readonly does: 'log in';
			readonly who: number;
			readonly hits: number;
			/** One of the events: its subscription. */
			readonly event: number;
			readonly by: 'tid' | 'cid';
			readonly isUnproven: boolean;
			readonly arriving: 'one by one' | 'in one transaction';
	  }
	| {
			readonly does: 'upload';
			readonly sales: readonly Sale[];
			/** How often the sales are repeated, as renewals with a `tid` of their own. */
			readonly times: number;
			readonly behindMs: number;
			readonly isSimulated: boolean;
	  }
	| {
			/** History of some visitors who only exist in files, or who are live, too. */
			readonly does: 'import';
			readonly visitors: readonly (Shown & {
				readonly who: number;
				readonly hits: number;
				readonly everyMs: number;
				readonly behindMs: number;
				/** Null: the file names no visit. */
				readonly visit: number | null;
				/** How they arrived. */
				readonly from?: number;
			})[];
			readonly sales: readonly (Sale & { readonly behindMs: number })[];
			/** Imported twice. */
			readonly isRepeated: boolean;
	  }
	| {
			/** Nearly too many have shown a key, and retention has deleted their hits. */
			readonly does: 'crowd';
			readonly key: string;
			/** How many more may show it. */
			readonly short: number;
	  }
	| { readonly does: 'erase'; readonly who: number }
	| { readonly does: 'erase customer'; readonly cid: number }
	| { readonly does: 'prune'; readonly behindMs: number; readonly keepsTouches: boolean }
	| { readonly does: 'fold'; readonly pieces: number }
);

export type History = readonly Happening[];

export const people = 4;
const tids = 3;
/** The last one of them is nobody's; a crowd may share the one before. */
const cids = 4;

/** Programs write this where they have none. */
export function customerOf(cid: number): string {
	return cid === cids - 1 ? ' Undefined ' : `C-${cid}`;
}
const subids = 2;
/** Some histories have enough subscriptions for shares of them. */
const manySubids = 20;
/** Live visitors, and those of files. */
export const everybody = people + 2;

const oneOf = <T>(...weighted: readonly (readonly [weight: number, arbitrary: fc.Arbitrary<T>])[]) =>
	fc.oneof(...weighted.map(([weight, arbitrary]) => ({ weight, arbitrary })));
const between = (min: number, max: number) => fc.integer({ min, max });
const maybe = (max: number, freq: number) => fc.option(fc.nat(max - 1), { freq });

/** Of limits: what a request replays (500 entries), a piece of folding reads (200), and is moved at once (50). */
const nearLimit = oneOf(
	[5, between(480, 500)],
	[1, between(430, 480)],
	[1, between(195, 205)],
	[1, between(600, 700)],
);
const hits = oneOf([10, between(1, 4)], [4, between(30, 70)], [1, nearLimit]);
const everyMs = oneOf(
	[6, between(1, 60_000)],
	[1, fc.constant(0)],
	[1, between(20, 40).map((n) => n * minuteMs)],
);
const afterMs = oneOf(
	[3, between(0, 2000)],
	[3, between(1, 50).map((minutes) => minutes * minuteMs)],
	[2, between(1, 30).map((hours) => hours * hourMs)],
	[1, between(2, 40).map((days) => days * dayMs)],
);
/** Every other clock is right. */
const behindMs = oneOf(
	[6, fc.constant(0)],
	[1, between(1, 70_000)],
	[3, between(1, 20).map((n) => n * 7 * minuteMs)],
	[2, between(1, 100).map((days) => days * dayMs)],
);
const past = oneOf(
	[1, between(0, 10).map((n) => n * 10 * minuteMs)],
	[2, between(0, 200).map((n) => n * 17 * hourMs)],
);
const shown = { tid: maybe(tids, 3), cid: maybe(cids, 3) };
const sale = {
	tid: fc.option(fc.nat(tids - 1), { freq: 6 }),
	subid: oneOf([2, fc.nat(subids - 1)], [1, fc.nat(manySubids - 1)]),
	cid: maybe(cids + 2, 2),
	rvn: oneOf([5, fc.constantFrom(0, 499, 999, 12_345)], [1, between(-2000, -1)]),
	isGoodbye: oneOf([7, fc.constant(false)], [1, fc.constant(true)]),
};

const browsing = {
	does: fc.constant('browse' as const),
	afterMs,
	who: fc.nat(people - 1),
	hits,
	everyMs,
	from: fc.nat(11),
	arriving: fc.constantFrom('one by one', 'at once', 'in one transaction'),
	behindMs,
	visit: fc.constantFrom('own', 'own', 'none', 'stolen'),
	isUnproven: fc.constantFrom(null, null, null, 'tid', 'cid', 'both'),
	isNew: fc.boolean(),
	hasSeed: fc.boolean(),
	...shown,
} as const;

const happening: fc.Arbitrary<Happening> = oneOf<Happening>(
	[9, fc.record(browsing)],
	[
		4,
		fc.record({
			does: fc.constant('log in' as const),
			afterMs,
			who: fc.nat(people - 1),
			hits: oneOf([2, between(1, 3)], [1, between(10, 70)]),
			event: fc.nat(99),
			by: fc.constantFrom('tid', 'tid', 'cid'),
			isUnproven: fc.boolean(),
			arriving: fc.constantFrom('one by one', 'in one transaction'),
		}),
	],
	[
		8,
		fc.record({
			does: fc.constant('upload' as const),
			afterMs,
			sales: fc.array(fc.record(sale), { minLength: 1, maxLength: 5 }),
			times: oneOf([5, fc.constant(1)], [2, between(10, 25)]),
			behindMs,
			isSimulated: oneOf([7, fc.constant(false)], [1, fc.constant(true)]),
		}),
	],
	[
		3,
		fc.record({
			does: fc.constant('import' as const),
			afterMs,
			visitors: fc.array(
				fc.record({
					who: fc.nat(everybody - 1),
					hits,
					everyMs,
					behindMs: past,
					visit: fc.option(fc.nat(2), { freq: 2 }),
					...shown,
				}),
				{ maxLength: 3 },
			),
			sales: fc.array(fc.record({ ...sale, behindMs: past }), { maxLength: 4 }),
			isRepeated: fc.boolean(),
		}),
	],
	[1, fc.record({ does: fc.constant('erase' as const), afterMs, who: fc.nat(everybody - 1) })],
	[1, fc.record({ does: fc.constant('erase customer' as const), afterMs, cid: fc.nat(cids - 3) })],
	[
		1,
		fc.record({
			does: fc.constant('prune' as const),
			afterMs,
			behindMs: between(0, 60).map((days) => days * dayMs),
			keepsTouches: fc.boolean(),
		}),
	],
	[4, fc.record({ does: fc.constant('fold' as const), afterMs, pieces: between(1, 6) })],
);

/** A subscription that is paid every so many days, give or take, until some time ago. */
const regular = fc.record({
	everyDays: fc.constantFrom(7, 30, 30, 31, 91, 182, 365),
	pence: oneOf([3, fc.constant(499)], [2, fc.constantFrom(0, 549, 999, 2990, 4990, 12_345)]),
	/** From then on, another price. */
	change: fc.option(fc.record({ after: between(1, 6), pence: fc.constantFrom(599, 1099, 4990, 9990) }), {
		freq: 3,
	}),
	payments: oneOf([2, fc.constant(1)], [3, between(1, 9)]),
	endedDays: oneOf([2, fc.constant(0)], [1, between(1, 250)]),
	/** Of each payment: by how many hours it is early or late, or -1 where it is missing. */
	hours: fc.array(oneOf([6, between(0, 30)], [2, between(30, 300)], [1, fc.constant(-1)]), {
		minLength: 9,
		maxLength: 9,
	}),
	isRefunded: oneOf([5, fc.constant(false)], [1, fc.constant(true)]),
	/** So many hours after the last payment. */
	cancelledHours: fc.option(between(0, 1200), { freq: 2 }),
});

/** Subscriptions that are paid regularly, imported at once. */
export const regularPayments: fc.Arbitrary<Happening> = fc
	.tuple(fc.array(regular, { minLength: 1, maxLength: 80, size: 'max' }), fc.nat(hourMs))
	.map(([subscriptions, afterMs]) => ({
		does: 'import',
		afterMs,
		visitors: [],
		isRepeated: false,
		sales: subscriptions.flatMap((one, number) => {
			const { everyDays, pence, change, payments, endedDays, hours, isRefunded, cancelledHours } = one;
			// Reports by day have at most a thousand days.
			const count = Math.min(payments, 1 + Math.floor(500 / everyDays));
			const sales = Array.from({ length: count }, (_, place) => ({
				tid: null,
				cid: null,
				subid: manySubids + number,
				rvn: change && place >= change.after ? change.pence : pence,
				behindMs:
					((count - 1 - place) * everyDays + endedDays) * dayMs + (300 - (hours[place] ?? 0)) * hourMs,
			})).filter((_, place) => hours[place] !== -1);
			const last = sales.at(-1);
			const after = (saidHours: number, said: Partial<Sale>) =>
				last ? [{ ...last, ...said, behindMs: Math.max(0, last.behindMs - saidHours * hourMs) }] : [];
			return [
				...sales,
				...(isRefunded && last && last.rvn > 0 ? after(1, { rvn: -last.rvn }) : []),
				...(cancelledHours === null ? [] : after(cancelledHours, { rvn: 0, isGoodbye: true })),
			];
		}),
	}));

/** One price that many paid once, some time ago, and few again after a month: too few to say how often it is paid. */
export const abandonedPlan: fc.Arbitrary<Happening> = fc
	.record({
		paidOnce: between(60, 100),
		paidAgain: between(3, 4),
		daysAgo: between(60, 90),
		afterMs: fc.nat(hourMs),
	})
	.map(({ paidOnce, paidAgain, daysAgo, afterMs }) => ({
		does: 'import',
		afterMs,
		visitors: [],
		isRepeated: false,
		sales: Array.from({ length: paidOnce + paidAgain }, (_, number) => {
			const first = {
				tid: null,
				cid: null,
				subid: manySubids + 100 + number,
				rvn: 7777,
				behindMs: daysAgo * dayMs + number * hourMs,
			};
			return number < paidAgain ? [first, { ...first, behindMs: first.behindMs - 30 * dayMs }] : [first];
		}).flat(),
	}));

/** Trials that are free or cost little, of which some are paid for by the month after that, imported at once. */
export const tried: fc.Arbitrary<Happening> = fc
	.record({
		pence: fc.constantFrom(0, 100),
		trialDays: fc.constantFrom(7, 14, 30),
		subscriptions: fc.array(
			fc.record({ months: between(0, 4), daysAgo: between(0, 90), hoursLate: between(0, 400) }),
			{ minLength: 1, maxLength: 40, size: 'max' },
		),
		afterMs: fc.nat(hourMs),
	})
	.map(({ pence, trialDays, subscriptions, afterMs }) => ({
		does: 'import',
		afterMs,
		visitors: [],
		isRepeated: false,
		sales: subscriptions.flatMap(({ months, daysAgo, hoursLate }, number) => {
			const sale = { tid: null, cid: null, subid: manySubids + 300 + number };
			const paid = Array.from({ length: months }, (_, month) => ({
				...sale,
				rvn: 499,
				behindMs: (daysAgo + 30 * (months - 1 - month)) * dayMs + hourMs,
			}));
			const firstMs = (paid[0]?.behindMs ?? daysAgo * dayMs) + trialDays * dayMs + hoursLate * hourMs;
			return [{ ...sale, rvn: pence, behindMs: firstMs }, ...paid];
		}),
	}));

/** The most subscriptions of one visitor who arrives. */
const manySales = 9;

/**
 * Many visitors, each of whom arrives some times; some subscribe then, once or twice, or all of them who do nine times: then
 * what is drawn for an interval matters, subscriptions or visitors.
 */
export const arrivals: fc.Arbitrary<Happening> = fc
	.tuple(
		fc.array(
			fc.record({
				arrivals: fc.array(
					fc.record({ from: fc.constantFrom(0, 0, 1, 1, 2, 3, 6, 7), agoDays: between(0, 9) }),
					{
						minLength: 1,
						maxLength: 4,
					},
				),
				subscriptions: oneOf([5, fc.constant(0)], [3, fc.constant(1)], [1, fc.constant(2)]),
				daysAgo: between(1, 120),
			}),
			{ minLength: 10, maxLength: 90, size: 'max' },
		),
		fc.nat(hourMs),
		fc.boolean(),
	)
	.map(([drawn, afterMs, isMany]) => ({
		afterMs,
		visitors: drawn.map((visitor) => ({
			...visitor,
			subscriptions: isMany && visitor.subscriptions > 0 ? manySales : visitor.subscriptions,
		})),
	}))
	.map(({ visitors, afterMs }) => ({
		does: 'import',
		afterMs,
		isRepeated: false,
		visitors: visitors.flatMap((visitor, number) => {
			const who = everybody + number;
			const shown = { who, hits: 1, everyMs: 1, visit: null, cid: null };
			const sales = Array.from({ length: visitor.subscriptions }, (_, sale) => ({
				...shown,
				tid: 1000 + manySales * number + sale,
				from: 4,
				behindMs: visitor.daysAgo * dayMs,
			}));
			return [
				...visitor.arrivals.map(({ from, agoDays }, place) => ({
					...shown,
					tid: null,
					from,
					behindMs: (visitor.daysAgo + agoDays) * dayMs + (1 + place) * hourMs,
				})),
				...sales,
			];
		}),
		sales: visitors.flatMap(({ subscriptions, daysAgo }, number) =>
			Array.from({ length: subscriptions }, (_, sale) => ({
				tid: 1000 + manySales * number + sale,
				cid: null,
				subid: 1000 + manySales * number + sale,
				rvn: 499,
				behindMs: daysAgo * dayMs,
			})),
		),
	}));

/** A mailing that many open within seconds, with more or fewer who go on, so that some are mail gateways and some are people. */
export const openedAtOnce: fc.Arbitrary<Happening> = fc
	.record({
		visitors: between(25, 70),
		goOn: fc.constantFrom(0, 0, 1, 2, 4, 12),
		everyMs: fc.constantFrom(5, 40, 300, 1000, 1100),
		daysAgo: between(1, 100),
		afterMs: fc.nat(hourMs),
	})
	.map(({ visitors, goOn, everyMs, daysAgo, afterMs }) => ({
		does: 'import',
		afterMs,
		isRepeated: false,
		visitors: Array.from({ length: visitors }, (_, number) => ({
			who: everybody + 1000 + number,
			hits: number < goOn ? 2 : 1,
			everyMs: minuteMs,
			visit: null,
			cid: null,
			tid: null,
			from: 1,
			behindMs: daysAgo * dayMs + (visitors - number) * everyMs,
		})),
		sales: [],
	}));

const crowd = fc.record({
	does: fc.constant('crowd' as const),
	afterMs: fc.constant(0),
	key: fc.constantFrom(`c:${customerOf(cids - 2)}`, `t:T-${tids - 1}`),
	short: fc.nat(2),
});

const historiesOf = (minLength: number, maxLength: number): fc.Arbitrary<History> =>
	fc
		.tuple(
			fc.record({ ...browsing, hits: nearLimit }),
			fc.array(happening, { minLength, maxLength }),
			oneOf<Happening | null>([4, fc.constant(null)], [1, crowd]),
		)
		// What is put into the database needs none that it would change.
		.map(([first, others, crowding]) => [...(crowding ? [crowding] : []), first, ...others]);

/** Histories of some months. Each begins with a visitor of whom much is known. */
export const histories = historiesOf(3, 14);
/** With many subscriptions. */
export const longHistories = historiesOf(25, 60);
