import type { Movement } from '../../core/domain/subscription-course.ts';
import { touchDimensions } from '../../core/domain/touch.ts';
import { counted } from '../../core/format/numbers.ts';
import { signed } from '../../kit/reports/answer-text.ts';
import type { Span } from '../../kit/reports/calendar.ts';
import {
	type CoursedJourney,
	isPaid,
	notesOf,
	type PaidJourney,
	warningsOf,
} from '../../kit/reports/courses.ts';
import { columnOf, type GroupValues, groupsOf } from '../../kit/reports/grouping.ts';
import {
	firstEventMs,
	isIn,
	placeOf,
	ratio,
	rounded,
	spansOf,
	type Terms,
} from '../../kit/reports/journey.ts';
import { type Cell, type FlatRow, reportThat, styled } from '../../kit/reports/report.ts';
import { curves, curvesByGroup } from '../../kit/reports/report-curves.ts';
import { commonParameters } from '../../kit/reports/report-query.ts';
import { waterfall } from '../../kit/reports/report-rows.ts';
import { withColumns } from '../../kit/reports/report-table.ts';
import { sumOf } from '../../kit/reports/sums.ts';
import { customersAmong, type Mover, moverOf } from './moving-customers.ts';
import { type Provisional, provisional } from './open-dues.ts';
import { Renewals } from './projection.ts';

export type MovementRow = ReturnType<typeof rowOf>;
/** A row with the name of its span and the values of its dimensions. */
type NamedRow = MovementRow & Readonly<Record<string, unknown>>;

type Kind = Movement['kind'];

/** What happened in a span. */
class Tally {
	readonly counts = { new: 0, reactivated: 0, expansion: 0, contraction: 0, ended: 0 };
	readonly pence = { ...this.counts };
	refundPence = 0;
	recovered = 0;
	/** Of those that ended: who wanted it. */
	cancelled = 0;
	cancelledPence = 0;
	/** Of subscriptions that were there at the opening. */
	lost = 0;
	lessPence = 0;
	morePence = 0;

	add({ kind, isByWill = false }: Movement, pence: number): void {
		this.counts[kind]++;
		this.pence[kind] += Math.abs(pence);
		if (!isByWill) return;
		this.cancelled++;
		this.cancelledPence += Math.abs(pence);
	}

	/** Adds another one so many times. */
	addAll(other: Tally, times = 1): this {
		for (const kind of Object.keys(this.counts) as Kind[]) {
			this.counts[kind] += times * other.counts[kind];
			this.pence[kind] += times * other.pence[kind];
		}
		this.refundPence += times * other.refundPence;
		this.recovered += times * other.recovered;
		this.cancelled += times * other.cancelled;
		this.cancelledPence += times * other.cancelledPence;
		this.lost += times * other.lost;
		this.lessPence += times * other.lessPence;
		this.morePence += times * other.morePence;
		return this;
	}

	get isEmpty(): boolean {
		return (
			this.refundPence === 0 &&
			this.recovered === 0 &&
			Object.values(this.counts).every((count) => count === 0)
		);
	}
}

/** What happened in a span, and what will have happened if subscriptions do not renew that are due and may: all, and those likely. */
class SpanTally {
	readonly known = new Tally();
	readonly open = new Tally();
	readonly likely = new Tally();
}

/**
 * How subscriptions and their recurring revenue changed in each span, and their customers.
 * @param customerOf the `cid` of a subscription
 */
