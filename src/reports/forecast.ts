import { sameOccasionMs } from '../domain/subscription-course.ts';
import { dayMs } from '../durations.ts';
import { counted } from '../format/numbers.ts';
import { countBelow } from '../scoring/rows/count-below.ts';
import { seededRandom } from '../scoring/rows/random.ts';
import { addDays } from './calendar.ts';
import { type CoursesAt, coursesOf, isPaid, knownBefore, type PaidJourney, planOf } from './courses.ts';
import type { Journey, Period } from './journey.ts';
import {
	type BackTest,
	chosenBy,
	latelyDays,
	type NewBusinessChoice,
	type NewBusinessMethod,
	type NewPence,
	NewSubscriptions,
	newBusinessMethods,
	scaleOf,
	spreadOf,
} from './new-business.ts';
import { projectionOf, Renewals, zOf } from './projection.ts';
import { reportThat } from './report.ts';
import { bars } from './report-drawing.ts';
import { withColumns } from './report-table.ts';
import { type EarlierReturns, lapsedDays, returnsOf } from './returns.ts';
import { boundsOf, normal } from './simulated.ts';

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
interface Expected {
	readonly pence: number;
	readonly lowPence: number;
	readonly highPence: number;
}

export interface Forecast {
	readonly parts: Readonly<Record<Part, Expected>>;
	readonly newBusiness: NewBusinessChoice;
	readonly warnings: readonly string[];
}

const z = zOf['80 %'];
const simulations = 1000;
/** New subscriptions are worth what those of this time are, or the latest of these. */
const [recentDays, minRecent] = [28, 30];
const maxBackTests = 52;
/** Of how many subscriptions the value of a new one is learned in back-tests. */
const sampled = 2000;

/** Subscriptions that had begun before a moment, as they were known then. */
export function knownAt(
	journeys: readonly Journey[],
	asOfMs: number,
	coursesAt: CoursesAt = unset,
): readonly PaidJourney[] {
	const begun = journeys.filter(
		({ subscription: { acquisition } }) => acquisition && acquisition.atMs < asOfMs,
	);
	return coursesAt(knownBefore(begun, asOfMs), asOfMs).filter(isPaid);
}

/** Where nothing is set. */
const unset: CoursesAt = (journeys, atMs) => coursesOf(journeys, {}, atMs);

/**
 * What the next days will bring, as of a moment; of what happened then and later, nothing is used. Present subscriptions pay what
 * `projectionOf` says. New business is told by a model, unless a simpler method was nearer to what came in this account's past.
 * Bounds are those of simulated futures. The same input gives the same result.
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
	const renewals = new Renewals(present, asOfMs);
	const ofPresent = projectionOf(present, renewals, asOfMs, { days, z });
	const {
		pence: ofNew,
		spread,
		choice,
		presentScale,
	} = newBusiness(journeys, present, { asOfMs, days, coursesAt });
	const returns = returnsOf(present, asOfMs, earlierReturns(journeys, { asOfMs, days, coursesAt }));
	const refundShare = refundShareOf(present);
	const middle = partsOf(
		{
			acquisitions: ofNew.acquisitions,
			'renewals of new': ofNew.renewals,
			'renewals of present': ofPresent.pence,
			returns: returns.pence,
		},
		refundShare,
	);
	const random = seededRandom(1);
	const [below, above] = [
		(presentScale * (ofPresent.pence - ofPresent.lowPence)) / z,
		(presentScale * (ofPresent.highPence - ofPresent.pence)) / z,
	];
	const futures = Array.from({ length: simulations }, () => {
		const moved = Math.exp(spread * normal(random));
		const chance = normal(random);
		return partsOf(
			{
				acquisitions: ofNew.acquisitions * moved,
				'renewals of new': ofNew.renewals * moved,
				'renewals of present': Math.max(0, ofPresent.pence + chance * (chance < 0 ? below : above)),
				returns: returns.pence * Math.exp(returns.spread * normal(random)),
			},
			refundShare,
		);
	});
	const expected = (part: Part): Expected => {
		if (part === 'renewals of present') return ofPresent;
		const [low, high] = boundsOf(
			futures.map((future) => future[part]),
			0.1,
		);
		const pence = middle[part];
		const [lowPence, highPence] = [Math.min(low, pence), Math.max(high, pence)];
		return { pence: whole(pence), lowPence: whole(lowPence), highPence: whole(highPence) };
	};
	return {
		parts: Object.fromEntries(parts.map((part) => [part, expected(part)])) as Record<Part, Expected>,
		newBusiness: choice,
		warnings: unknownRates(present, renewals),
	};
}

/** Rounded, and never a negative zero. */
function whole(pence: number): number {
	return Math.round(pence) || 0;
}

