import type { Movement } from '../domain/subscription-course.ts';
import { touchDimensions } from '../domain/touch.ts';
import type { Span } from './calendar.ts';
import { type CoursedJourney, warningsOf } from './courses.ts';
import { columnOf, type GroupValues, groupsOf } from './grouping.ts';
import { firstEventMs, isIn, placeOf, ratio, spansOf, type Terms } from './journey.ts';
import { type FlatRow, reportThat } from './report.ts';
import { curves, curvesByGroup } from './report-curves.ts';
import { commonParameters } from './report-query.ts';
import { withColumns } from './report-table.ts';

export type MovementRow = ReturnType<typeof rowOf>;
/** A row with the name of its span and the values of its dimensions. */
type NamedRow = MovementRow & Readonly<Record<string, unknown>>;

type Kind = Movement['kind'];

/** What happened in a span. */
class Tally {
	readonly counts = { new: 0, reactivated: 0, expansion: 0, contraction: 0, ended: 0 };
	readonly pence = { ...this.counts };
	refundPence = 0;
	/** Of subscriptions that were there at the opening. */
	lost = 0;
	lessPence = 0;
	morePence = 0;

	add(kind: Kind, pence: number): void {
		this.counts[kind]++;
		this.pence[kind] += Math.abs(pence);
	}

	get isEmpty(): boolean {
		return this.refundPence === 0 && Object.values(this.counts).every((count) => count === 0);
	}
}

/** How subscriptions and their recurring revenue changed in each span. */
export function describeMovement(
	journeys: readonly CoursedJourney[],
	{ by, spans }: Pick<Terms, 'by'> & { readonly spans: readonly Span[] },
): { readonly span: Span; readonly values: GroupValues; readonly row: MovementRow }[] {
	const rows = groupsOf(journeys, by).flatMap(({ values, members }, group) => {
		const tallies = spans.map(() => new Tally());
		const before = new Tally();
		for (const member of members) tally(member, spans, (place) => (place < 0 ? before : tallies[place]));
		let [subscriptions, pence] = closingOf({ subscriptions: 0, pence: 0 }, before);
		let hasBegun = by.length === 0 || subscriptions > 0;
		return tallies.flatMap((tally, place) => {
			hasBegun ||= !tally.isEmpty;
			if (!hasBegun) return [];
			const row = rowOf(tally, { subscriptions, pence });
			[subscriptions, pence] = [row.subscriptions.closing, row.recurringPence.closing];
			return [{ place, group, span: spans[place] as Span, values, row }];
		});
	});
	return rows.sort((a, b) => a.place - b.place || a.group - b.group);
}

interface Opening {
	readonly subscriptions: number;
	readonly pence: number;
}

function closingOf(opening: Opening, { counts, pence }: Tally): [subscriptions: number, pence: number] {
	return [
		opening.subscriptions + counts.new + counts.reactivated - counts.ended,
		opening.pence + pence.new + pence.reactivated + pence.expansion - pence.contraction - pence.ended,
	];
}

/** Of one span: opening and what was added, less what was lost, is closing. Recurring pence are per month. */
function rowOf(tally: Tally, opening: Opening) {
	const { counts, pence, refundPence, lost, lessPence, morePence } = tally;
	const [closing, closingPence] = closingOf(opening, tally);
	const { new: added, reactivated, ended } = counts;
	return {
		subscriptions: { opening: opening.subscriptions, new: added, reactivated, ended, closing },
		recurringPence: { opening: opening.pence, ...pence, closing: closingPence },
		refundPence,
		// Of the subscriptions at the opening, the share that is not there at the closing.
		subscriptionChurn: ratio(lost, opening.subscriptions),
		// Of the recurring pence at the opening, what the same subscriptions pay at the closing, without and with expansion.
		grossRevenueRetention: ratio(opening.pence - lessPence, opening.pence),
		netRevenueRetention: ratio(opening.pence - lessPence + morePence, opening.pence),
	};
}

