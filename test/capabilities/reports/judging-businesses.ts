import { describeMovement, type MovementRow } from '../../../src/capabilities/reports/movement.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { Calendar } from '../../../src/kit/reports/calendar.ts';
import { coursesOf, knownBefore, warningsOf } from '../../../src/kit/reports/courses.ts';
import {
	type Counted,
	firstDayMs,
	type KnownBusiness,
	type Lived,
	lived,
	newIn,
	thereAt,
} from './known-businesses.ts';

/** What movement tells of businesses whose truth is known: in the end, and the day after each month. */

const calendar = new Calendar('UTC');
/** Before the months that are judged, so that there is a history, and after them, so that all is decided. */
const [monthsBefore, monthsAfter] = [14, 3];
/** Shares are rounded to four places. */
const rounding = 0.000_5;

/** Of a month, as told at a moment, or as it is. */
interface Month {
	readonly churn: number;
	readonly netRetention: number;
	readonly recurringPence: number;
	readonly new: number;
}

type MonthOf = Readonly<Record<Counted, Month>>;

/** What was told of a figure the day after its month, and what it became. */
interface Early {
	readonly low: number;
	readonly likely: number;
	readonly high: number;
	readonly final: number;
}

export interface Judged {
	readonly name: string;
	/** Means of all months. */
	readonly told: MonthOf;
	readonly truth: MonthOf;
	/** The mean distance of recurring revenue from the truth, as a share of it. */
	readonly recurringError: number;
	/** Of the figures told the day after a month, the share whose final value lies in what was told. */
	readonly inside: number;
	/** How wide the range of churn was on average, and how wide it is from none to all of those due in the month. */
	readonly churnWidth: number;
	readonly duesWidth: number;
	/** How far churn was off the day after the month, as known, and as it was said to be likely. */
	readonly knownError: number;
	readonly likelyError: number;
	/** Whether what cannot be known is said to be. */
	readonly isSaid: boolean;
	/** Which gates it fails. */
	readonly failed: readonly string[];
}

function toldAt({ setDays = {} }: KnownBusiness, { journeys, beginMs, customerOf }: Lived, asOfMs: number) {
	const courses = coursesOf(knownBefore(journeys, asOfMs), setDays, asOfMs);
	const spans = calendar.spans('month', beginMs, asOfMs - 1);
	const rows = describeMovement(courses, { by: [], spans, asOfMs, customerOf });
	return { rows: new Map(rows.map(({ span, row }) => [span.name, row])), warnings: warningsOf(courses) };
}

function monthOf(row: MovementRow): MonthOf {
	const recurringPence = row.recurringPence.closing;
	return {
		subscriptions: {
			churn: row.subscriptionChurn ?? 0,
			netRetention: row.netRevenueRetention ?? 0,
			recurringPence,
			new: row.subscriptions.new,
		},
		customers: {
			churn: row.customerChurn ?? 0,
			netRetention: row.customerNetRevenueRetention ?? 0,
			recurringPence,
			new: row.customers.new,
		},
	};
}

function trueMonth(history: Lived, counted: Counted, fromMs: number, toMs: number): Month {
	const before = thereAt(history, counted, fromMs);
	const then = thereAt(history, counted, toMs);
	const stayed = [...before.keys()].filter((name) => then.has(name));
	return {
		churn: 1 - stayed.length / before.size,
		netRetention: sum(stayed.map((name) => then.get(name) as number)) / sum([...before.values()]),
		recurringPence: sum([...then.values()]),
		new: newIn(history, counted, fromMs, toMs),
	};
}

/** What a row tells of each figure, and what it is in the end. */
function earlyOf(then: MovementRow, final: MovementRow): Record<string, Early> {
	const figures = [
		'subscriptionChurn',
		'customerChurn',
		'grossRevenueRetention',
		'netRevenueRetention',
		'customerNetRevenueRetention',
	] as const;
	const point = (value: number, last: number) => ({ low: value, likely: value, high: value, final: last });
	return {
		...Object.fromEntries(
			figures.map((figure) => {
				const last = final[figure] ?? 0;
				return [figure, { ...point(then[figure] ?? 0, last), ...then.provisional?.[figure] }];
			}),
		),
		closing: {
			...point(then.subscriptions.closing, final.subscriptions.closing),
			...then.provisional?.closing,
		},
		recurringPence: {
			...point(then.recurringPence.closing, final.recurringPence.closing),
			...then.provisional?.closingPence,
		},
		new: point(then.subscriptions.new, final.subscriptions.new),
		newPence: point(then.recurringPence.new, final.recurringPence.new),
	};
}

function isInside({ low, high, final }: Early): boolean {
	const slack = rounding * Math.max(1, final);
	return final >= low - slack && final <= high + slack;
}