function partsOf(
	paid: Omit<Record<Part, number>, 'refunds' | 'net'>,
	refundShare: number,
): Record<Part, number> {
	const sum = paid.acquisitions + paid['renewals of new'] + paid['renewals of present'] + paid.returns;
	return { ...paid, refunds: -refundShare * sum, net: sum * (1 - refundShare) };
}

/** Of all payments so far. */
function refundShareOf(journeys: readonly PaidJourney[]): number {
	let [paid, refunds] = [0, 0];
	for (const { subscription } of journeys)
		for (const { kind, revenuePence } of subscription.steps) {
			if (kind === 'refund') refunds -= revenuePence;
			else paid += revenuePence;
		}
	return paid > 0 ? Math.min(1, refunds / paid) : 0;
}

interface Terms {
	readonly asOfMs: number;
	readonly days: number;
	readonly coursesAt: CoursesAt;
}

function newBusiness(
	journeys: readonly Journey[],
	present: readonly PaidJourney[],
	{ asOfMs, days, coursesAt }: Terms,
): {
	readonly pence: NewPence;
	readonly spread: number;
	readonly choice: NewBusinessChoice;
	/** By how much renewals of the present were off more than their bounds say. */
	readonly presentScale: number;
} {
	const begun = present.toSorted((a, b) => beginOf(a) - beginOf(b));
	const arrivals = new NewSubscriptions(begun.map(beginOf), asOfMs);
	const cameFrom = newPenceOf(begun);
	const step = Math.max(7, Math.round(days / 8));
	const sample = everyNth(journeys, sampled);
	const tests = Math.min(
		maxBackTests,
		Math.floor((arrivals.days - days - Math.max(days, recentDays)) / step) + 1,
	);
	const backTests: BackTest[] = [];
	/** Of renewals of those who were present then. */
	const surprises: number[] = [];
	let valued: { readonly ago: number; readonly pence: number } | undefined;
	for (let test = tests - 1; test >= 0; test--) {
		const ago = days + test * step;
		const fromMs = asOfMs - ago * dayMs;
		if (!valued || valued.ago - ago >= recentDays) {
			const known = knownAt(sample, fromMs, coursesAt);
			valued = { ago, pence: sumOf(valueOfNew(known, fromMs, days)) };
			surprises.push(surpriseOf(known, present, { asOfMs: fromMs, days }));
		}
		const { count, spread: assumedSpread } = arrivals.expected(days, ago);
		backTests.push({
			atMs: fromMs,
			assumedSpread,
			model: count * valued.pence,
			dues: arrivals.lately(days, ago) * valued.pence,
			lastPeriod: sumOf(cameFrom(fromMs - days * dayMs, fromMs)),
			came: sumOf(cameFrom(fromMs, fromMs + days * dayMs)),
		});
	}
	const { count, spread: assumed, alikeDays } = arrivals.expected(days);
	const choice = chosenBy(backTests, alikeDays, { lastPeriod: days, dues: latelyDays });
	const independent = Math.min(backTests.length, (backTests.length * step) / days);
	const presentScale = scaleOf(surprises, Math.min(surprises.length, (surprises.length * recentDays) / days));
	const spread = spreadOf(backTests, { method: choice.method, assumed, independent });
	if (choice.method === 'lastPeriod')
		return { pence: cameFrom(asOfMs - days * dayMs, asOfMs), spread, choice, presentScale };
	const value = valueOfNew(begun, asOfMs, days);
	const many = choice.method === 'model' ? count : arrivals.lately(days);
	return {
		pence: { acquisitions: many * value.acquisitions, renewals: many * value.renewals },
		spread,
		choice,
		presentScale,
	};
}