export function describeMovement(
	journeys: readonly CoursedJourney[],
	{
		by,
		spans,
		asOfMs,
		customerOf = () => undefined,
	}: Pick<Terms, 'by' | 'asOfMs'> & {
		readonly spans: readonly Span[];
		readonly customerOf?: (subid: string) => string | undefined;
	},
): { readonly span: Span; readonly values: GroupValues; readonly row: MovementRow }[] {
	const renewals = new Renewals(journeys.filter(isPaid), asOfMs);
	const lossOf = (journey: PaidJourney) => 1 - renewals.chanceOf(journey).share;
	// A customer belongs to the group of its first subscription.
	const customers = Map.groupBy(customersAmong(journeys, customerOf, lossOf), ({ journey }) => journey);
	const rows = groupsOf(journeys, by).flatMap(({ values, members }, group) => {
		const told = spansOfMovers(
			members.map((member) => moverOf(member, lossOf)),
			spans,
			true,
		);
		const ofCustomers = spansOfMovers(
			members.flatMap((member) => customers.get(member) ?? []),
			spans,
		);
		let hasBegun = by.length === 0;
		return spans.flatMap((span, place) => {
			const { tally, openings } = told[place] as SpanOfMovers;
			hasBegun ||= openings.known.count > 0 || !tally.known.isEmpty;
			if (!hasBegun) return [];
			const row = rowOf(told[place] as SpanOfMovers, ofCustomers[place] as SpanOfMovers);
			return [{ place, group, span, values, row }];
		});
	});
	return rows.sort((a, b) => a.place - b.place || a.group - b.group);
}

interface SpanOfMovers {
	readonly tally: SpanTally;
	readonly openings: Openings;
}

/** @param hasPayments whether to add what was paid back, and late */
function spansOfMovers(
	movers: readonly Mover[],
	spans: readonly Span[],
	hasPayments = false,
): SpanOfMovers[] {
	const tallies = spans.map(() => new SpanTally());
	const before = new SpanTally();
	for (const mover of movers) {
		const at = (place: number) => (place < 0 ? before : tallies[place]);
		addMover(mover, spans, at);
		if (hasPayments) addPayments(mover.journey, spans, at);
	}
	const nobody = { count: 0, pence: 0 };
	let openings = openingsAfter({ known: nobody, worst: nobody, likely: nobody }, before);
	return tallies.map((tally) => {
		const span = { tally, openings };
		openings = openingsAfter(openings, tally);
		return span;
	});
}

interface Opening {
	readonly count: number;
	readonly pence: number;
}

interface Openings {
	readonly known: Opening;
	/** If none renews that is due and may. */
	readonly worst: Opening;
	readonly likely: Opening;
}

function closingOf(opening: Opening, { counts, pence }: Tally): Opening {
	return {
		count: opening.count + counts.new + counts.reactivated - counts.ended,
		pence: opening.pence + pence.new + pence.reactivated + pence.expansion - pence.contraction - pence.ended,
	};
}

function openingsAfter({ known, worst, likely }: Openings, tally: SpanTally): Openings {
	return {
		known: closingOf(known, tally.known),
		worst: closingOf(worst, worstOf(tally)),
		likely: closingOf(likely, likelyOf(tally)),
	};
}

function worstOf({ known, open }: SpanTally): Tally {
	return new Tally().addAll(known).addAll(open);
}

function likelyOf({ known, likely }: SpanTally): Tally {
	return new Tally().addAll(known).addAll(likely);
}

/**
 * What the figures of a span may become; null where all is known. Who is due in a span and does not renew has left at its due
 * day, so that later spans open with fewer, too. Shares lie between those of both openings and both sums.
 */
function provisionalOf(subscriptions: SpanOfMovers, customers: SpanOfMovers) {
	const { tally, openings } = subscriptions;
	const { ended: pastDue } = tally.open.counts;
	if (pastDue === 0 && openings.known.count === openings.worst.count) return null;
	const [best, least, probable] = [tally.known, worstOf(tally), likelyOf(tally)];
	const closing = openingsAfter(openings, tally);
	const kept = (of: SpanOfMovers, change: (tally: Tally) => number) => {
		const changed = sharesOf(of, change, ({ pence }) => pence);
		return changed && plusOne(changed);
	};
	const net = ({ lessPence, morePence }: Tally) => morePence - lessPence;
	return {
		/** Due in this span, and not renewed yet. */
		pastDue,
		pastDuePence: tally.open.pence.ended,
		ended: whole(probable.counts.ended, [best.counts.ended, least.counts.ended]),
		closing: whole(closing.likely.count, [closing.known.count, closing.worst.count]),
		closingPence: whole(closing.likely.pence, [closing.known.pence, closing.worst.pence]),
		subscriptionChurn: churnOf(subscriptions),
		customerChurn: churnOf(customers),
		grossRevenueRetention: kept(subscriptions, ({ lessPence }) => -lessPence),
		netRevenueRetention: kept(subscriptions, net),
		customerNetRevenueRetention: kept(customers, net),
	};
}

