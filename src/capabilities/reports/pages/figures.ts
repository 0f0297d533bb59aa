import { type Html, type HtmlValue, html } from '../../../core/format/html.ts';
import { moneyOf } from '../../../core/format/money.ts';
import type { ConsoleRequest } from '../../../kit/console/exchange.ts';
import type { AskedOfAccount } from '../../../kit/console/page.ts';
import { queryText, reportQueryOf } from '../../../kit/console/view.ts';
import type { FlatRow, Report, ReportDefinition } from '../../../kit/reports/report.ts';
import { htmlTable } from '../../../kit/reports/report-drawing.ts';
import { shownTables, tableOf } from '../../../kit/reports/report-table.ts';
import { reportOf } from '../reports.ts';
import { linksOf } from './rows.ts';

/** Rows of a table on a page. There may be thousands of campaigns. */
const maxRows = 100;
/** And of a page whose other tables have used up its elements. */
const leastRows = 10;
/** Elements of all pictures and tables of a page, so that it has at most 3,000 with what is around them. */
const figureElements = 2500;
/** A table takes at most so much of what is left, so that there is some for the next ones. */
const largestPart = 0.4;
/** Elements that the figures of a page may still have, by the request for it. */
const left = new WeakMap<ConsoleRequest, number>();

interface SectionOptions {
	readonly title?: string;
	/** Parameters besides those of the view, as an address has them; a null leaves one of the view out. */
	readonly texts?: Readonly<Record<string, string | null>>;
	/** Whether the pictures are shown. */
	readonly isDrawn?: boolean;
	/** Other pictures than those of the report. */
	readonly draw?: ReportDefinition['draw'];
	/** Whether the page has no other tables. */
	readonly isAlone?: boolean;
	/** What to do where there is nothing. */
	readonly empty?: HtmlValue;
}

/** A report as a part of a page: pictures, their tables, what the figures mean, and the same as CSV and JSON. */
export async function reportSection(
	asked: AskedOfAccount,
	kind: string,
	options: SectionOptions = {},
): Promise<Html> {
	const { view, now } = asked;
	const definition = reportOf(kind);
	const report = await asked.report(reportQueryOf(definition, view, options.texts ?? {}, now()));
	return sectionOf(asked, definition, report, options);
}

/** The same of a report that is made already. */
export async function sectionOf(
	asked: AskedOfAccount,
	definition: ReportDefinition,
	report: Report,
	{
		title = definition.title,
		texts = {},
		isDrawn = true,
		draw = definition.draw,
		isAlone = false,
		empty = nothingHere,
	}: SectionOptions,
): Promise<Html> {
	const { account, view, dayNotes } = asked;
	const notes = isDrawn ? await dayNotes() : [];
	const money = moneyOf(report.currency);
	const file = (extension: string) =>
		`/console/${account.aid}/${definition.isOfPersons ? definition.kind : 'reports'}/${definition.kind}.${extension}${queryText(view, { ...texts, ...daysOf(report) })}`;
	const linkOf = linksOf(asked, definition, report);
	const pictures =
		report.rows.length > 0 && isDrawn && draw(report, tableOf(definition, report), money, notes);
	take(asked, html`${pictures}`);
	const id = [definition.kind, ...Object.values(texts).filter(Boolean)].join('-');
	return html`<section class="figure" aria-labelledby="${id}">
<h2 id="${id}">${title}</h2>
${report.answer && html`<p class="answer">${report.answer}</p>`}
${(report.warnings ?? []).map((warning) => html`<p class="warning">${warning}</p>`)}
${
	report.rows.length === 0
		? html`<p class="empty">${empty}</p>`
		: besideTables(
				pictures,
				tables(asked, definition, report, isAlone, (rows, columns) =>
					htmlTable(rows, money, columns, { fitsPaper: false, linkOf }),
				),
			)
}
${(report.notes ?? []).map((note) => html`<p class="note">${note}</p>`)}
<footer><details><summary>What these figures are</summary><p>${definition.definition}</p></details>
<a href="${file('csv')}">CSV</a> <a href="${file('json')}">JSON</a></footer>
</section>
`;
}

/** Pictures, and the tables that say the same in figures. */
export function besideTables(pictures: HtmlValue, tables: HtmlValue): Html {
	return html`<div class="parts">${pictures && html`<div class="pictures">${pictures}</div>`}
<div class="tables">${tables}</div></div>`;
}

/** From so many columns on, a table takes the whole width. */
const broadColumns = 6;
/** And with more than these, the width of its pictures, too. */
const widestColumns = 10;

/** One of the tables beside pictures. */
export function tablePart(columns: number, parts: HtmlValue): Html {
	return html`<div class="table${columns > broadColumns && ' broad'}${columns > widestColumns && ' widest'}">${parts}</div>
`;
}

/** A file is of the days that the page shows, also tomorrow. */
function daysOf({ from, to }: Report): Record<string, string | null> {
	return from === null ? {} : { from, to, period: null };
}

const nothingHere = 'Nothing happened in this period. Choose a longer one above.';

type ShowTable = (rows: Parameters<typeof htmlTable>[0], columns: Parameters<typeof htmlTable>[2]) => Html;

/** Counts the elements of a figure against those of its page. */
function take({ request }: AskedOfAccount, figure: Html): void {
	const elements = String(figure).match(/<[a-z]/g)?.length ?? 0;
	left.set(request, (left.get(request) ?? figureElements) - elements);
}

function tables(
	asked: AskedOfAccount,
	definition: ReportDefinition,
	report: Report,
	isAlone: boolean,
	show: ShowTable,
): Html[] {
	return shownTables(definition, report, false).map(({ title, lines, rows, columns }) => {
		const elements = left.get(asked.request) ?? figureElements;
		const width = Object.keys(rows[0] ?? {}).length || 1;
		// A cell has a link or a name.
		const fitting = Math.floor((elements * (isAlone ? 1 : largestPart)) / (2 * width + 1));
		const isSeries = isInTime(report, rows);
		const cut = (isSeries ? rows.toReversed() : rows).slice(
			0,
			Math.min(maxRows, Math.max(leastRows, fitting)),
		);
		const table = show(cut, columns);
		take(asked, table);
		return tablePart(
			width,
			html`${title && html`<h3>${title}</h3>`}${lines.map((line) => html`<p>${line}</p>`)}
${table}
${cut.length < rows.length && html`<p class="note">These are the ${isSeries ? 'latest' : 'first'} ${cut.length} of ${rows.length} rows; the CSV has all.</p>`}`,
		);
	});
}

/** Whether there is one row for each day, week or month. The latest one is what people look for first. */
function isInTime({ every }: Report, rows: readonly FlatRow[]): boolean {
	return typeof every === 'string' && new Set(rows.map((row) => row[every])).size === rows.length;
}