/** How many standard deviations renewals of those who were present at an earlier moment were off, by what was known then. */
function surpriseOf(
	known: readonly PaidJourney[],
	now: readonly PaidJourney[],
	{ asOfMs, days }: Omit<Terms, 'coursesAt'>,
): number {
	const told = projectionOf(known, new Renewals(known, asOfMs), asOfMs, { days, z });
	const there = new Set(
		known
			.filter((journey) => lapsedDays(journey, asOfMs) === undefined)
			.map(({ subscription }) => subscription.subid),
	);
	const endMs = asOfMs + days * dayMs;
	let came = 0;
	for (const { subscription } of now)
		if (there.has(subscription.subid))
			for (const { kind, atMs, revenuePence } of subscription.steps)
				if (kind === 'renewal' && atMs >= asOfMs && atMs < endMs) came += revenuePence;
	const bound = came < told.pence ? told.pence - told.lowPence : told.highPence - told.pence;
	return bound > 0 ? (z * Math.abs(came - told.pence)) / bound : 0;
}

function sumOf({ acquisitions, renewals }: NewPence): number {
	return acquisitions + renewals;
}

function beginOf({ payments }: PaidJourney): number {
	return payments[0]?.atMs as number;
}

/** At most so many, evenly. */
function everyNth(journeys: readonly Journey[], most: number): readonly Journey[] {
	const every = Math.ceil(journeys.length / most);
	return every > 1 ? journeys.filter((_, place) => place % every === 0) : journeys;
}

/** Of how many subscriptions returns are learned. */
const sampledForReturns = 20_000;
/** As many earlier moments say how many come back. */
const returnMoments = 3;

