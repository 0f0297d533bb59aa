import { sameOccasionMs } from '../../core/domain/subscription-course.ts';
import { dayMs } from '../../core/durations.ts';
import { counted } from '../../core/format/numbers.ts';
import { countBelow } from '../../core/scoring/rows/count-below.ts';
import { addDays } from '../../kit/reports/calendar.ts';
import {
	type CoursesAt,
	coursesOf,
	isPaid,
	knownBefore,
	type PaidJourney,
	planOf,
} from '../../kit/reports/courses.ts';
import { isIn, type Journey, type Period } from '../../kit/reports/journey.ts';
import { headed, reportThat } from '../../kit/reports/report.ts';
import { bars } from '../../kit/reports/report-rows.ts';
import { withColumns } from '../../kit/reports/report-table.ts';
import { sumOf } from '../../kit/reports/sums.ts';
import {
	chosenBy,
	type ExpectedArrivals,
	latelyDays,
	type NewBusinessChoice,
	type NewBusinessMethod,
	type NewPence,
	NewSubscriptions,
	newBusinessMethods,
	recencyWeightsOf,
	spreadOf,
	type ToldNewPence,
} from './new-business.ts';
import { type Projection, projectionOf, Renewals, zOf } from './projection.ts';
import { type EndedGroup, endedAt, lapsedDays, returnsOf } from './returns.ts';

const parts = [
	'acquisitions',
	'renewals of new',
	'renewals of present',
	'returns',
	'refunds',
	'net',
] as const;
type Part = (typeof parts)[number];

/** An amount, with the bounds of 80 %. */
interface ExpectedAmount {
	readonly pence: number;
	readonly lowPence: number;
	readonly highPence: number;
}

export interface Forecast {
	readonly parts: Readonly<Record<Part, ExpectedAmount>>;
	readonly newBusiness: NewBusinessChoice;
	readonly warnings: readonly string[];
}

const z = zOf['80 %'];
/** New subscriptions are worth what those of this time are, or the latest of these. */
const [recentDays, minRecent] = [28, 30];
/** As many earlier moments say how many come back. */
const returnMoments = 3;
/** At most so many earlier moments are tried, on at most so many subscriptions. */
const [maxMoments, sampled] = [10, 8000];

/** Subscriptions that had begun before a moment, as they were known then. */
export function knownAt(
	journeys: readonly Journey[],
	asOfMs: number,
	coursesAt: CoursesAt = unset,
): readonly PaidJourney[] {
	const begun = journeys.filter(({ subscription: { start } }) => start && start.atMs < asOfMs);
	return coursesAt(knownBefore(begun, asOfMs), asOfMs).filter(isPaid);
}

/** Where nothing is set. */
const unset: CoursesAt = (journeys, atMs) => coursesOf(journeys, {}, atMs);

/**
 * What the next days will bring, as of a moment; of what happened then and later, nothing is used. Present subscriptions pay what
 * `projectionOf` says. New business is told by a model, unless a simpler method was nearer to what came in this account's past.
 * Bounds are as far apart as chance makes them, and further where the account's past was missed by more.
 * @param journeys all that are known; those of later are left out
 * @param present the same as of the moment, where they are at hand
 */
