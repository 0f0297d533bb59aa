import { moneyOf } from '../../core/format/money.ts';
import { html, htmlPage } from '../format/html.ts';
import { type DayNote, notesUnder } from './day-notes.ts';
import type { Report, ReportDefinition } from './report.ts';
import { drawingStyle, htmlTable } from './report-drawing.ts';
import { headOf, shownTables, tableOf } from './report-table.ts';

const style = `body{max-width:72rem}${drawingStyle}`;

/** A report as one self-contained HTML page. */
export function reportPage(
	definition: ReportDefinition,
	report: Report,
	{ isLong = false, notes = [] }: { isLong?: boolean; notes?: readonly DayNote[] } = {},
): string {
	const { title } = definition;
	const money = moneyOf(report.currency);
	const paragraph = (text: string) => html`<p>${text}</p>
`;
	const pictures = definition.draw(report, tableOf(definition, report), money, notes);
	const body = html`<h1>${title}</h1>
${report.answer && html`<p class="answer">${report.answer}</p>`}
${[...headOf(definition, report), ...(report.notes ?? [])].map(paragraph)}
${(report.warnings ?? []).map((warning) => html`<p class="warning">${warning}</p>`)}
${pictures}${notesUnder(pictures, notes, report)}
${shownTables(definition, report, isLong).map(
	(table) => html`${table.title && html`<h2>${table.title}</h2>`}
${table.lines.map(paragraph)}
${htmlTable(table.rows, money, table.columns, { caption: table.title || title })}`,
)}`;
	return htmlPage(`${title} of ${report.aid}`, style, body);
}
