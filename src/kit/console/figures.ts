import { moneyOf } from '../../core/format/money.ts';
import { type Html, type HtmlValue, html } from '../format/html.ts';
import { latestEvents } from '../reading/event-finding.ts';
import { hitsBefore } from '../reading/histories.ts';
import { reportOf } from '../reports/all-reports.ts';
import { notesUnder } from '../reports/day-notes.ts';
import type { FlatRow, Report, ReportDefinition } from '../reports/report.ts';
import { htmlTable, type LinkOfCell } from '../reports/report-drawing.ts';
import { shownTables, spokenDefinition, tableOf } from '../reports/report-table.ts';
import type { ConsoleRequest } from './exchange.ts';
import type { AccountRequest } from './page.ts';
import { arranged, maxRows } from './page-table.ts';
import { linksOf } from './row-links.ts';
import { queryText, reportQueryOf } from './view.ts';

/** Rows of a page whose other tables have used up its elements. */
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
	/** What the tables have, where that is less than the report. */
	readonly tabled?: Report;
	/** Whether it begins with what the report says. */
	readonly isAnswered?: boolean;
}

/** A report as a part of a page: pictures, their tables, what the figures mean, and the same as CSV and JSON. */
export async function reportSection(
	asked: AccountRequest,
	kind: string,
	options: SectionOptions = {},
): Promise<Html> {
	const { view, now } = asked;
	const definition = await reportOf(kind);
	const report = await asked.report(reportQueryOf(definition, view, options.texts ?? {}, now()));
	return sectionOf(asked, definition, report, options);
}

/** A report that is made already, as a part of a page. */
export async function sectionOf(
	asked: AccountRequest,
	definition: ReportDefinition,
	report: Report,
	{
		title = definition.title,
		texts = {},
		isDrawn = true,
		draw = definition.draw,
		isAlone = false,
		empty,
		tabled = report,
		isAnswered = true,
	}: SectionOptions,
): Promise<Html> {
	// Once, not in each section of an empty page.
	if (report.rows.length === 0 && empty === undefined && isSaid(asked, 'nothing')) return html``;
	const { account, view, dayNotes } = asked;
	const notes = isDrawn ? await dayNotes() : [];
	const money = moneyOf(report.currency);
	const file = (extension: string) =>
		`/console/${account.aid}/${definition.isOfPersons ? definition.kind : 'reports'}/${definition.kind}.${extension}${queryText(view, { ...texts, ...daysOf(report) })}`;
	const linkOf = linksOf(asked, definition, report);
	const sumLink = (column: string) => linkOf({ [column]: 1 }, column);
	const pictures =
		report.rows.length > 0 && isDrawn && draw(report, tableOf(definition, report), money, notes, sumLink);
	const list = notesUnder(pictures, notes, report);
	const shown = html`${pictures}${list && !isSaid(asked, 'notes') && list}`;
	take(asked, shown);
	const id = [definition.kind, ...Object.values(texts).filter(Boolean)].join('-');
	return html`<section class="figure" aria-labelledby="${id}">
<h2 id="${id}">${title}</h2>
${isAnswered && answerOf(report)}
${newWarnings(asked, report)}
${
	report.rows.length === 0
		? html`<p class="empty">${empty ?? (await nothingIn(asked))}</p>`
		: aboveTables(
				shown,
				tables(
					asked,
					definition,
					tabled,
					{ id, isAlone, isFolded: hasPictures(shown) },
					(rows, columns, look) => htmlTable(rows, money, columns, { fitsPaper: false, ...look }),
					linkOf,
				),
				asked.query.get('table')?.startsWith(`${id}.`),
			)
}
${(report.notes ?? []).map((note) => html`<p class="note">${note}</p>`)}
<footer><details><summary>What these figures are</summary><p>${spokenDefinition(definition)}</p></details>
<a href="${file('csv')}" aria-label="CSV: ${title}">CSV</a> <a href="${file('json')}" aria-label="JSON: ${title}">JSON</a></footer>
</section>
`;
}

/** What a report says. No line breaks behind the sign of an amount. */
export function answerOf({ answer }: Report): Html | null {
	return answer ? html`<p class="answer">${answer.replaceAll(/[+−](?=\D)/g, '$&\u2060')}</p>` : null;
}