export function forecast(
	journeys: readonly Journey[],
	asOfMs: number,
	days: number,
	{
		coursesAt = unset,
		present = knownAt(journeys, asOfMs, coursesAt),
	}: { readonly coursesAt?: CoursesAt; readonly present?: readonly PaidJourney[] } = {},
): Forecast {
	const next = outlookOf(present, termsOf(present, asOfMs, days), 0);
	const every = Math.max(1, Math.ceil(present.length / sampled));
	const sample = present.filter((_, place) => place % every === 0);
	const terms = termsOf(sample, asOfMs, days);
	const past = pastOf(journeys, sample, { ...terms, coursesAt });
	const tests = past.map(({ came, atMs, ofNew }) => ({
		atMs,
		model: totalOf(ofNew.model),
		dues: totalOf(ofNew.dues),
		lastPeriod: totalOf(ofNew.lastPeriod),
		came: came.acquisitions + came['renewals of new'],
	}));
	const choice = chosenBy(
		tests.filter((_, place) => past[place]?.isTried),
		Math.min(1, stepOf(days) / days),
	);
	const toldOf = (outlook: Outlook) => {
		const earlier = past.filter(({ atMs }) => atMs + days * dayMs <= outlook.atMs);
		return partsOf(outlook, choice.method, earlier);
	};
	const told = toldOf(next);
	// No nearer than it could be tried.
	const toldOfSample = every > 1 ? toldOf(outlookOf(sample, terms, 0)) : told;
	const tried = past
		.filter(({ isTried }) => isTried)
		.map((one) => ({ told: toldOf(one), came: one.came, atMs: one.atMs }))
		.filter((one) => one.told.returns.isKnown);
	const expected = (part: Part): ExpectedAmount => {
		if (part === 'renewals of present') return next.present;
		const scale = scaleOf(
			tried.map((one) => ({ atMs: one.atMs, surprise: surpriseOf(one.told[part], one.came[part]) })),
		);
		const { pence } = told[part];
		const [below, above] = toldOfSample[part].distance(z * scale);
		return {
			pence: whole(pence),
			lowPence: whole(pence - every * below),
			// What is paid back is never paid in.
			highPence: whole(Math.min(part === 'refunds' ? 0 : Infinity, pence + every * above)),
		};
	};
	return {
		parts: Object.fromEntries(parts.map((part) => [part, expected(part)])) as Record<Part, ExpectedAmount>,
		newBusiness: choice,
		warnings: unknownRates(present, next.renewals),
	};
}

/** Rounded, and never a negative zero. */
function whole(pence: number): number {
	return Math.round(pence) || 0;
}

/** What all moments have in common. */
interface Terms {
	readonly asOfMs: number;
	readonly days: number;
	readonly arrivals: NewSubscriptions;
	readonly newPence: (fromMs: number, toMs: number) => NewPence;
}

function termsOf(present: readonly PaidJourney[], asOfMs: number, days: number): Terms {
	const begun = present.toSorted((a, b) => beginOf(a) - beginOf(b));
	const arrivals = new NewSubscriptions(begun.map(beginOf), asOfMs);
	return { asOfMs, days, arrivals, newPence: newPenceOf(begun) };
}

/** What was known at a moment of the days after it. */
interface Outlook {
	readonly atMs: number;
	readonly renewals: Renewals;
	readonly ofNew: Readonly<Record<NewBusinessMethod, ToldNewPence>>;
	readonly present: Projection;
	readonly ended: readonly EndedGroup[];
	/** Of all payments so far, the share that was paid back, and the variance of what is paid back of a penny. */
	readonly refunds: { readonly share: number; readonly variance: number };
}

/** A moment of the past, and what came in the days after it. */
interface Past extends Outlook {
	readonly came: Readonly<Record<Part, number>>;
	/** Whether as much was known then as a forecast needs. */
	readonly isTried: boolean;
}

/** @param ago the moment, in days before that of the forecast */
function outlookOf(
	known: readonly PaidJourney[],
	{ asOfMs, days, arrivals, newPence }: Terms,
	ago: number,
): Outlook {
	const atMs = asOfMs - ago * dayMs;
	const renewals = new Renewals(known, atMs);
	const values = valuesOfNew(known, renewals, atMs);
	return {
		atMs,
		renewals,
		ofNew: {
			model: newPenceBy(values, arrivals.expected(ago), days),
			dues: newPenceBy(values, arrivals.asLately(latelyDays, ago), days),
			lastPeriod: {
				...newPenceBy(values, arrivals.asLately(days, ago), days),
				...newPence(atMs - days * dayMs, atMs),
			},
		},
		present: projectionOf(known, renewals, atMs, { days, z }),
		ended: endedAt(known, atMs),
		refunds: refundsOf(known),
	};
}

