import type { EventKind } from '../../../core/domain/event-kind.ts';
import { type TouchDimension, touchDimensions } from '../../../core/domain/touch.ts';
import { searchPath, visitorPath } from '../../../kit/console/links.ts';
import type { AskedOfAccount } from '../../../kit/console/page.ts';
import { queryText } from '../../../kit/console/view.ts';
import { may } from '../../../kit/person.ts';
import { addDays, addMonths } from '../../../kit/reports/calendar.ts';
import { none } from '../../../kit/reports/label.ts';
import type { FlatRow, Report, ReportDefinition } from '../../../kit/reports/report.ts';
import type { LinkOfCell } from '../../../kit/reports/report-drawing.ts';

/** What the rows of a figure are: visitors who came, or subscriptions, with or without an event of some kind. */
export type Rows = 'visitors' | EventKind | 'subscriptions';

/** The rows of a column of any report. Other figures are of no rows, or of those of the whole report. */
const rowsOf: Readonly<Record<string, Rows>> = {
	arrivals: 'visitors',
	visitors: 'visitors',
	hits: 'visitors',
	trials: 'trial',
	subscriptions: 'acquisition',
	new: 'acquisition',
	acquisitionPence: 'acquisition',
	renewals: 'renewal',
	renewalPence: 'renewal',
	refunds: 'refund',
	refundPence: 'refund',
	netPence: 'subscriptions',
	changePence: 'subscriptions',
};

/** Reports on subscriptions that were acquired in their period. All their figures are of these. */
const cohortReports: ReadonlySet<string> = new Set(['retention', 'ltv', 'renewals']);
const eventReports: ReadonlySet<string> = new Set(['activity', 'attribution', 'movement', 'spend']);

/** What an account's touches are told apart by next. */
const nextBy: Partial<Record<TouchDimension, TouchDimension>> = {
	channel: 'source',
	source: 'campaign',
	medium: 'campaign',
	campaign: 'landing',
};

/** Where the figures of a report lead to. Nowhere for who may not see single visitors, but to the figures below. */
export function linksOf(
	asked: AskedOfAccount,
	{ kind }: Pick<ReportDefinition, 'kind'>,
	report: Report,
): LinkOfCell {
	const { account, person } = asked;
	const seesRows = may(person, account.aid, 'visitors');
	if (kind === 'subscriptions')
		return (row, column) =>
			column === 'subid'
				? searchPath(account.aid, String(row.subid))
				: column === 'vid'
					? visitorPath(account.aid, String(row.vid))
					: undefined;
	const isCohort = cohortReports.has(kind) || report.basis === 'cohort';
	return (row, column) => {
		if (kind === 'attribution' && isDimension(column)) return attributionOf(asked, row, column);
		if (!seesRows || typeof row[column] !== 'number') return undefined;
		const rows = isCohort && cohortReports.has(kind) ? 'subscriptions' : rowsOf[column];
		if (!rows || !(isCohort || eventReports.has(kind))) return undefined;
		return rowsPath(asked, rows, { row, report, isCohort });
	};
}

function isDimension(column: string): column is TouchDimension {
	return touchDimensions.some((name) => name === column);
}

/** The same figures of one channel, source or campaign, told apart further. */
function attributionOf(
	{ account, view }: AskedOfAccount,
	row: FlatRow,
	column: TouchDimension,
): string | undefined {
	const by = nextBy[column];
	const texts = labelsOf(row);
	return by && texts && `/console/${account.aid}/attribution${queryText(view, { ...texts, by })}`;
}

/** The filters that choose what a row is about; undefined where no filter does. */
function labelsOf(row: FlatRow): Record<string, string> | undefined {
	const named = [...touchDimensions, 'evt'].filter((name) => name in row);
	const texts = named.map((name) => [name, row[name]] as const);
	return texts.every(([, value]) => typeof value === 'string' && value !== '' && value !== none)
		? (Object.fromEntries(texts) as Record<string, string>)
		: undefined;
}

interface RowsOptions {
	readonly row: FlatRow;
	readonly report: Pick<Report, 'from' | 'to'>;
	readonly isCohort?: boolean;
}

/** The page with the rows of a figure; undefined where none shows them. */
export function rowsPath(
	{ account, view }: AskedOfAccount,
	rows: Rows,
	{ row, report, isCohort = false }: RowsOptions,
): string | undefined {
	const labels = labelsOf(row);
	if (!labels) return undefined;
	const { from, to } = daysOf(row, report);
	const days = from === null ? { from, to, period: 'all' } : { from, to, period: null };
	const page = rows === 'visitors' ? 'visitors' : 'subscriptions';
	const having = rows === 'visitors' || rows === 'subscriptions' ? null : rows;
	const basis = isCohort ? 'cohort' : null;
	return `/console/${account.aid}/${page}${queryText(view, { ...labels, ...days, compare: null, basis, having })}`;
}

/** The days of a row that is of a day, week or month, as far as they are in the report's period. */
function daysOf(row: FlatRow, { from, to }: RowsOptions['report']): RowsOptions['report'] {
	const { day, week, month } = row;
	const isDay = (name: unknown): name is string => typeof name === 'string' && /^\d{4}-\d\d-\d\d$/.test(name);
	const isMonth = typeof month === 'string' && /^\d{4}-\d\d$/.test(month);
	const [begin, end] = isDay(day)
		? [day, addDays(day, 1)]
		: isDay(week)
			? [week, addDays(week, 7)]
			: isMonth
				? [`${month}-01`, `${addMonths(month, 1)}-01`]
				: [from, to];
	return {
		from: from !== null && begin !== null && begin < from ? from : begin,
		to: to !== null && end !== null && end > to ? to : end,
	};
}
