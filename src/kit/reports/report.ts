import type { Gateways } from '../../core/domain/mail-gateways.ts';
import type { ShowMoney } from '../../core/format/money.ts';
import type { PageReads } from '../../core/store/serving.ts';
import type { Reading } from '../../core/store/steps.ts';
import type { Store } from '../../core/store/store.ts';
import type { HtmlValue } from '../format/html.ts';
import type { AccountHistory } from '../reading/histories.ts';
import type { Calendar } from './calendar.ts';
import type { CoursedJourney, CoursesAt } from './courses.ts';
import type { DayNote } from './day-notes.ts';
import type { Basis, Journey, Period, Totals } from './journey.ts';
import type { JourneyOptions, ReadJourneys } from './read-journeys.ts';
import type { ReportedAccount, ReportQuery, TakesParameters } from './report-query.ts';

/**
 * A report: what it is called, takes and tells. It is in one file. The command, the HTTP API with its document, the client's
 * types, CSV and pages derive from it, and `docs/reference/reports.md` has its definition under its kind.
 */
export interface ReportDefinition<Made extends ReportBody = ReportBody> extends TakesParameters {
	readonly title: string;
	/** What it answers, in a few words. */
	readonly summary: string;
	/** What its figures are. */
	readonly definition: string;
	/** Whether its rows are single subscriptions or visitors, which not everybody may see. */
	readonly isOfPersons?: boolean;
	/** Columns that are shown in another way than their names say. */
	readonly columns?: ColumnStyles;
	make(source: ReportSource): Promise<Made>;
	/**
	 * What it says, in a sentence or two, with how sure that is. It claims nothing that its intervals leave open.
	 * @returns null where there is nothing to say
	 */
	answer(report: AnsweredReport<Made>, money: ShowMoney): string | null;
	/** Above its table for people, where its columns say too little. */
	readonly tableTitle?: string;
	/** The rows of its table, where they are not those of the report. */
	table?(report: Made): readonly FlatRow[];
	/** Smaller tables of the same for people, where one would be too long or too wide; null where it is not. */
	parts?(report: Made): readonly SideTable[] | null;
	/** What it tells besides its rows. */
	sideTables?(report: Made): readonly SideTable[];
	/**
	 * Its pictures.
	 * @param notes what pictures of time tell of days
	 * @param linkOf where the sum of a column leads to
	 */
	draw(
		report: AnsweredReport<Made>,
		table: readonly FlatRow[],
		money: ShowMoney,
		notes: readonly DayNote[],
		linkOf?: (column: string) => string | undefined,
	): HtmlValue;
}

/** A report that is made, with the same of an earlier period. */
export type AnsweredReport<Made extends ReportBody> = Made &
	Pick<Report, 'asOf'> & { readonly compared?: Made & Pick<Report, 'from' | 'to'> };

/** A definition whose table and pictures are checked against what it makes. */
export function reportThat<Made extends ReportBody>(definition: ReportDefinition<Made>): ReportDefinition {
	return definition;
}

/** What a report makes: data for programs, amounts in pence. Rows have the values of their dimensions by name. */
export interface ReportBody {
	readonly basis?: Basis;
	readonly totals?: Totals;
	readonly rows: readonly object[];
	readonly warnings?: readonly string[];
	/** What is left out. */
	readonly notes?: readonly string[];
	/** How many visitors are left out who are mail gateways, where the report itself leaves them out. */
	readonly gatewayVisitors?: number;
}

/** A made report with what all reports say. Texts, CSV, JSON and pages are made from this value. */
export interface Report extends ReportBody {
	readonly aid: string;
	readonly from: string | null;
	readonly to: string | null;
	readonly asOf: string;
	readonly timezone: string;
	/** Amounts are in its minor unit. */
	readonly currency: string;
	/** What it says, in a sentence or two. Of an earlier period, there is none. */
	readonly answer?: string | null;
	readonly rows: readonly Readonly<Record<string, unknown>>[];
	/** The report of an earlier period. */
	readonly compared?: Report;
	readonly [field: string]: unknown;
}

/** What a report is made from. */
export interface ReportSource {
	readonly account: ReportedAccount;
	/** Knows the account's segments, goals and models. */
	readonly control: Store['control'];
	/** For what a report reads by itself. */
	readonly store: Pick<Store, 'read' | 'control'> & PageReads;
	readonly query: ReportQuery;
	readonly asOfMs: number;
	readonly calendar: Calendar;
	readonly period: Period;
	read<Outcome>(reading: (options: JourneyOptions) => Reading<Outcome>): Promise<Outcome>;
	/**
	 * Subscriptions that the query chooses, with their touches.
	 * @param needs `arrivals`: also those, and the paths of visitors who did not subscribe
	 */
	journeys(needs?: 'arrivals' | 'touches'): Promise<ReadJourneys>;
	/** Subscriptions that the query chooses, with touches only where these choose them. */
	subscriptions(): Promise<readonly Journey[]>;
	/** Subscriptions with how each has gone. Of all time, since their cadences are learned from all. */
	courses(): Promise<readonly CoursedJourney[]>;
	/** How subscriptions that were read had gone at other moments. */
	readonly coursesAt: CoursesAt;
	/** Tells the customer of a subscription: the `cid` of its first event that names one. */
	customers(): Promise<(subid: string) => string | undefined>;
	/** Visitors that are mail gateways, who are left out of who came: none if the query includes them. */
	gateways(): Promise<Gateways>;
	/** What visitors did. Mail gateways have done nothing, unless the query includes them. */
	history(): AccountHistory;
	/** Those whose owner is in a segment. */
	inSegment<Chosen extends Journey>(segment: string, journeys: readonly Chosen[]): Promise<readonly Chosen[]>;
}

export type Cell = string | number | null;
/** One value per cell. */
export type FlatRow = Readonly<Record<string, Cell>>;

export interface SideTable {
	readonly title: string;
	readonly rows: readonly FlatRow[];
	/** Besides the styles of the report. */
	readonly columns?: ColumnStyles;
}

/** How columns are shown, by name. Several of one name have a number each, as `ltvPence_3`: the number is left out here. */
export type ColumnStyles = Readonly<Record<string, ColumnStyle>>;

/** One style for several columns. */
export function styled(names: readonly string[], style: ColumnStyle): ColumnStyles {
	return Object.fromEntries(names.map((name) => [name, style]));
}

/** Headings of columns. */
export function headed(headings: Readonly<Record<string, string>>): ColumnStyles {
	return Object.fromEntries(Object.entries(headings).map(([name, heading]) => [name, { heading }]));
}

export interface ColumnStyle {
	/** For people, where the name says too little. */
	readonly heading?: string;
	/** A share is shown in per cent. */
	readonly isShare?: boolean;
	/** Cells are coloured by their values. */
	readonly isShaded?: boolean;
	/** Texts may be of any length. */
	readonly isLong?: boolean;
	/** Left out of tables for people where all its cells are empty. */
	readonly isOptional?: boolean;
	/** Left out of tables for people where all its cells are empty or zero. */
	readonly hidesZero?: boolean;
}