/** How many days lie between the moments of the past. */
function stepOf(days: number): number {
	return Math.max(recentDays, Math.round(days / 2));
}

/** @param now some present subscriptions, as of the forecast */
function pastOf(
	journeys: readonly Journey[],
	now: readonly PaidJourney[],
	{ coursesAt, ...terms }: Terms & { readonly coursesAt: CoursesAt },
): Past[] {
	const { asOfMs, days, arrivals } = terms;
	const ofSubid = new Map(now.map((journey) => [journey.subscription.subid, journey]));
	const sample = journeys.filter(({ subscription: { subid } }) => ofSubid.has(subid));
	const known = arrivals.days;
	const moments = Math.min(maxMoments, Math.floor((known - days - recentDays) / stepOf(days)) + 1);
	return Array.from({ length: Math.max(0, moments) }, (_, place) => {
		const ago = days + place * stepOf(days);
		const fromMs = asOfMs - ago * dayMs;
		const period = { fromMs, toMs: fromMs + days * dayMs };
		const then = knownAt(sample, fromMs, coursesAt);
		const penceSince = (subid: string) =>
			sumOf(ofSubid.get(subid)?.subscription.steps ?? [], ({ kind, atMs, revenuePence }) =>
				kind !== 'refund' && isIn(period, atMs) ? revenuePence : 0,
			);
		return {
			...outlookOf(then, terms, ago),
			ended: endedAt(then, fromMs, penceSince),
			came: cameSince(now, period, then),
			isTried: ago <= known - Math.max(days, recentDays),
		};
	});
}

/** What is told of a part, and how far below and above what comes may be, by the standard deviations that it is off. */
interface PartForecast {
	readonly pence: number;
	readonly distance: Distance;
}

type Distance = (deviations: number) => readonly [below: number, above: number];

/** @param spread the standard deviation of the log */
function logNormal(pence: number, spread: number): PartForecast {
	return {
		pence,
		distance: (deviations) => [
			pence * (1 - Math.exp(-deviations * spread)),
			pence * (Math.exp(deviations * spread) - 1),
		],
	};
}

/** The distance of a sum, if its parts are independent. */
function together(...distances: readonly Distance[]): Distance {
	return (deviations) => {
		const each = distances.map((distance) => distance(deviations));
		return [Math.hypot(...each.map(([below]) => below)), Math.hypot(...each.map(([, above]) => above))];
	};
}

/** @param earlier moments whose days were over, the latest first */
function partsOf(
	{ ofNew, present, ended, refunds }: Outlook,
	method: NewBusinessMethod,
	earlier: readonly Past[],
): Record<Part, PartForecast> & { readonly returns: { readonly isKnown: boolean } } {
	const { acquisitions, renewals, spread } = ofNew[method];
	const [below, above] = [present.pence - present.lowPence, present.highPence - present.pence];
	const back = returnsOf(
		ended,
		earlier.slice(0, returnMoments).map((one) => one.ended),
	);
	const [fresh, returns] = [logNormal(acquisitions + renewals, spread), logNormal(back.pence, back.spread)];
	const kept: Distance = (deviations) => [
		Math.min(present.pence, (deviations / z) * below),
		(deviations / z) * above,
	];
	const pence = fresh.pence + present.pence + returns.pence;
	const paid = together(fresh.distance, kept, returns.distance);
	const byChance = Math.sqrt(refunds.variance * pence);
	const refunded: Distance = (deviations) => [deviations * byChance, deviations * byChance];
	const times =
		(share: number): Distance =>
		(deviations) => {
			const [less, more] = paid(deviations);
			return [share * less, share * more];
		};
	return {
		acquisitions: logNormal(acquisitions, spread),
		'renewals of new': logNormal(renewals, spread),
		'renewals of present': { pence: present.pence, distance: kept },
		returns: { ...returns, isKnown: back.isKnown },
		refunds: { pence: -refunds.share * pence, distance: together(times(refunds.share), refunded) },
		net: {
			pence: (1 - refunds.share) * pence,
			distance: together(times(1 - refunds.share), refunded),
		},
	};
}

