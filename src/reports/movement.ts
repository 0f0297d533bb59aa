import type { Movement } from '../domain/subscription-course.ts';
import { touchDimensions } from '../domain/touch.ts';
import { counted } from '../format/numbers.ts';
import type { Span } from './calendar.ts';
import { type CoursedJourney, isPaid, warningsOf } from './courses.ts';
import { columnOf, type GroupValues, groupsOf } from './grouping.ts';
import { firstEventMs, isIn, placeOf, ratio, rounded, spansOf, type Terms } from './journey.ts';
import { chanceOfLoss, isOpen, type Provisional, provisional } from './open-dues.ts';
import { type Cell, type FlatRow, reportThat, styled } from './report.ts';
import { curves, curvesByGroup } from './report-curves.ts';
import { commonParameters } from './report-query.ts';
import { withColumns } from './report-table.ts';

export type MovementRow = ReturnType<typeof rowOf> & {
	readonly provisional: ReturnType<typeof provisionalOf>;
};
/** A row with the name of its span and the values of its dimensions. */
type NamedRow = MovementRow & Readonly<Record<string, unknown>>;

type Kind = Movement['kind'];

/** What happened in a span. */
class Tally {
	readonly counts = { new: 0, reactivated: 0, expansion: 0, contraction: 0, ended: 0 };
	readonly pence = { ...this.counts };
	refundPence = 0;
	recovered = 0;
	/** Of subscriptions that were there at the opening. */
	lost = 0;
	lessPence = 0;
	morePence = 0;

	add(kind: Kind, pence: number): void {
		this.counts[kind]++;
		this.pence[kind] += Math.abs(pence);
	}