function churnOf(span: SpanOfMovers): Provisional | null {
	return sharesOf(
		span,
		({ lost }) => lost,
		({ count }) => count,
	);
}

/** What a share may become: it lies between those of both sums and both openings. */
function sharesOf(
	{ tally, openings }: SpanOfMovers,
	sumOf: (tally: Tally) => number,
	openingOf: (opening: Opening) => number,
): Provisional | null {
	const among = [tally.known, worstOf(tally)].flatMap((each) =>
		[openings.known, openings.worst].flatMap((opening) => ratio(sumOf(each), openingOf(opening)) ?? []),
	);
	if (among.length === 0) return null;
	return provisional(ratio(sumOf(likelyOf(tally)), openingOf(openings.likely)) ?? 0, among);
}

function plusOne({ low, likely, high }: Provisional): Provisional {
	return { low: rounded(1 + low, 4), likely: rounded(1 + likely, 4), high: rounded(1 + high, 4) };
}

function whole(likely: number, among: readonly number[]): Provisional {
	return provisional(Math.round(likely), among);
}

/** Of one span: opening and what was added, less what was lost, is closing. Recurring pence are per month. */
function rowOf(subscriptions: SpanOfMovers, customers: SpanOfMovers) {
	const {
		tally: { known },
		openings: { known: opening },
	} = subscriptions;
	const { pence, cancelledPence, refundPence, recovered, lessPence } = known;
	return {
		// `recovered` are those that were past due, and were paid in time.
		subscriptions: { ...countsOf(subscriptions), recovered },
		recurringPence: {
			opening: opening.pence,
			...pence,
			cancelled: cancelledPence,
			lapsed: pence.ended - cancelledPence,
			closing: closingOf(opening, known).pence,
		},
		refundPence,
		// Of the subscriptions at the opening, the share that is not there at the closing.
		subscriptionChurn: ratio(known.lost, opening.count),
		// Of the recurring pence at the opening, what the same subscriptions pay at the closing, without and with expansion.
		grossRevenueRetention: ratio(opening.pence - lessPence, opening.pence),
		netRevenueRetention: netRetentionOf(subscriptions),
		customers: countsOf(customers),
		customerChurn: ratio(customers.tally.known.lost, customers.openings.known.count),
		customerNetRevenueRetention: netRetentionOf(customers),
		provisional: provisionalOf(subscriptions, customers),
	};
}

function countsOf({ tally: { known }, openings }: SpanOfMovers) {
	const { new: added, reactivated, ended } = known.counts;
	const { known: opening } = openings;
	return {
		opening: opening.count,
		new: added,
		reactivated,
		ended,
		// Of these, by choice, and without a word.
		cancelled: known.cancelled,
		lapsed: ended - known.cancelled,
		closing: closingOf(opening, known).count,
	};
}

/** Of the recurring pence at the opening, what the same ones pay at the closing. */
function netRetentionOf({ tally: { known }, openings }: SpanOfMovers): number | null {
	const { pence } = openings.known;
	return ratio(pence - known.lessPence + known.morePence, pence);
}

type TallyAt = (place: number) => SpanTally | undefined;

function addPayments({ subscription, course }: CoursedJourney, spans: readonly Span[], at: TallyAt): void {
	for (const { kind, atMs, revenuePence } of subscription.steps) {
		const of = kind === 'refund' ? at(placeOf(spans, atMs))?.known : undefined;
		if (of) of.refundPence += revenuePence;
	}
	for (const atMs of course?.recoveredAtMs ?? []) {
		const of = at(placeOf(spans, atMs))?.known;
		if (of) of.recovered++;
	}
}

