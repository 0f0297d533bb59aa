import type { EventKind } from '../../core/domain/event-kind.ts';
import { type TouchDimension, touchDimensions } from '../../core/domain/touch.ts';
import { may } from '../person.ts';
import { type OneTouchModel, oneTouchModels } from '../reports/attribution-model.ts';
import { addDays, addMonths } from '../reports/calendar.ts';
import { none, notSet, other } from '../reports/label.ts';
import type { FlatRow, Report, ReportDefinition } from '../reports/report.ts';
import type { LinkOfCell } from '../reports/report-drawing.ts';
import { type MovementKind, movements } from '../reports/report-query.ts';
import { searchPath, visitorPath } from './links.ts';
import type { AccountRequest } from './page.ts';
import { queryText } from './view.ts';

/** The subscriptions behind a figure: what they have had, or how their recurring revenue has moved. */
interface Rows {
	readonly having?: EventKind | null;
	readonly moved?: MovementKind | null;
}

/** Of columns of events, whose sum is that of these rows. */
const rowsOfEvents: Readonly<Record<string, Rows>> = {
	trials: { having: 'trial' },
	subscriptions: { having: 'acquisition' },
	acquisitionPence: { having: 'acquisition' },
	renewals: { having: 'renewal' },
	renewalPence: { having: 'renewal' },
	refunds: { having: 'refund' },
	refundPence: { having: 'refund' },
	netPence: {},
};
const rowsOfMovement: Readonly<Record<string, Rows>> = {
	...Object.fromEntries(
		movements.flatMap((moved) => [
			[moved, { moved }],
			[`${moved}Pence`, { moved }],
		]),
	),
	refundPence: { having: 'refund' },
};

/** The figures of each report that are sums of rows. All others lead nowhere: no list adds up to them. */
const rowsOf: Readonly<Record<string, Readonly<Record<string, Rows>>>> = {
	activity: rowsOfEvents,
	attribution: rowsOfEvents,
	spend: { subscriptions: { having: 'acquisition' }, netPence: {} },
	movement: rowsOfMovement,
	retention: { subscriptions: { moved: 'new' } },
	ltv: { subscriptions: { moved: 'new' } },
};

/** Reports on subscriptions that began in a month. */
const cohortReports: ReadonlySet<string> = new Set(['retention', 'ltv']);
/** Reports that credit touches. */
const creditReports: ReadonlySet<string> = new Set(['attribution', 'spend']);

/** What an account's touches are told apart by next. */
const nextBy: Partial<Record<TouchDimension, TouchDimension>> = {
	channel: 'source',
	source: 'campaign',
	medium: 'campaign',
	campaign: 'landing',
};

/** Where the figures of a report lead to. Nowhere for who may not see single visitors, but to the figures below. */
export function linksOf(
	asked: AccountRequest,
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
	const credited = creditReports.has(kind) ? oneTouchModels.find((model) => model === modelOf(report)) : null;
	return (row, column) => {
		if (kind === 'attribution' && isDimension(column)) return attributionOf(asked, row, column);
		const rows = rowsOf[kind]?.[column];
		// What a model splits among touches is no sum of subscriptions.
		if (!seesRows || !rows || typeof row[column] !== 'number' || credited === undefined) return undefined;
		// Others are of ages, or of several cohorts.
		if (rows.moved === 'new' && cohortReports.has(kind) && typeof row.month !== 'string') return undefined;
		const of: Report = kind === 'spend' ? { ...report, basis: 'cohort' } : report;
		return rowsPath(asked, rows, { row, report: of, credited });
	};
}

/** The one model of a report; undefined where it has several, or tells spans. */
function modelOf({ model, models, series }: Report): unknown {
	if (series) return undefined;
	return Array.isArray(models) ? (models.length === 1 ? models[0] : undefined) : model;
}

function isDimension(column: string): column is TouchDimension {
	return touchDimensions.some((name) => name === column);
}

/** Where the figures of one channel, source or campaign are told apart further. */
function attributionOf(
	{ account, view }: AccountRequest,
	row: FlatRow,
	column: TouchDimension,
): string | undefined {
	const by = nextBy[column];
	const texts = labelsOf(row);
	return by && texts && `/console/${account.aid}/attribution${queryText(view, { ...texts, by })}`;
}

/** The filters that choose what a row is about; undefined where none does. */
function labelsOf(row: FlatRow): Record<string, string> | undefined {
	const named = [...touchDimensions, 'evt'].filter((name) => name in row);
	const texts = named.map((name) => [name, row[name]] as const);
	return texts.every(([, value]) => typeof value === 'string' && value !== '' && !noFilters.has(value))
		? (Object.fromEntries(texts) as Record<string, string>)
		: undefined;
}

const noFilters: ReadonlySet<string> = new Set([none, notSet, other]);

interface RowsOptions {
	readonly row: FlatRow;
	readonly report: Pick<Report, 'from' | 'to' | 'basis'>;
	/** By which model the row's touch is credited. */
	readonly credited?: OneTouchModel | null;
}

/** The page with the rows of a figure, which add up to it; undefined where none shows them. */
export function rowsPath(
	{ account, view }: AccountRequest,
	{ having = null, moved = null }: Rows,
	{ row, report, credited = null }: RowsOptions,
): string | undefined {
	const labels = labelsOf(row);
	if (!labels) return undefined;
	const ofTouch = touchDimensions.filter((name) => name in labels);
	// Only a credited touch says whose a subscription is; and a filter that is there already is of any touch of it.
	if (ofTouch.length > 0 && (!credited || touchDimensions.some((name) => view.texts[name]))) return undefined;
	const { from, to } = daysOf(row, report);
	const days = from === null ? { from, to, period: 'all' } : { from, to, period: null };
	const basis = report.basis === 'cohort' ? 'cohort' : null;
	const query = {
		...labels,
		...days,
		compare: null,
		basis,
		having,
		moved,
		credited: ofTouch.length > 0 ? credited : null,
	};
	return `/console/${account.aid}/subscriptions${queryText(view, query)}`;
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
