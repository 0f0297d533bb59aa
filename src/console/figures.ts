import { type Html, type HtmlValue, html } from '../format/html.ts';
import { moneyOf } from '../format/money.ts';
import type { Report, ReportDefinition } from '../reports/report.ts';
import { htmlTable } from '../reports/report-drawing.ts';
import { shownTables, tableOf } from '../reports/report-table.ts';
import { reportOf } from '../reports/reports.ts';
import type { AskedOfAccount } from './page.ts';
import { linksOf } from './rows.ts';
import { queryText, reportQueryOf } from './view.ts';

/** Rows of a table on a page. There may be thousands of campaigns. */
const maxRows = 100;
/** So many rows are shown of every table. */
const leastRows = 5;
/** Cells of the tables of a section, so that a page has at most 3,000 elements. */
const usualCells = 500;

interface SectionOptions {
	readonly title?: string;
	/** Parameters besides those of the view, as an address has them; a null leaves one of the view out. */
	readonly texts?: Readonly<Record<string, string | null>>;
	/** Whether the pictures are shown. */
	readonly isDrawn?: boolean;
	/** Of all its tables. */
	readonly maxCells?: number;
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
		maxCells = usualCells,
		empty = nothingHere,
	}: SectionOptions,
): Promise<Html> {
	const { account, view, dayNotes } = asked;
	const notes = isDrawn ? await dayNotes() : [];
	const money = moneyOf(report.currency);
	const file = (extension: string) =>
		`/console/${account.aid}/${definition.isOfPersons ? definition.kind : 'reports'}/${definition.kind}.${extension}${queryText(view, { ...texts, ...daysOf(report) })}`;
	const linkOf = linksOf(asked, definition, report);
	const id = [definition.kind, ...Object.values(texts).filter(Boolean)].join('-');
	return html`<section class="figure" aria-labelledby="${id}">
<h2 id="${id}">${title}</h2>
${(report.warnings ?? []).map((warning) => html`<p class="warning">${warning}</p>`)}
${
	report.rows.length === 0
		? html`<p class="empty">${empty}</p>`
		: besideTables(
				isDrawn && definition.draw(report, tableOf(definition, report), money, notes),
				tables(definition, report, maxCells, (rows, columns) =>
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

type ShowTable = (
	rows: Parameters<typeof htmlTable>[0],
	columns: Parameters<typeof htmlTable>[2],
) => HtmlValue;

function tables(definition: ReportDefinition, report: Report, maxCells: number, show: ShowTable): Html[] {
	const all = shownTables(definition, report, false);
	return all.map(({ title, lines, rows, columns }) => {
		const width = Object.keys(rows[0] ?? {}).length || 1;
		const most = Math.min(maxRows, Math.max(leastRows, Math.floor(maxCells / all.length / width)));
		const cut = rows.slice(0, most);
		return tablePart(
			width,
			html`${title && html`<h3>${title}</h3>`}${lines.map((line) => html`<p>${line}</p>`)}
${show(cut, columns)}
${cut.length < rows.length && html`<p class="note">These are the first ${cut.length} of ${rows.length} rows; the CSV has all.</p>`}`,
		);
	});
}