	/** Adds another one so many times. */
	addAll(other: Tally, times = 1): this {
		for (const kind of Object.keys(this.counts) as Kind[]) {
			this.counts[kind] += times * other.counts[kind];
			this.pence[kind] += times * other.pence[kind];
		}
		this.refundPence += times * other.refundPence;
		this.recovered += times * other.recovered;
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

/** How subscriptions and their recurring revenue changed in each span. */
export function describeMovement(
	journeys: readonly CoursedJourney[],
	{ by, spans, asOfMs }: Pick<Terms, 'by' | 'asOfMs'> & { readonly spans: readonly Span[] },
): { readonly span: Span; readonly values: GroupValues; readonly row: MovementRow }[] {
	const lossOf = chanceOfLoss(journeys, asOfMs);
	const rows = groupsOf(journeys, by).flatMap(({ values, members }, group) => {
		const tallies = spans.map(() => new SpanTally());
		const before = new SpanTally();
		for (const member of members) {
			const at = (place: number) => (place < 0 ? before : tallies[place]);
			const chance = isPaid(member) && isOpen(member) ? lossOf(member) : 0;
			tally(member, { spans, at, chance });
		}
		const nobody = { subscriptions: 0, pence: 0 };
		let openings = openingsAfter({ known: nobody, worst: nobody, likely: nobody }, before);
		let hasBegun = by.length === 0 || openings.known.subscriptions > 0;
		return tallies.flatMap((tally, place) => {
			hasBegun ||= !tally.known.isEmpty;
			const row = rowOf(tally.known, openings.known);
			const provisional = provisionalOf(tally, openings);
			openings = openingsAfter(openings, tally);
			if (!hasBegun) return [];
			return [{ place, group, span: spans[place] as Span, values, row: { ...row, provisional } }];
		});
	});
	return rows.sort((a, b) => a.place - b.place || a.group - b.group);
}

interface Opening {
	readonly subscriptions: number;
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
		subscriptions: opening.subscriptions + counts.new + counts.reactivated - counts.ended,
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
function provisionalOf(tally: SpanTally, { known, worst, likely }: Openings) {
	const { ended: pastDue } = tally.open.counts;
	if (pastDue === 0 && known.subscriptions === worst.subscriptions) return null;
	const [best, least, probable] = [tally.known, worstOf(tally), likelyOf(tally)];
	const [closing, leastClosing, likelyClosing] = [
		closingOf(known, best),
		closingOf(worst, least),
		closingOf(likely, probable),
	];
	const shares = (of: (tally: Tally) => number, openings: (opening: Opening) => number) => {
		const among = [best, least].flatMap((each) =>
			[known, worst].flatMap((opening) => ratio(of(each), openings(opening)) ?? []),
		);
		if (among.length === 0) return null;
		return provisional(ratio(of(probable), openings(likely)) ?? 0, among);
	};
	const ofPence = ({ pence }: Opening) => pence;
	const kept = (change: (tally: Tally) => number) => {
		const changed = shares(change, ofPence);
		if (!changed) return null;
		const [low, likelyShare, high] = [changed.low, changed.likely, changed.high].map((share) =>
			rounded(1 + share, 4),
		);
		return { low, likely: likelyShare, high } as Provisional;
	};
	return {
		/** Due in this span, and not renewed yet. */
		pastDue,
		pastDuePence: tally.open.pence.ended,
		ended: whole(probable.counts.ended, [best.counts.ended, least.counts.ended]),
		closing: whole(likelyClosing.subscriptions, [closing.subscriptions, leastClosing.subscriptions]),
		closingPence: whole(likelyClosing.pence, [closing.pence, leastClosing.pence]),
		subscriptionChurn: shares(
			({ lost }) => lost,
			({ subscriptions }) => subscriptions,
		),
		grossRevenueRetention: kept(({ lessPence }) => -lessPence),
		netRevenueRetention: kept(({ lessPence, morePence }) => morePence - lessPence),
	};
}

function whole(likely: number, among: readonly number[]): Provisional {
	return provisional(Math.round(likely), among);
}

/** Of one span: opening and what was added, less what was lost, is closing. Recurring pence are per month. */
function rowOf(tally: Tally, opening: Opening) {
	const { counts, pence, refundPence, recovered, lost, lessPence, morePence } = tally;
	const closing = closingOf(opening, tally);
	const { new: added, reactivated, ended } = counts;
	return {
		subscriptions: {
			opening: opening.subscriptions,
			new: added,
			reactivated,
			ended,
			closing: closing.subscriptions,
			// Those that were past due, and were paid in time.
			recovered,
		},
		recurringPence: { opening: opening.pence, ...pence, closing: closing.pence },
		refundPence,
		// Of the subscriptions at the opening, the share that is not there at the closing.
		subscriptionChurn: ratio(lost, opening.subscriptions),
		// Of the recurring pence at the opening, what the same subscriptions pay at the closing, without and with expansion.
		grossRevenueRetention: ratio(opening.pence - lessPence, opening.pence),
		netRevenueRetention: ratio(opening.pence - lessPence + morePence, opening.pence),
	};
}

/**
 * Adds what happened to a subscription.
 * @param at returns the tally of a span, of place -1 for what was before all
 * @param chance how likely it does not renew if it is due and may
 */
function tally(
	journey: CoursedJourney,
	{
		spans,
		at,
		chance,
	}: {
		readonly spans: readonly Span[];
		readonly at: (place: number) => SpanTally | undefined;
		readonly chance: number;
	},
): void {
	const { subscription, course } = journey;
	for (const { kind, atMs, revenuePence } of subscription.steps) {
		const of = kind === 'refund' ? at(placeOf(spans, atMs))?.known : undefined;
		if (of) of.refundPence += revenuePence;
	}
	for (const atMs of course?.recoveredAtMs ?? []) {
		const of = at(placeOf(spans, atMs))?.known;
		if (of) of.recovered++;
	}
	let now: Standing = { isThere: false, pence: 0 };
	let opening = now;
	let place = -1;
	const enter = (atMs: number) => {
		const next = placeOf(spans, atMs);
		if (next === place) return;
		close(at(place)?.known, opening, now);
		[place, opening] = [next, now];
	};
	for (const { kind, atMs, recurringPence } of course?.movements ?? []) {
		enter(atMs);
		at(place)?.known.add(kind, recurringPence - now.pence);
		now = { isThere: kind !== 'ended', pence: recurringPence };
	}
	if (isOpen(journey) && course?.dueAtMs) {
		enter(course.dueAtMs);
		const lost = new Tally();
		close(lost, opening, now, -1);
		lost.add('ended', now.pence);
		close(lost, opening, { isThere: false, pence: 0 });
		at(place)?.open.addAll(lost);
		at(place)?.likely.addAll(lost, chance);
	}
	close(at(place)?.known, opening, now);
}

/** Whether a subscription is there, and its recurring pence. */
interface Standing {
	readonly isThere: boolean;
	readonly pence: number;
}

/** Adds how a subscription that was there at the opening of a span has changed until its closing. */
function close(of: Tally | undefined, opening: Standing, now: Standing, times = 1): void {
	if (!of || !opening.isThere) return;
	if (!now.isThere) of.lost += times;
	of.lessPence += times * Math.max(0, opening.pence - now.pence);
	of.morePence += times * Math.max(0, now.pence - opening.pence);
}

export const movementReport = reportThat({
	kind: 'movement',
	title: 'Movement',
	summary: 'how subscriptions and recurring revenue grow and shrink',
	definition:
		'By month, week or day: subscriptions and recurring pence at the opening, what came and went, and at the closing. Recurring revenue (MRR) is what a subscription pays, divided by the months that it pays for; annual ÷ 12. `opening + new + reactivated − ended = closing`; pence also `+ expansion − contraction`. `part` says how much of the month or week is in the period, or over, where it is not all.',
	parameters: [...commonParameters, 'by', 'every', 'lookbackDays', ...touchDimensions, 'segment', 'period'],
	knowsPlans: true,
	initial: { by: [], every: 'month' },
	columns: {
		part: { isOptional: true },
		subscriptionChurn: { isShare: true, heading: 'churn' },
		grossRevenueRetention: { isShare: true, heading: 'gross retention' },
		netRevenueRetention: { isShare: true, heading: 'net retention' },
		provisional: { heading: 'known', isOptional: true },
		...styled(['pastDue', 'pastDuePence', 'closingLow', 'closingLowPence'], { isOptional: true }),
		subscriptionChurnLikely: { isShare: true, isOptional: true, heading: 'churn likely' },
		subscriptionChurnHigh: { isShare: true, isOptional: true, heading: 'churn at most' },
		netRevenueRetentionLow: { isShare: true, isOptional: true, heading: 'net retention at least' },
		netRevenueRetentionLikely: { isShare: true, isOptional: true, heading: 'net retention likely' },
	},
	async make({ query, period, asOfMs, calendar, courses }) {
		const { by } = query;
		const every = query.every ?? 'month';
		const journeys = await courses();
		const spans = spansOf(firstEventMs(journeys), every, { period, calendar, asOfMs });
		const rows = describeMovement(journeys, { by, spans, asOfMs }).map(
			({ span, values, row }) => ({ [every]: span.name, part: span.part, ...values, ...row }) as NamedRow,
		);
		const isLatest = isIn(period, asOfMs);
		const warnings = [...provisionalWarnings(rows, every), ...(isLatest ? warningsOf(journeys) : [])];
		return { by, every, rows, warnings };
	},
	table: ({ rows }) => rows.map(flatRow),
	parts({ rows, by, every }) {
		const table = rows.map(flatRow);
		const names = [every, 'part', ...by.map(columnOf)];
		const counts = ['opening', 'new', 'reactivated', 'ended', 'closing', 'recovered'];
		const pence = ['opening', 'new', 'reactivated', 'expansion', 'contraction', 'ended', 'closing', 'refund'];
		const ofPence = [...pence.map((name) => `${name}Pence`), 'grossRevenueRetention', 'netRevenueRetention'];
		return [
			{
				title: `Subscriptions, and which share of those at the opening the ${every} lost`,
				rows: withColumns(table, [...names, ...counts, 'subscriptionChurn', ...provisionalCounts]),
				columns: { subscriptionChurn: { isShare: true, heading: `churn a ${every}` } },
			},
			{
				title: `Recurring revenue a month, refunds, and which share of that at the opening the ${every} kept`,
				rows: withColumns(table, [...names, ...ofPence, ...provisionalPence]),
				columns: {
					grossRevenueRetention: { isShare: true, heading: `gross retention a ${every}` },
					netRevenueRetention: { isShare: true, heading: `net retention a ${every}` },
				},
			},
		];
	},
	draw({ by, every, rows }, _, money, notes) {
		const drawn = curvesByGroup(rows, by, (row) => ({
			x: String(row[every]),
			y: row.recurringPence.closing,
			...(row.provisional && {
				low: row.provisional.closingPence.low,
				high: row.provisional.closingPence.high,
			}),
			part: row.part as string | null,
		}));
		return curves(drawn, {
			title: 'Recurring revenue a month, at the closing',
			money,
			noted: { notes, every },
		});
	},
});

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
	const [were, have] = pastDue === 1 ? ['was', 'has'] : ['were', 'have'];
	return [
		`Provisional: ${shown}. ${counted(pastDue, 'subscription')} that ${were} due then ${have} not renewed yet, and may until the grace is over. The figures count them as there; beside them is what they become at worst (none renews), and what is likely.`,
	];
}

const provisionalFigures = [
	'ended',
	'closing',
	'closingPence',
	'subscriptionChurn',
	'grossRevenueRetention',
	'netRevenueRetention',
] as const;

/** Counts under their names, amounts in columns of their own. */
function flatRow({ provisional: bounds, ...row }: NamedRow): FlatRow {
	const cells = Object.entries(row).flatMap(([name, value]): [string, Cell][] => {
		if (typeof value !== 'object' || value === null) return [[name, value as Cell]];
		const unit = name === 'subscriptions' ? '' : 'Pence';
		return Object.entries(value).map(([part, amount]) => [`${part}${unit}`, amount as Cell]);
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