/** @param at returns the tally of a span, of place -1 for what was before all */
function addMover({ movements, worst, chance }: Mover, spans: readonly Span[], at: TallyAt): void {
	addMovements(movements, spans, (place) => at(place)?.known);
	if (worst === movements) return;
	const lost = new Map<number, Tally>();
	const lostAt = (place: number) => lost.getOrInsertComputed(place, () => new Tally());
	addMovements(worst, spans, lostAt);
	const known = new Map<number, Tally>();
	addMovements(movements, spans, (place) => known.getOrInsertComputed(place, () => new Tally()));
	for (const [place, tally] of known) lostAt(place).addAll(tally, -1);
	for (const [place, tally] of lost) {
		at(place)?.open.addAll(tally);
		at(place)?.likely.addAll(tally, chance);
	}
}

function addMovements(
	movements: readonly Movement[],
	spans: readonly Span[],
	at: (place: number) => Tally | undefined,
): void {
	let now: Standing = { isThere: false, pence: 0 };
	let opening = now;
	let place = -1;
	for (const movement of movements) {
		const { kind, atMs, recurringPence } = movement;
		const next = placeOf(spans, atMs);
		if (next !== place) {
			close(at(place), opening, now);
			[place, opening] = [next, now];
		}
		at(place)?.add(movement, recurringPence - now.pence);
		now = { isThere: kind !== 'ended', pence: recurringPence };
	}
	close(at(place), opening, now);
}

/** Whether a subscription is there, and its recurring pence. */
interface Standing {
	readonly isThere: boolean;
	readonly pence: number;
}

/** Adds how a subscription that was there at the opening of a span has changed until its closing. */
function close(of: Tally | undefined, opening: Standing, now: Standing): void {
	if (!of || !opening.isThere) return;
	if (!now.isThere) of.lost++;
	of.lessPence += Math.max(0, opening.pence - now.pence);
	of.morePence += Math.max(0, now.pence - opening.pence);
}

