import { dayMs } from '../../core/durations.ts';
import { OperatorError } from '../../core/errors.ts';
import { day } from '../format/values.ts';
import { addDays, addMonths, calendarOf } from '../reports/calendar.ts';
import {
	filters,
	type ReportParameter,
	type ReportQuery,
	readQuery,
	type TakesParameters,
} from '../reports/report-query.ts';

/** Lengths of periods that end today, in days. Whole weeks, so that they have equally many of each weekday. */
export const periodDays = [7, 28, 91, 364] as const;
const defaultDays = 28;
/** Calendar months as periods, by how many months before this one they are. */
export const periodMonths = { 'this-month': 0, 'last-month': 1 } as const;

/** What all pages of figures take. It stands in the address. */
const viewNames: readonly ReportParameter[] = ['from', 'to', 'compare', 'timezone', 'include', ...filters];

/** The period and the filters of a page. */
export interface View {
	/** The first day; null: of all time. */
	readonly from: string | null;
	/** The day after the last one. */
	readonly to: string | null;
	/** The length of a period that ends today, `all`, or null where the days are given. */
	readonly period: string | null;
	/** What the address says, without what it leaves to the default. */
	readonly texts: Readonly<Record<string, string>>;
	readonly timezone: string;
}

/** Reads a page's query. @throws OperatorError that names what is wrong */
export function viewOf(query: URLSearchParams, { timezone }: { timezone: string }, nowMs: number): View {
	const texts: Record<string, string> = {};
	// The last day of a form; addresses have the day after it, as reports do.
	const until = query.get('until')?.trim();
	for (const name of [...viewNames, 'period']) {
		const text = query.get(name)?.trim();
		if (text) texts[name] = text;
	}
	if (until) texts.to = addDays(day(until), 1);
	const { period, ...own } = texts;
	const isGiven = own.from !== undefined || own.to !== undefined;
	const days = period === undefined ? defaultDays : periodDays.find((each) => String(each) === period);
	const months = Object.entries(periodMonths).find(([name]) => name === period)?.[1];
	if (!isGiven && period !== 'all' && days === undefined && months === undefined)
		throw new OperatorError(
			`period must be ${periodDays.join(', ')} days, ${Object.keys(periodMonths).join(', ')}, or all.`,
		);
	const read = readQuery({ kind: 'page', parameters: viewNames }, own, nowMs);
	const zone = read.timezone ?? timezone;
	const today = calendarOf(zone).dayOf(nowMs);
	if (isGiven) return { from: read.from, to: read.to, period: null, texts: own, timezone: zone };
	if (months !== undefined) {
		const month = addMonths(calendarOf(zone).monthOf(nowMs), -months);
		return {
			from: `${month}-01`,
			to: months === 0 ? addDays(today, 1) : `${addMonths(month, 1)}-01`,
			period: period as string,
			texts: { ...own, period: period as string },
			timezone: zone,
		};
	}
	if (days === undefined)
		return { from: null, to: null, period: 'all', texts: { ...own, period: 'all' }, timezone: zone };
	return {
		from: addDays(today, 1 - days),
		to: addDays(today, 1),
		period: String(days),
		texts: days === defaultDays ? own : { ...own, period: String(days) },
		timezone: zone,
	};
}

/** Whether a page counts mail gateways like everybody else. */
export function includeOf({ texts }: Pick<View, 'texts'>): 'gateways' | null {
	return texts.include === 'gateways' ? 'gateways' : null;
}

/** The query of an address with a view, and what differs from it; a null leaves a name out. */
export function queryText(
	view: View | undefined,
	changes: Readonly<Record<string, string | null>> = {},
): string {
	const all = Object.entries({ ...view?.texts, ...changes }).filter(([, text]) => text !== null);
	return all.length === 0 ? '' : `?${new URLSearchParams(all as [string, string][])}`;
}

/**
 * A report of what the view chooses: its parameters that the report takes.
 * @param texts parameters of the report besides, as an address has them; a null leaves one of the view out
 */
export function reportQueryOf(
	definition: TakesParameters,
	view: View,
	texts: Readonly<Record<string, string | null>>,
	nowMs: number,
): ReportQuery {
	// `period` of a view is the length of its period, `period` of a report the days between renewals.
	const { period: _, ...ofView } = view.texts;
	const taken = Object.entries({ ...ofView, ...texts }).filter(
		([name, text]) => text !== null && definition.parameters.some((each) => each === name),
	);
	const { from, to } = view;
	const read = readQuery(definition, Object.fromEntries(taken) as Record<string, string>, nowMs);
	return { ...read, from, to, compare: from === null ? null : read.compare };
}

/** How long the rows of a series are, so that they are some dozens. */
export function spanLengthOf({ from, to }: View, nowMs: number): 'day' | 'week' | 'month' {
	if (from === null) return 'month';
	const days = ((to === null ? nowMs : Date.parse(to)) - Date.parse(from)) / dayMs;
	return days <= 62 ? 'day' : days <= 400 ? 'week' : 'month';
}