function earlierReturns(journeys: readonly Journey[], { asOfMs, days, coursesAt }: Terms): EarlierReturns[] {
	const sample = everyNth(journeys, sampledForReturns);
	const ofSubid = new Map(sample.map((journey) => [journey.subscription.subid, journey]));
	return Array.from({ length: returnMoments }, (_, place) => {
		const fromMs = asOfMs - days * (1 + place / 2) * dayMs;
		const toMs = fromMs + days * dayMs;
		const penceSince = (subid: string) =>
			(ofSubid.get(subid)?.subscription.steps ?? []).reduce(
				(sum, { kind, atMs, revenuePence }) =>
					kind !== 'refund' && atMs >= fromMs && atMs < toMs ? sum + revenuePence : sum,
				0,
			);
		return { known: knownAt(sample, fromMs, coursesAt), asOfMs: fromMs, penceSince };
	}).filter(({ known }) => known.length > 0);
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

/** What a subscription that begins on any of the next days brings in them, by the latest ones. */
function valueOfNew(known: readonly PaidJourney[], asOfMs: number, days: number): NewPence {
	const recent = known.filter((journey) => beginOf(journey) >= asOfMs - recentDays * dayMs);
	const latest =
		recent.length >= minRecent
			? recent
			: known.toSorted((a, b) => beginOf(b) - beginOf(a)).slice(0, minRecent);
	if (latest.length === 0) return { acquisitions: 0, renewals: 0 };
	const renewals = new Renewals(known, asOfMs);
	const rates = renewals.rates(z);
	let [first, later] = [0, 0];
	for (const journey of latest) {
		const { course, payments } = journey;
		first += payments[0]?.pricePence ?? 0;
		const plan = planOf(journey);
		const cadenceDays = course.cadence?.days ?? renewals.assumedDays(plan);
		if (cadenceDays === null) continue;
		const { share } = rates(plan, 'all');
		const price = payments.at(-1)?.pricePence ?? 0;
		// Whoever begins early enough is due within these days.
		for (let time = 1; time * cadenceDays < days; time++)
			later += price * share ** time * (1 - (time * cadenceDays) / days);
	}
	return { acquisitions: first / latest.length, renewals: later / latest.length };
}

/** Of which plans nobody was due yet. */
function unknownRates(journeys: readonly PaidJourney[], renewals: Renewals): string[] {
	const some = journeys.filter(
		(journey) => journey.course.endedAtMs === null && renewals.dueOf(planOf(journey)) === 0,
	);
	if (some.length === 0) return [];
	const unknown = some.filter(({ course }) => course.cadence === null);
	return [
		`Nobody was due yet of the plans of ${some.length} of ${journeys.length} subscriptions, so nothing tells how many renew: between none and all of what is due is possible.`,
		...(unknown.length > 0
			? [
					`Nothing tells how often ${unknown.length} of them are paid: they are taken for monthly ones, or where that time is over, for ones of the next longer plan. Set it with 'caskade account update --renewal-days'.`,
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
	summary: 'what the next days will bring, and what of the last forecast came',
	definition:
		'What is to be paid in the next days (`expectedPence`): by new subscriptions, for their renewals, for renewals of the present ones, the sum that `ltv` has as `projected`, and by ended ones that come back (`returns`), less refunds; with bounds of 80 % (`lowPence`, `highPence`). `newBusiness` says which method told the new business, and how far each was off in the past of the account. Beside it the forecast of as many days ago, from what was known then (`earlierPence` with its bounds), and what has come of it (`camePence`).',
	parameters: ['asOf', 'timezone', 'days', 'evt'],
	async make({ query, asOfMs, calendar, courses, coursesAt }) {
		const { days } = query;
		const journeys = (await courses()).filter(isPaid);
		const earlierMs = asOfMs - days * dayMs;
		const next = forecast(journeys, asOfMs, days, { coursesAt, present: journeys });
		const known = knownAt(journeys, earlierMs, coursesAt);
		const earlier = forecast(journeys, earlierMs, days, { coursesAt, present: known });
		const came = cameSince(journeys, { fromMs: earlierMs, toMs: asOfMs }, known);
		const rows = parts.map((part) => {
			const { pence: expectedPence, ...bounds } = next.parts[part];
			const {
				pence: earlierPence,
				lowPence: earlierLowPence,
				highPence: earlierHighPence,
			} = earlier.parts[part];
			const before = { earlierPence, earlierLowPence, earlierHighPence, camePence: came[part] };
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
	parts: ({ rows, days }) => [
		{
			title: `Expected in the next ${days} days, with bounds of 80 %: they hold four times of five`,
			rows: withColumns(rows, ['part', 'method', 'expectedPence', 'lowPence', 'highPence']),
			columns: boundsOfEighty,
		},
		{
			title: `What the forecast of ${days} days ago said, and what came`,
			rows: withColumns(rows, ['part', 'earlierPence', 'earlierLowPence', 'earlierHighPence', 'camePence']),
			columns: {
				earlierPence: { heading: 'expected' },
				earlierLowPence: { heading: 'low (80 %)' },
				earlierHighPence: { heading: 'high (80 %)' },
			},
		},
	],
	draw: ({ rows }, table, money) =>
		rows.length > 0 &&
		bars(table, 'expectedPence', {
			title: 'To be paid, with bounds of 80 %',
			money,
			bounds: ['lowPence', 'highPence'],
		}),
});

const boundsOfEighty = {
	lowPence: { heading: 'low (80 %)' },
	highPence: { heading: 'high (80 %)' },
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
	const told = `New business is told by: ${methodTexts[method]}.`;
	if (!errors) return `${told} The account is too young to try it on its past.`;
	const each = newBusinessMethods.map((one) => `${methodTexts[one]} ${(100 * errors[one]).toFixed(1)} %`);
	return `${told} In ${counted(backTests, 'forecast')} of the account's past, from what was known then, it was nearest to what came. Off by: ${each.join('; ')}.`;
}
