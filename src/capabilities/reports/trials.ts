import { touchDimensions } from '../../core/domain/touch.ts';
import { dayMs } from '../../core/durations.ts';
import { counted } from '../../core/format/numbers.ts';
import { boundedText } from '../../kit/reports/answer-text.ts';
import type { Span } from '../../kit/reports/calendar.ts';
import type { CoursedJourney } from '../../kit/reports/courses.ts';
import { percentilesOf } from '../../kit/reports/exact-percentile.ts';
import { type GroupValues, groupsOf } from '../../kit/reports/grouping.ts';
import { isIn, type Period, placeOf, ratio, spansOf, type Terms } from '../../kit/reports/journey.ts';
import { type FlatRow, headed, reportThat, styled } from '../../kit/reports/report.ts';
import { curves, curvesByGroup } from '../../kit/reports/report-curves.ts';
import { commonParameters } from '../../kit/reports/report-query.ts';
import { bars } from '../../kit/reports/report-rows.ts';
import { type ShareWithBounds, withBounds } from '../../kit/reports/share-interval.ts';
import { sumOf } from '../../kit/reports/sums.ts';
import type { SubscriptionTrial } from '../../kit/reports/tried-course.ts';
import { provisional } from './open-dues.ts';

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

/** The trials of all journeys, whenever they began. */
function trialsOf(journeys: readonly CoursedJourney[]): SubscriptionTrial[] {
	return journeys.filter(isTried).map(({ trial }) => trial);
}

/** Whether its time is over, whatever came of it. */
function isDecided({ decidedAtMs }: SubscriptionTrial, asOfMs: number): boolean {
	return decidedAtMs !== null && decidedAtMs <= asOfMs;
}

/** When it was cancelled; Infinity if it was not. */
function cancelledAtMs({ payments }: SubscriptionTrial): number {
	return payments.at(-1)?.cancelledAtMs ?? Number.POSITIVE_INFINITY;
}

/** Whether it may still be paid for: its time is not over, and nobody has cancelled. */
function isOpen(trial: SubscriptionTrial, asOfMs: number): boolean {
	return trial.convertedAtMs === null && !isDecided(trial, asOfMs) && cancelledAtMs(trial) > asOfMs;
}

/** After how many days earlier trials were paid for, and after how many those stopped being open that were not. */
interface EarlierTrials {
	readonly convertedDays: number[];
	readonly lostDays: number[];
}

/**
 * How likely a trial that is open is paid for: of the trials of the same price that are over and were open for as long, the share
 * that was. Those of all prices together count as ten of them.
 */
function chanceOfConversion(
	trials: readonly SubscriptionTrial[],
	asOfMs: number,
): (trial: SubscriptionTrial) => number {
	const none = (): EarlierTrials => ({ convertedDays: [], lostDays: [] });
	const all = none();
	const ofPrices = new Map<number, EarlierTrials>();
	const [priceOf, beganMs] = [
		({ payments: [first] }: SubscriptionTrial) => first?.pricePence ?? 0,
		({ payments: [first] }: SubscriptionTrial) => first?.atMs ?? 0,
	];
	for (const trial of trials.filter((each) => isDecided(each, asOfMs)))
		for (const earlier of [ofPrices.getOrInsertComputed(priceOf(trial), none), all]) {
			const days = (atMs: number) => (atMs - beganMs(trial)) / dayMs;
			if (trial.convertedAtMs === null) earlier.lostDays.push(days(cancelledAtMs(trial)));
			else earlier.convertedDays.push(days(trial.convertedAtMs));
		}
	const shareOf = (earlier: EarlierTrials, ageDays: number, prior: number, weight: number) => {
		const later = (days: readonly number[]) => days.filter((each) => each > ageDays).length;
		const converted = later(earlier.convertedDays);
		return (converted + prior * weight) / (converted + later(earlier.lostDays) + weight);
	};
	return (trial) => {
		const ageDays = (asOfMs - beganMs(trial)) / dayMs;
		return shareOf(ofPrices.get(priceOf(trial)) ?? none(), ageDays, shareOf(all, ageDays, 0.5, 1), 10);
	};
}

/**
 * What became of the trials that began in each span, by group.
 * @param all trials, also those of other times: what became of them tells what is likely
 */
export function describeTrials(
	tried: readonly TriedJourney[],
	{ by, asOfMs, all }: Pick<Terms, 'by' | 'asOfMs'> & { readonly all: readonly SubscriptionTrial[] },
	spans: readonly Span[],
): { readonly span: Span; readonly values: GroupValues; readonly row: TriedRow }[] {
	const chanceOf = chanceOfConversion(all, asOfMs);
	const rows = groupsOf(tried, by).flatMap(({ values, members }, group) =>
		[...Map.groupBy(members, (journey) => placeOf(spans, triedAtMs(journey)))].map(([place, own]) => {
			const trials = own.map(({ trial }) => trial);
			return { place, group, span: spans[place] as Span, values, row: rowOf(trials, asOfMs, chanceOf) };
		}),
	);
	return rows.sort((a, b) => a.place - b.place || a.group - b.group);
}

const unknownShare = { share: null, low: null, high: null };

function rowOf(
	trials: readonly SubscriptionTrial[],
	asOfMs: number,
	chanceOf: (trial: SubscriptionTrial) => number,
) {
	const converted = trials.filter(({ convertedAtMs }) => convertedAtMs !== null);
	const running = trials.filter((trial) => isOpen(trial, asOfMs));
	const open = running.length;
	// Early conversions of trials that are not over would count more than those that never come.
	const decided = trials.filter((trial) => isDecided(trial, asOfMs)).length;
	const of = converted.filter((trial) => isDecided(trial, asOfMs)).length;
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
		provisional: provisionalOf(converted.length, running.map(chanceOf), trials.length, decided),
	};
}