export const movementReport = reportThat({
	kind: 'movement',
	title: 'Movement',
	summary: 'how subscriptions and recurring revenue grow and shrink',
	definition:
		'By month, week or day: subscriptions and recurring revenue at the beginning (`opening`) and at the end (`closing`), and what came and went in between. Recurring revenue (MRR) is the price divided by the months it pays for. `opening + new + reactivated − ended = closing`; for revenue, also `+ expansion − contraction`. Of those that `ended`, the `cancelled` left by choice (cancelled or refunded), and the `lapsed` were not renewed in time.',
	parameters: [...commonParameters, 'by', 'every', 'lookbackDays', ...touchDimensions, 'segment', 'period'],
	knowsPlans: true,
	initial: { by: [], every: 'month' },
	columns: {
		part: { isOptional: true, heading: 'incomplete' },
		subscriptionChurn: { isShare: true, heading: 'churn' },
		customerChurn: { isShare: true, heading: 'customer churn' },
		customerNetRevenueRetention: { isShare: true, heading: 'net retention by customer' },
		grossRevenueRetention: { isShare: true, heading: 'gross retention' },
		netRevenueRetention: { isShare: true, heading: 'net retention' },
		provisional: { heading: 'status', isOptional: true },
		...styled(['pastDue', 'pastDuePence'], { isOptional: true }),
		...styled(['closingLow', 'closingLowPence'], { isOptional: true, heading: 'closing at worst' }),
		subscriptionChurnLikely: { isShare: true, isOptional: true, heading: 'churn likely' },
		customerChurnLikely: { isShare: true, isOptional: true, heading: 'churn likely' },
		customerChurnHigh: { isShare: true, isOptional: true, heading: 'churn at most' },
		subscriptionChurnHigh: { isShare: true, isOptional: true, heading: 'churn at most' },
		netRevenueRetentionLow: { isShare: true, isOptional: true, heading: 'net retention at least' },
		netRevenueRetentionLikely: { isShare: true, isOptional: true, heading: 'net retention likely' },
	},
	async make({ query, period, asOfMs, calendar, courses, customers }) {
		const { by } = query;
		const every = query.every ?? 'month';
		const journeys = await courses();
		const spans = spansOf(firstEventMs(journeys), every, { period, calendar, asOfMs });
		const customerOf = await customers();
		const rows = describeMovement(journeys, { by, spans, asOfMs, customerOf }).map(
			({ span, values, row }) => ({ [every]: span.name, part: span.part, ...values, ...row }) as NamedRow,
		);
		const isLatest = isIn(period, asOfMs);
		const open = provisionalWarnings(rows, every);
		// Who is at risk is said once.
		const warnings = [...open, ...warningsOf(journeys, { isLatest: isLatest && open.length === 0 })];
		return { by, every, rows, warnings, notes: notesOf(journeys) };
	},
	answer({ rows, every }, money) {
		const sums = sumsOf(rows, every);
		if (!sums) return null;
		const { closing, least, subscriptions, changes } = sums;
		const told = changes
			.filter(({ value }) => value !== 0)
			.map(({ name, value }) => `${name} ${signed(value, money)}`);
		const open = least < closing ? ` At worst, if no late payment comes, it is ${money(least)}.` : '';
		return `At the end of the period, recurring revenue is ${money(closing)} a month, from ${counted(subscriptions, 'subscription')}: ${signed(closing - sums.opening, money)} in the period${told.length > 0 ? ` (${told.join(', ')})` : ''}.${open}`;
	},
	table: ({ rows }) => rows.map(flatRow),
	parts({ rows, by, every }) {
		const table = rows.map(flatRow);
		const names = [every, 'part', ...by.map(columnOf)];
		const counts = ['opening', 'new', 'reactivated', 'ended', 'cancelled', 'lapsed', 'closing'];
		const ofCustomers = [
			...counts.map((name) => `${name}Customers`),
			'customerChurn',
			'customerNetRevenueRetention',
			'provisional',
			'customerChurnLikely',
			'customerChurnHigh',
		];
		const pence = [
			...['opening', 'new', 'reactivated', 'expansion', 'contraction'],
			...['ended', 'cancelled', 'lapsed', 'closing', 'refund'],
		];
		const ofPence = [...pence.map((name) => `${name}Pence`), 'grossRevenueRetention', 'netRevenueRetention'];
		return [
			{
				title: `Subscriptions, and the share of the opening number lost in the ${every}`,
				rows: withColumns(table, [
					...names,
					...counts,
					'recovered',
					'subscriptionChurn',
					...provisionalCounts,
				]),
				columns: { subscriptionChurn: { isShare: true, heading: `churn a ${every}` } },
			},
			{
				title: `Customers, who may have several subscriptions, and the share of the opening number lost in the ${every}`,
				rows: withColumns(table, [...names, ...ofCustomers]),
				columns: {
					customerChurn: { isShare: true, heading: `customer churn a ${every}` },
					customerNetRevenueRetention: {
						isShare: true,
						heading: `customer net retention a ${every}`,
					},
				},
			},
			{
				title: `Recurring revenue a month, refunds, and the share of the opening revenue kept in the ${every}`,
				rows: withColumns(table, [...names, ...ofPence, ...provisionalPence]),
				columns: {
					grossRevenueRetention: { isShare: true, heading: `gross retention a ${every}` },
					netRevenueRetention: { isShare: true, heading: `net retention a ${every}` },
				},
			},
		];
	},
	draw({ by, every, rows }, _, money, notes, linkOf = () => undefined) {
		const sums = sumsOf(rows, every);
		const drawn = curvesByGroup(rows, by, (row) => ({
			x: String(row[every]),
			y: row.recurringPence.closing,
			...(row.provisional && {
				low: row.provisional.closingPence.low,
				high: row.provisional.closingPence.high,
			}),
			part: row.part as string | null,
		}));
		const steps = sums && [
			{ name: 'opening', value: sums.opening, isTotal: true },
			...sums.changes.map(({ name, value }) => ({ name, value, href: linkOf(`${name}Pence`) })),
			{ name: 'closing', value: sums.closing, isTotal: true },
		];
		return [
			steps &&
				waterfall(steps, {
					title: 'Recurring revenue per month, from the start to the end of the period',
					money,
				}),
			curves(drawn, {
				title: `Recurring revenue a month, at the closing of each ${every}`,
				money,
				noted: { notes, every },
			}),
		];
	},
});