/** What the sections of a page have said, by the request for it. */
const said = new WeakMap<ConsoleRequest, Set<string>>();

/** Whether a section above has said this. It is said from now on. */
function isSaid({ request }: AccountRequest, text: string): boolean {
	const known = said.getOrInsertComputed(request, () => new Set());
	const isKnown = known.has(text);
	known.add(text);
	return isKnown;
}

/** Warnings that no section above has said. */
export function newWarnings(asked: AccountRequest, { warnings = [] }: Report): Html[] {
	return warnings
		.filter((warning) => !isSaid(asked, warning))
		.map((warning) => html`<p class="warning">${warning}</p>`);
}

/** Whether anything is drawn. */
function hasPictures(pictures: HtmlValue): boolean {
	return html`${pictures}`.toString() !== '';
}

/** Pictures, and folded beneath them the tables that say the same in figures; tables alone are not folded. */
export function aboveTables(pictures: HtmlValue, tables: HtmlValue, isOpen = false): Html {
	if (!hasPictures(pictures)) return html`${tables}`;
	return html`<div class="pictures">${pictures}</div>
<details class="data"${isOpen && html` open`}><summary>Show as table</summary>
${tables}</details>`;
}

/** A file is of the days that the page shows, also tomorrow. */
function daysOf({ from, to }: Report): Record<string, string | null> {
	return from === null ? {} : { from, to, period: null };
}

/** Why there are no figures. */
export async function nothingIn({ account, view, store, now }: AccountRequest): Promise<HtmlValue> {
	const [hits, events] = await Promise.all([
		store.read(account.id, hitsBefore(now(), 1)),
		store.read(account.id, latestEvents(now(), 1)),
	]);
	if (view.from !== null && hits.length + events.length > 0)
		return 'Nothing happened in this period. Choose a longer one above.';
	return html`Nothing has come in yet. <a href="/console/${account.aid}/">The overview</a> says what to do first.`;
}

type ShowTable = (
	rows: readonly FlatRow[],
	columns: Parameters<typeof htmlTable>[2],
	look: Parameters<typeof htmlTable>[3],
) => Html;

/** Counts the elements of a figure against those of its page. */
function take({ request }: AccountRequest, figure: Html): void {
	const elements = String(figure).match(/<[a-z]/g)?.length ?? 0;
	left.set(request, (left.get(request) ?? figureElements) - elements);
}

function tables(
	asked: AccountRequest,
	definition: ReportDefinition,
	report: Report,
	{ id, isAlone, isFolded }: { readonly id: string; readonly isAlone: boolean; readonly isFolded: boolean },
	show: ShowTable,
	linkOf: LinkOfCell,
): Html[] {
	return shownTables(definition, report, false).map(({ title, lines, rows, columns, isEarlier }, place) => {
		const elements = left.get(asked.request) ?? figureElements;
		const width = Object.keys(rows[0] ?? {}).length || 1;
		// A cell has a link or a name.
		const fitting = Math.floor((elements * (isAlone ? 1 : largestPart)) / (2 * width + 1));
		const most = Math.min(maxRows, Math.max(leastRows, fitting));
		const isSeries = isInTime(report, rows);
		const name = `${id}.${place}`;
		const ordered = isSeries ? rows.toReversed() : rows;
		const { shown, sortOf, note } = arranged(asked, name, ordered, (row, column) => row[column], most);
		const table = show(shown, columns, {
			caption: title || definition.title,
			sortOf,
			// They are of the period that is shown.
			linkOf: isEarlier ? undefined : linkOf,
		});
		take(asked, table);
		return html`<div class="table" id="${name}">${lines.map((line) => html`<p>${line}</p>`)}
${!isFolded && shown.length > skippedRows && html`<a class="skip" href="#${name}-end">Skip the table</a>`}${table}
${note}<span id="${name}-end"></span></div>
`;
	});
}

/** From so many rows on there is a way past a table. */
const skippedRows = 5;

/** Whether there is one row for each day, week or month. The latest one is what people look for first. */
function isInTime({ every }: Report, rows: readonly FlatRow[]): boolean {
	return typeof every === 'string' && new Set(rows.map((row) => row[every])).size === rows.length;
}