/** How many standard deviations what came was off. */
function surpriseOf({ pence, distance }: PartForecast, came: number): number {
	const [below, above] = distance(1);
	const deviation = came < pence ? below : above;
	return deviation > 0 ? Math.abs(came - pence) / deviation : 0;
}

/** What chance says counts as so many moments of the past. */
const assumedMoments = 4;
/** From so many on it is a break, as when a campaign begins, and tells nothing of other days. */
const breakSurprise = 5;

/**
 * By how much more things are off than chance makes them.
 * @param tried by how many standard deviations they were off, as told at some moments
 */
function scaleOf(tried: readonly { readonly atMs: number; readonly surprise: number }[]): number {
	const usual = tried.filter(({ surprise }) => surprise < breakSurprise);
	const weights = recencyWeightsOf(usual);
	const squares = sumOf(
		usual.entries(),
		([place, { surprise }]) => (weights[place] as number) * surprise ** 2,
	);
	const count = sumOf(weights, (weight) => weight);
	return Math.max(1, Math.sqrt((assumedMoments + squares) / (assumedMoments + count)));
}

function refundsOf(journeys: readonly PaidJourney[]): Outlook['refunds'] {
	let [paid, refunds, squares] = [0, 0, 0];
	for (const { subscription } of journeys)
		for (const { kind, revenuePence } of subscription.steps)
			if (kind === 'refund') {
				refunds -= revenuePence;
				squares += revenuePence ** 2;
			} else paid += revenuePence;
	if (paid <= 0) return { share: 0, variance: 0 };
	return { share: Math.min(1, refunds / paid), variance: squares / paid };
}

function totalOf({ acquisitions, renewals }: NewPence): number {
	return acquisitions + renewals;
}

function beginOf({ payments }: PaidJourney): number {
	return payments[0]?.atMs as number;
}

/** What subscriptions brought from a moment to another that began between these. @param begun by when they began */
function newPenceOf(begun: readonly PaidJourney[]): (fromMs: number, toMs: number) => NewPence {
	const begins = begun.map(beginOf);
	return (fromMs, toMs) => {
		const pence = { acquisitions: 0, renewals: 0 };
		const first = countBelow(begins, (ms) => ms < fromMs);
		for (let place = first; (begins[place] as number) < toMs; place++) {
			const journey = begun[place] as PaidJourney;
			for (const { kind, atMs, revenuePence } of journey.subscription.steps)
				if (kind !== 'refund' && atMs < toMs)
					pence[isAcquisition(journey, atMs) ? 'acquisitions' : 'renewals'] += revenuePence;
		}
		return pence;
	};
}

/** Whether a payment belongs to the first one. */
function isAcquisition(journey: PaidJourney, atMs: number): boolean {
	return atMs < beginOf(journey) + sameOccasionMs;
}

/** What a new subscription pays. */
interface NewValue {
	readonly firstPence: number;
	readonly pence: number;
	readonly share: number;
	readonly cadenceDays: number;
}

/** Those of the latest subscriptions. */
function valuesOfNew(known: readonly PaidJourney[], renewals: Renewals, atMs: number): NewValue[] {
	const recent = known.filter((journey) => beginOf(journey) >= atMs - recentDays * dayMs);
	const latest =
		recent.length >= minRecent
			? recent
			: known.toSorted((a, b) => beginOf(b) - beginOf(a)).slice(0, minRecent);
	return latest.map((journey) => {
		const { course, payments } = journey;
		const plan = planOf(journey);
		return {
			firstPence: payments[0].pricePence,
			pence: renewals.nextPence(plan, payments.at(-1)?.pricePence ?? 0),
			share: renewals.rate(plan, z).share,
			cadenceDays: course.cadence?.days ?? renewals.assumedDays(plan) ?? Number.POSITIVE_INFINITY,
		};
	});
}