/** @param people who begin in all */
export function judgeBusiness(
	business: KnownBusiness,
	{ people = 800, months = 24, seed = 1 }: { people?: number; months?: number; seed?: number } = {},
): Judged {
	if (business.youngDays !== undefined) return judgeYoung(business, business.youngDays, people, seed);
	const startOf = (month: number) => Date.UTC(2024, month, 1);
	const lastMs = startOf(monthsBefore + months + monthsAfter);
	const history = lived(business, { people, days: (lastMs - firstDayMs) / dayMs, seed });
	const final = toldAt(business, history, lastMs);
	const told: MonthOf[] = [];
	const truth: MonthOf[] = [];
	const early: Record<string, Early>[] = [];
	const dues: number[] = [];
	for (let month = monthsBefore; month < monthsBefore + months; month++) {
		const [fromMs, toMs] = [startOf(month), startOf(month + 1)];
		const name = calendar.monthOf(fromMs);
		const row = final.rows.get(name) as MovementRow;
		told.push(monthOf(row));
		truth.push({
			subscriptions: trueMonth(history, 'subscriptions', fromMs, toMs),
			customers: trueMonth(history, 'customers', fromMs, toMs),
		});
		early.push(earlyOf(toldAt(business, history, toMs + dayMs).rows.get(name) as MovementRow, row));
		const due = history.people.flatMap((person) => person.dues.filter((ms) => ms >= fromMs && ms < toMs));
		dues.push(Math.min(1, due.length / row.subscriptions.opening));
	}
	const churns = early.map(({ subscriptionChurn }) => subscriptionChurn as Early);
	const all = early.flatMap((figures) => Object.values(figures));
	const judged = {
		name: business.name,
		told: meansOf(told),
		truth: meansOf(truth),
		recurringError: mean(
			told.map(({ subscriptions: { recurringPence } }, place) =>
				Math.abs(recurringPence / (truth[place] as MonthOf).subscriptions.recurringPence - 1),
			),
		),
		inside: all.filter(isInside).length / all.length,
		churnWidth: mean(churns.map(({ low, high }) => high - low)),
		duesWidth: mean(dues),
		// What is known alone counts all who may renew as there.
		knownError: mean(churns.map(({ low, final: last }) => Math.abs(low - last))),
		likelyError: mean(churns.map(({ likely, final: last }) => Math.abs(likely - last))),
		isSaid: isSaid(business, final.warnings),
	};
	return { ...judged, failed: failuresOf(judged, business) };
}

/** Of what is known now, as nobody has left yet for certain. */
function judgeYoung(business: KnownBusiness, days: number, people: number, seed: number): Judged {
	const history = lived(business, { people, days, seed });
	const { rows, warnings } = toldAt(business, history, history.endMs);
	const row = [...rows.values()].at(-1) as MovementRow;
	const fromMs = calendar.startOfMonth(calendar.monthOf(history.endMs - 1));
	const truth = {
		subscriptions: trueMonth(history, 'subscriptions', fromMs, history.endMs),
		customers: trueMonth(history, 'customers', fromMs, history.endMs),
	};
	const early = earlyOf(row, row);
	// Those at risk may have left.
	const { low, high } = early.recurringPence as Early;
	const { recurringPence } = truth.subscriptions;
	const nearest = Math.min(high, Math.max(low, recurringPence));
	const judged = {
		name: business.name,
		told: monthOf(row),
		truth,
		recurringError: Math.abs(nearest / recurringPence - 1),
		inside: 1,
		churnWidth: 0,
		duesWidth: 1,
		knownError: 0,
		likelyError: 0,
		isSaid: isSaid(business, warnings),
	};
	const isRight = judged.recurringError <= most.recurring || judged.isSaid;
	return { ...judged, failed: isRight ? [] : ['recurring revenue'] };
}

function isSaid({ unknown }: KnownBusiness, warnings: readonly string[]): boolean {
	return unknown !== undefined && warnings.some((warning) => warning.includes(unknown.says));
}

/** Gates: how far from the truth figures may be in the end, and how many of those told early must hold what they become. */
const most = { share: 0.002, recurring: 0.005 };
const leastInside = 0.95;

function failuresOf(judged: Omit<Judged, 'failed'>, { unknown }: KnownBusiness): string[] {
	const failed: string[] = [];
	const isUnknown = (figures: 'final' | 'early') => judged.isSaid && unknown?.figures === figures;
	if (!isUnknown('final')) {
		for (const counted of ['subscriptions', 'customers'] as const)
			for (const figure of ['churn', 'netRetention'] as const)
				if (Math.abs(judged.told[counted][figure] - judged.truth[counted][figure]) > most.share)
					failed.push(`${figure} of ${counted}`);
		if (judged.recurringError > most.recurring) failed.push('recurring revenue');
	}
	if (judged.inside < leastInside && !isUnknown('early')) failed.push('told early');
	if (judged.churnWidth >= judged.duesWidth) failed.push('range of churn');
	if (unknown && !judged.isSaid) failed.push('what is unknown is not said');
	return failed;
}

function meansOf(months: readonly MonthOf[]): MonthOf {
	const meanOf = (counted: Counted): Month => {
		const own = months.map((month) => month[counted]);
		return {
			churn: mean(own.map(({ churn }) => churn)),
			netRetention: mean(own.map(({ netRetention }) => netRetention)),
			recurringPence: mean(own.map(({ recurringPence }) => recurringPence)),
			new: sum(own.map((month) => month.new)),
		};
	};
	return { subscriptions: meanOf('subscriptions'), customers: meanOf('customers') };
}

function sum(values: readonly number[]): number {
	return values.reduce((total, value) => total + value, 0);
}

function mean(values: readonly number[]): number {
	return sum(values) / values.length;
}

const percent = (share: number) => (100 * share).toFixed(2);

/** For print, in per cent: told | true. */
export function judgedRow(judged: Judged) {
	const { told, truth } = judged;
	const both = (counted: Counted, figure: 'churn' | 'netRetention') =>
		`${percent(told[counted][figure])} | ${percent(truth[counted][figure])}`;
	return {
		business: judged.name,
		churn: both('subscriptions', 'churn'),
		'net retention': both('subscriptions', 'netRetention'),
		'of customers': both('customers', 'churn'),
		'MRR off': percent(judged.recurringError),
		new: `${told.subscriptions.new} | ${truth.subscriptions.new}`,
		'inside early': percent(judged.inside),
		'width (all dues)': `${percent(judged.churnWidth)} (${percent(judged.duesWidth)})`,
		'likely off (known)': `${percent(judged.likelyError)} (${percent(judged.knownError)})`,
		'': judged.failed.length > 0 ? `FAILED: ${judged.failed.join(', ')}` : judged.isSaid ? 'said' : '',
	};
}