/** All groups and spans together: how the first opening became the last closing. */
function sumsOf(rows: readonly NamedRow[], every: string) {
	const last = rows.at(-1)?.[every];
	const latest = rows.filter((row) => row[every] === last);
	if (latest.length === 0) return undefined;
	const closing = sumOf(latest, (row) => row.recurringPence.closing);
	const changes = (
		[
			['new', 1],
			['reactivated', 1],
			['expansion', 1],
			['contraction', -1],
			['ended', -1],
		] as const
	).map(([name, sign]) => ({ name, value: sign * sumOf(rows, (row) => row.recurringPence[name]) }));
	return {
		opening: closing - sumOf(changes, ({ value }) => value),
		changes,
		closing,
		least: sumOf(latest, (row) => row.provisional?.closingPence.low ?? row.recurringPence.closing),
		subscriptions: sumOf(latest, (row) => row.subscriptions.closing),
	};
}

const provisionalCounts = [
	'provisional',
	'pastDue',
	'closingLow',
	'subscriptionChurnLikely',
	'subscriptionChurnHigh',
];
const provisionalPence = [
	'provisional',
	'pastDuePence',
	'closingLowPence',
	'netRevenueRetentionLow',
	'netRevenueRetentionLikely',
];

/** Says which rows are not known yet. */
function provisionalWarnings(rows: readonly NamedRow[], every: string): string[] {
	const open = rows.filter(({ provisional: bounds }) => bounds !== null);
	const names = [...new Set(open.map((row) => String(row[every])))];
	if (names.length === 0) return [];
	const pastDue = open.reduce((sum, row) => sum + (row.provisional?.pastDue ?? 0), 0);
	const shown = names.length > 3 ? `${names.slice(0, 2).join(', ')} … ${names.at(-1)}` : names.join(', ');
	return [
		`Provisional: the ${every}${names.length === 1 ? '' : 's'} ${every === 'week' ? 'from ' : ''}${shown}. ${counted(pastDue, 'subscription has', 'subscriptions have')} a late payment. The figures still count them; further columns show the likely and the worst outcome.`,
	];
}

const provisionalFigures = [
	'ended',
	'closing',
	'closingPence',
	'subscriptionChurn',
	'customerChurn',
	'grossRevenueRetention',
	'netRevenueRetention',
	'customerNetRevenueRetention',
] as const;

/** Counts under their names, amounts in columns of their own. */
function flatRow({ provisional: bounds, ...row }: NamedRow): FlatRow {
	const cells = Object.entries(row).flatMap(([name, value]): [string, Cell][] => {
		if (typeof value !== 'object' || value === null) return [[name, value as Cell]];
		const named = { subscriptions: '', customers: 'Customers', recurringPence: 'Pence' }[name] ?? name;
		return Object.entries(value).map(([part, amount]) => [`${part}${named}`, amount as Cell]);
	});
	// Rows that are known have the columns, too: they are empty.
	const changing = provisionalFigures.flatMap((name): [string, Cell][] => {
		const [figure, unit] = name === 'closingPence' ? ['closing', 'Pence'] : [name, ''];
		const { low = null, likely = null, high = null } = bounds?.[name] ?? {};
		return [
			[`${figure}Low${unit}`, low],
			[`${figure}Likely${unit}`, likely],
			[`${figure}High${unit}`, high],
		];
	});
	return {
		...Object.fromEntries(cells),
		provisional: bounds ? 'provisional' : null,
		pastDue: bounds?.pastDue ?? null,
		pastDuePence: bounds?.pastDuePence ?? null,
		...Object.fromEntries(changing),
	};
}