/** What subscriptions that begin in the next days bring in them, if they are worth as much as some. */
function newPenceBy(values: readonly NewValue[], arriving: ExpectedArrivals, days: number): ToldNewPence {
	const expected = arriving.countIn(days);
	const later = values.map(({ pence, share, cadenceDays }) => {
		let sum = 0;
		// Whoever begins early enough is due within these days.
		for (let time = 1; time * cadenceDays < days; time++)
			sum += pence * share ** time * arriving.countIn(Math.round(days - time * cadenceDays));
		return sum;
	});
	const perOne = values.length > 0 ? 1 / values.length : 0;
	const brought = values.map(({ firstPence }, place) => expected * firstPence + (later[place] as number));
	return {
		acquisitions: perOne * expected * sumOf(values, ({ firstPence }) => firstPence),
		renewals: perOne * sumOf(later, (sum) => sum),
		spread: spreadOf(arriving, days, brought),
	};
}

/** Of which plans nobody was due yet. */
function unknownRates(journeys: readonly PaidJourney[], renewals: Renewals): string[] {
	const some = journeys.filter(
		(journey) => journey.course.endedAtMs === null && renewals.dueOf(planOf(journey)) === 0,
	);
	if (some.length === 0) return [];
	const unknown = some.filter(({ course }) => course.cadence === null);
	return [
		`The plans of ${some.length} of ${journeys.length} subscriptions have never come due, so nothing tells how many renew: anything from none to all of what is due is possible.`,
		...(unknown.length > 0
			? [
					`It is unknown how often ${unknown.length} of them are paid: they are assumed to be monthly or, once that time is over, of the next longer plan. Set it with 'caskade account update --renewal-days'.`,
				]
			: []),
	];
}

/**
 * What has come since a moment, by parts of a forecast as of then.
 * @param known the subscriptions as they were known then, which tell who had ended
 */
export function cameSince(
	journeys: readonly PaidJourney[],
	{ fromMs, toMs }: Period,
	known: readonly PaidJourney[] = [],
): Record<Part, number> {
	const ended = new Set(
		known
			.filter((journey) => lapsedDays(journey, fromMs) !== undefined)
			.map(({ subscription }) => subscription.subid),
	);
	const came = Object.fromEntries(parts.map((part) => [part, 0])) as Record<Part, number>;
	for (const journey of journeys) {
		const isEnded = ended.has(journey.subscription.subid);
		const isNew = beginOf(journey) >= fromMs;
		const renewed = isNew ? 'renewals of new' : isEnded ? 'returns' : 'renewals of present';
		for (const { kind, atMs, revenuePence } of journey.subscription.steps) {
			if (atMs < fromMs || atMs >= toMs) continue;
			const part = kind === 'refund' ? 'refunds' : isAcquisition(journey, atMs) ? 'acquisitions' : renewed;
			came[part] += revenuePence;
			came.net += revenuePence;
		}
	}
	return came;
}