/** Adds what happened to a subscription. @param at returns the tally of a span, -1 for what was before all */
function tally(
	{ subscription, course }: CoursedJourney,
	spans: readonly Span[],
	at: (place: number) => Tally | undefined,
): void {
	for (const { kind, atMs, revenuePence } of subscription.steps) {
		const of = kind === 'refund' ? at(placeOf(spans, atMs)) : undefined;
		if (of) of.refundPence += revenuePence;
	}
	let now = { isThere: false, pence: 0 };
	let opening = now;
	let place = -1;
	const close = () => {
		const of = at(place);
		if (!of || !opening.isThere) return;
		if (!now.isThere) of.lost++;
		of.lessPence += Math.max(0, opening.pence - now.pence);
		of.morePence += Math.max(0, now.pence - opening.pence);
	};
	for (const { kind, atMs, recurringPence } of course?.movements ?? []) {
		const next = placeOf(spans, atMs);
		if (next !== place) {
			close();
			[place, opening] = [next, now];
		}
		at(place)?.add(kind, recurringPence - now.pence);
		now = { isThere: kind !== 'ended', pence: recurringPence };
	}
	close();
}

export const movementReport = reportThat({
	kind: 'movement',
	title: 'Movement',
	summary: 'how subscriptions and recurring revenue grow and shrink',
	definition:
		'By month, week or day: subscriptions and recurring pence at the opening, what came and went, and at the closing. Recurring revenue (MRR) is what a subscription pays, divided by the months that it pays for; annual ÷ 12. `opening + new + reactivated − ended = closing`; pence also `+ expansion − contraction`.',
	parameters: [...commonParameters, 'by', 'every', 'lookbackDays', ...touchDimensions, 'segment', 'period'],
	knowsPlans: true,
	initial: { by: [], every: 'month' },
	columns: {
		subscriptionChurn: { isShare: true, heading: 'churn' },
		grossRevenueRetention: { isShare: true, heading: 'gross retention' },
		netRevenueRetention: { isShare: true, heading: 'net retention' },
	},
	async make({ query, period, asOfMs, calendar, courses }) {
		const { by } = query;
		const every = query.every ?? 'month';
		const journeys = await courses();
		const spans = spansOf(firstEventMs(journeys), every, { period, calendar, asOfMs });
		const rows = describeMovement(journeys, { by, spans }).map(
			({ span, values, row }) => ({ [every]: span.name, ...values, ...row }) as NamedRow,
		);
		const isLatest = isIn(period, asOfMs);
		return { by, every, rows, warnings: isLatest ? warningsOf(journeys) : [] };
	},
	table: ({ rows }) => rows.map(flatRow),
	parts({ rows, by, every }) {
		const table = rows.map(flatRow);
		const names = [every, ...by.map(columnOf)];
		const counts = ['opening', 'new', 'reactivated', 'ended', 'closing'];
		const pence = ['opening', 'new', 'reactivated', 'expansion', 'contraction', 'ended', 'closing', 'refund'];
		const ofPence = [...pence.map((name) => `${name}Pence`), 'grossRevenueRetention', 'netRevenueRetention'];
		return [
			{
				title: `Subscriptions, and which share of those at the opening the ${every} lost`,
				rows: withColumns(table, [...names, ...counts, 'subscriptionChurn']),
				columns: { subscriptionChurn: { isShare: true, heading: `churn a ${every}` } },
			},
			{
				title: `Recurring revenue a month, refunds, and which share of that at the opening the ${every} kept`,
				rows: withColumns(table, [...names, ...ofPence]),
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
		}));
		return curves(drawn, {
			title: 'Recurring revenue a month, at the closing',
			money,
			noted: { notes, every },
		});
	},
});

/** Counts under their names, amounts in columns of their own. */
function flatRow(row: NamedRow): FlatRow {
	const cells = Object.entries(row).flatMap(([name, value]) => {
		if (typeof value !== 'object' || value === null) return [[name, value]];
		const unit = name === 'subscriptions' ? '' : 'Pence';
		return Object.entries(value).map(([part, amount]) => [`${part}${unit}`, amount]);
	});
	return Object.fromEntries(cells);
}
