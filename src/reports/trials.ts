import type { SubscriptionTrial } from '../domain/subscription-course.ts';
import { touchDimensions } from '../domain/touch.ts';
import { dayMs } from '../durations.ts';
import type { Span } from './calendar.ts';
import type { CoursedJourney } from './courses.ts';
import { type GroupValues, groupsOf } from './grouping.ts';
import { isIn, type Period, placeOf, spansOf, type Terms } from './journey.ts';
import { percentilesOf } from './percentile.ts';
import { type FlatRow, reportThat, styled } from './report.ts';
import { curves, curvesByGroup } from './report-curves.ts';
import { bars } from './report-drawing.ts';
import { commonParameters } from './report-query.ts';
import { type ShareWithBounds, withBounds } from './share-interval.ts';

/** What became of some trials. */
export type TriedRow = ReturnType<typeof rowOf>;
/** A row with the name of its span and the values of its dimensions. */
type NamedRow = TriedRow & Readonly<Record<string, unknown>>;

type TriedJourney = CoursedJourney & { readonly trial: SubscriptionTrial };

function isTried(journey: CoursedJourney): journey is TriedJourney {
	return journey.trial !== null;
}

function triedAtMs({ trial }: TriedJourney): number {
	return trial.payments[0]?.atMs as number;
}

/** Trials that began in a period. Where they are grouped by price, it is that of the trial: what is paid later is not known yet. */
function trialsIn(journeys: readonly CoursedJourney[], period: Period): TriedJourney[] {
	return journeys
		.filter(isTried)
		.filter((journey) => isIn(period, triedAtMs(journey)))
		.map((journey) => ({ ...journey, payments: journey.trial.payments }));
}

/** What became of the trials that began in each span, by group. */
export function describeTrials(
	tried: readonly TriedJourney[],
	{ by, asOfMs }: Pick<Terms, 'by' | 'asOfMs'>,
	spans: readonly Span[],
): { readonly span: Span; readonly values: GroupValues; readonly row: TriedRow }[] {
	const rows = groupsOf(tried, by).flatMap(({ values, members }, group) =>
		[...Map.groupBy(members, (journey) => placeOf(spans, triedAtMs(journey)))].map(([place, own]) => {
			const trials = own.map(({ trial }) => trial);
			return { place, group, span: spans[place] as Span, values, row: rowOf(trials, asOfMs) };
		}),
	);
	return rows.sort((a, b) => a.place - b.place || a.group - b.group);
}

const unknownShare = { share: null, low: null, high: null };

function rowOf(trials: readonly SubscriptionTrial[], asOfMs: number) {
	const converted = trials.filter(({ convertedAtMs }) => convertedAtMs !== null);
	const isDecided = ({ decidedAtMs }: SubscriptionTrial) => decidedAtMs !== null && decidedAtMs <= asOfMs;
	const open = trials.filter((trial) => trial.convertedAtMs === null && !isDecided(trial)).length;
	// Early conversions of trials that are not over would count more than those that never come.
	const decided = trials.filter(isDecided).length;
	const of = converted.filter(isDecided).length;
	const rate: { readonly [Bound in keyof ShareWithBounds]: number | null } =
		decided === 0 ? unknownShare : withBounds(of / decided, decided);
	const daysOf = ({ payments: [first], convertedAtMs }: SubscriptionTrial) =>
		((convertedAtMs as number) - (first?.atMs as number)) / dayMs;
	return {
		trials: trials.length,
		converted: converted.length,
		open,
		notConverted: trials.length - converted.length - open,
		decided,
		conversionRate: rate.share,
		low: rate.low,
		high: rate.high,
		daysToConvert: percentilesOf(converted.map(daysOf)),
	};
}

/** The spans that trials are told by, or the whole period. */
function spansOfTrials(
	trials: readonly TriedJourney[],
	every: NonNullable<Parameters<typeof spansOf>[1]> | null,
	{ period, calendar, asOfMs }: Pick<Terms, 'period' | 'calendar' | 'asOfMs'>,
): readonly Span[] {
	if (every === null) return [{ name: '', ...period, part: null }];
	const firstMs = trials.reduce((first, journey) => Math.min(first, triedAtMs(journey)), Infinity);
	return spansOf(firstMs, every, { period, calendar, asOfMs });
}

export const trialsReport = reportThat({
	kind: 'trials',
	title: 'Trials',
	summary: 'who tries, and who pays after that',
	definition:
		'Of the trials that began in the period, by first touch, and by `every` month, week or day: how many have been paid for since (`converted`), how many may still be (`open`), and how many were not (`notConverted`). `conversionRate` is of those whose time is over (`decided`), with its 95 % interval.',
	parameters: [...commonParameters, 'by', 'every', 'lookbackDays', ...touchDimensions, 'segment', 'period'],
	knowsPlans: true,
	columns: {
		part: { isOptional: true },
		...styled(['conversionRate', 'low', 'high'], { isShare: true }),
		daysP50: { heading: 'days to convert: half' },
		daysP75: { heading: 'three quarters' },
		daysP90: { heading: 'nine of ten' },
	},
	async make({ query: { by, every }, period, asOfMs, calendar, courses }) {
		const trials = trialsIn(await courses(), period);
		const spans = spansOfTrials(trials, every, { period, calendar, asOfMs });
		const rows = describeTrials(trials, { by, asOfMs }, spans).map(
			({ span, values, row }) =>
				({ ...(every && { [every]: span.name, part: span.part }), ...values, ...row }) as NamedRow,
		);
		return {
			by,
			every,
			rows,
			warnings: warningsOf(trials),
			...(trials.length === 0 && { notes: [noTrials] }),
		};
	},
	table: ({ rows }) => rows.map(flatRow),
	draw({ by, every, rows }, table, _, notes) {
		const title = 'Share of the trials whose time is over that was converted';
		if (every === null) return by.length > 0 && bars(table, 'conversionRate', { title, isShare: true });
		const drawn = curvesByGroup(rows, by, (row) => ({ x: String(row[every]), y: row.conversionRate }));
		return curves(drawn, { title, isShare: true, noted: { notes, every } });
	},
});

const noTrials =
	'No trial began. A trial is what is uploaded of a subscription before its first payment, with an "rvn" of 0, or the first price where that is paid once and another one goes on.';

function flatRow({ daysToConvert, ...row }: NamedRow): FlatRow {
	const { p50: daysP50, p75: daysP75, p90: daysP90 } = daysToConvert;
	return { ...(row as unknown as FlatRow), daysP50, daysP75, daysP90 };
}

function warningsOf(trials: readonly TriedJourney[]): string[] {
	const unknown = trials.filter(({ trial }) => trial.decidedAtMs === null && trial.convertedAtMs === null);
	if (unknown.length === 0) return [];
	return [
		`Nothing tells how long ${unknown.length} of ${trials.length} trials last, so they stay open. Set it with --period EVT=DAYS, or 'caskade account update --renewal-days EVT=DAYS'.`,
	];
}