export const forecastReport = reportThat({
	kind: 'forecast',
	title: 'Forecast',
	summary: 'what the next days will bring, and how the last forecast fared',
	definition:
		"What will be paid in the next days (`expectedPence`), with 80 % bounds (`lowPence`, `highPence`): first payments and renewals of new subscriptions, renewals of the present ones, and payments of ended ones that come back (`returns`), less refunds. `newBusiness` says which method predicted the new business, and how far off each method was in the account's past. To compare, a forecast for 90 days also has that of 90 days ago, from what was known then (`earlierPence` with its bounds), and what has been paid since (`camePence`). Both are null if nothing was known then.",
	parameters: ['asOf', 'timezone', 'days', 'evt'],
	async make({ query, asOfMs, calendar, courses, coursesAt }) {
		const { days } = query;
		const journeys = (await courses()).filter(isPaid);
		const earlierMs = asOfMs - days * dayMs;
		const next = forecast(journeys, asOfMs, days, { coursesAt, present: journeys });
		const known = knownAt(journeys, earlierMs, coursesAt);
		const isKnown = known.length > 0;
		const earlier = isKnown
			? forecast(journeys, earlierMs, days, { coursesAt, present: known }).parts
			: undefined;
		const came = cameSince(journeys, { fromMs: earlierMs, toMs: asOfMs }, known);
		const rows = parts.map((part) => {
			const { pence: expectedPence, ...bounds } = next.parts[part];
			const before = {
				earlierPence: earlier?.[part].pence ?? null,
				earlierLowPence: earlier?.[part].lowPence ?? null,
				earlierHighPence: earlier?.[part].highPence ?? null,
				camePence: isKnown ? came[part] : null,
			};
			return { part, method: methodOf(part, next.newBusiness), expectedPence, ...bounds, ...before };
		});
		return {
			// The days that it is about.
			from: calendar.dayOf(asOfMs),
			to: addDays(calendar.dayOf(asOfMs + days * dayMs - 1), 1),
			days,
			newBusiness: next.newBusiness,
			rows,
			notes: [choiceText(next.newBusiness)],
			warnings: next.warnings,
		};
	},
	answer({ rows, days }, money) {
		const net = rows.find(({ part }) => part === 'net');
		if (!net) return null;
		const { expectedPence, lowPence, highPence } = net;
		return `${money(expectedPence)} net is expected in the next ${counted(days, 'day')}; four times of five it is between ${money(lowPence)} and ${money(highPence)}.`;
	},
	parts: ({ rows, days }) => [
		{
			title: `Expected in the next ${days} days, with 80 % bounds: right four times out of five`,
			rows: withColumns(rows, ['part', 'method', 'expectedPence', 'lowPence', 'highPence']),
			columns: boundsOfEighty,
		},
		...(rows.some(({ earlierPence }) => earlierPence !== null)
			? [
					{
						title: `What the forecast of ${days} days ago said, and what came`,
						rows: withColumns(rows, [
							'part',
							'earlierPence',
							'earlierLowPence',
							'earlierHighPence',
							'camePence',
						]),
						columns: {
							...headed({ earlierPence: 'was expected', earlierLowPence: 'low (80 %)' }),
							earlierHighPence: { heading: 'high (80 %)' },
						},
					},
				]
			: []),
	],
	draw: ({ rows }, table, money) =>
		rows.length > 0 &&
		bars(table, 'expectedPence', {
			title: 'Expected payments, with 80 % bounds',
			money,
			bounds: ['lowPence', 'highPence'],
		}),
});

const boundsOfEighty = {
	...headed({ lowPence: 'low (80 %)', highPence: 'high (80 %)' }),
};

/** How a part is told. */
function methodOf(part: Part, { method }: NewBusinessChoice): string | null {
	if (part === 'acquisitions' || part === 'renewals of new')
		return method === 'lastPeriod' ? 'last period' : method;
	return part === 'renewals of present' ? 'dues' : null;
}

const methodTexts: Readonly<Record<NewBusinessMethod, string>> = {
	model: 'the model',
	lastPeriod: 'as much as in the last period',
	dues: 'as many as in the last four weeks, and their dues',
};

/** Which method told the new business, and why. */
function choiceText({ method, backTests, errors }: NewBusinessChoice): string {
	const told = `New business is predicted by: ${methodTexts[method]}.`;
	if (!errors) return `${told} The account is too young to try it on its past.`;
	const each = newBusinessMethods.map((one) => `${methodTexts[one]} ${(100 * errors[one]).toFixed(1)} %`);
	const isNearest = newBusinessMethods.every((one) => errors[method] <= errors[one]);
	const why = isNearest
		? 'it was nearest to what came'
		: 'no simpler method was nearer to what came by more than chance';
	return `${told} In ${counted(backTests, 'forecast')} of the account's past, from what was known then, ${why}. Off by: ${each.join('; ')}.`;
}