/** What comes of all trials of a row, if none or all of those that are open are paid for; null once the time of all is over. */
function provisionalOf(converted: number, chances: readonly number[], trials: number, decided: number) {
	if (decided === trials) return null;
	const most = converted + chances.length;
	const likely = chances.reduce((sum, chance) => sum + chance, converted);
	const rate = (number: number) => ratio(number, trials) ?? 0;
	return {
		converted: provisional(Math.round(likely), [converted, most]),
		conversionRate: provisional(rate(likely), [rate(converted), rate(most)]),
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
	summary: 'who tries, and who pays afterwards',
	definition:
		'Of the trials that began in the period, by first touch, and by month, week or day (`every`): how many have been paid for since (`converted`), how many still may be (`open`), and how many were not (`notConverted`). `conversionRate` is that of the trials whose time is over (`decided`), with its 95 % interval.',
	parameters: [...commonParameters, 'by', 'every', 'lookbackDays', ...touchDimensions, 'segment', 'period'],
	knowsPlans: true,
	columns: {
		part: { isOptional: true, heading: 'incomplete' },
		...styled(['conversionRate', 'low', 'high'], { isShare: true }),
		provisional: { heading: 'status', isOptional: true },
		...styled(['convertedLow', 'convertedLikely', 'convertedHigh'], { isOptional: true }),
		conversionRateLow: { isShare: true, isOptional: true, heading: 'rate at least' },
		conversionRateLikely: { isShare: true, isOptional: true, heading: 'rate likely' },
		conversionRateHigh: { isShare: true, isOptional: true, heading: 'rate at most' },
		...headed({ daysP50: 'days to convert: half', daysP75: 'three quarters', daysP90: 'nine of ten' }),
	},
	async make({ query: { by, every }, period, asOfMs, calendar, courses }) {
		const journeys = await courses();
		const trials = trialsIn(journeys, period);
		const spans = spansOfTrials(trials, every, { period, calendar, asOfMs });
		const rows = describeTrials(trials, { by, asOfMs, all: trialsOf(journeys) }, spans).map(
			({ span, values, row }) =>
				({ ...(every && { [every]: span.name, part: span.part }), ...values, ...row }) as NamedRow,
		);
		return {
			by,
			every,
			rows,
			warnings: [...provisionalWarnings(rows, every), ...warningsOf(trials)],
			...(trials.length === 0 && { notes: [noTrials] }),
		};
	},
	answer({ rows }) {
		const [trials, decided] = [sumOf(rows, (row) => row.trials), sumOf(rows, (row) => row.decided)];
		if (trials === 0) return null;
		const converted = sumOf(rows, (row) => row.decided - row.notConverted);
		const open = decided < trials ? ` ${counted(trials - decided, 'is', 'are')} not over yet.` : '';
		return decided === 0
			? `${counted(trials, 'trial')} began, of which none is over yet.`
			: `Of ${counted(decided, 'trial')} whose time is over, ${boundedText(withBounds(converted / decided, decided))} were paid for.${open}`;
	},
	table: ({ rows }) => rows.map(flatRow),
	draw({ by, every, rows }, table, _, notes) {
		const title = 'Conversion rate of the trials whose time is over';
		if (every === null) return by.length > 0 && bars(table, 'conversionRate', { title, isShare: true });
		const drawn = curvesByGroup(rows, by, (row) => ({
			x: String(row[every]),
			y: row.conversionRate,
			...(row.provisional && {
				low: row.provisional.conversionRate.low,
				high: row.provisional.conversionRate.high,
			}),
		}));
		return curves(drawn, { title, isShare: true, noted: { notes, every } });
	},
});

const noTrials =
	'No trial began. A trial is what is uploaded of a subscription before its first payment, with an "rvn" of 0; or an introductory price, paid once before another one.';

function flatRow({ daysToConvert, provisional: bounds, ...row }: NamedRow): FlatRow {
	const { p50: daysP50, p75: daysP75, p90: daysP90 } = daysToConvert;
	// Rows that are known have the columns, too: they are empty.
	const changing = (['converted', 'conversionRate'] as const).flatMap((name): [string, number | null][] => {
		const { low = null, likely = null, high = null } = bounds?.[name] ?? {};
		return [
			[`${name}Low`, low],
			[`${name}Likely`, likely],
			[`${name}High`, high],
		];
	});
	return {
		...(row as unknown as FlatRow),
		daysP50,
		daysP75,
		daysP90,
		provisional: bounds ? 'provisional' : null,
		...Object.fromEntries(changing),
	};
}

/** Says which rows are not known yet. */
function provisionalWarnings(rows: readonly NamedRow[], every: string | null): string[] {
	const changing = rows.filter((row) => row.provisional !== null);
	if (changing.length === 0) return [];
	const running = changing.reduce((sum, row) => sum + row.trials - row.decided, 0);
	const names = every === null ? [] : [...new Set(changing.map((row) => String(row[every])))];
	const which = names.length > 3 ? `${names.slice(0, 2).join(', ')} … ${names.at(-1)}` : names.join(', ');
	return [
		`Provisional${which && `: ${which}`}. The time of ${counted(running, 'trial')} is not over yet. Further columns show the outcome if no open trial is paid for, if all are, and what is likely.`,
	];
}

function warningsOf(trials: readonly TriedJourney[]): string[] {
	const unknown = trials.filter(({ trial }) => trial.decidedAtMs === null && trial.convertedAtMs === null);
	if (unknown.length === 0) return [];
	return [
		`Nothing tells how long ${unknown.length} of ${trials.length} trials last, so they stay open. Set it with --period EVT=DAYS, or 'caskade account update --renewal-days EVT=DAYS'.`,
	];
}
