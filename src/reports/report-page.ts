import { escapeHtml, htmlPage } from '../format/html.ts';
import { moneyOf } from '../format/money.ts';
import type { Report, ReportDefinition } from './report.ts';
import { drawingStyle, htmlTable } from './report-drawing.ts';
import { headOf, tableOf } from './report-table.ts';

const style = `body{max-width:72rem}${drawingStyle}`;

/** A report as one self-contained HTML page. */
export function reportPage(definition: ReportDefinition, report: Report): string {
	const { title } = definition;
	return htmlPage(`${title} of ${report.aid}`, style, `<h1>${title}</h1>\n${reportHtml(definition, report)}`);
}

/** What a page tells of a report, without its heading. Needs `drawingStyle`. */
export function reportHtml(definition: ReportDefinition, report: Report): string {
	const { columns } = definition;
	const money = moneyOf(report.currency);
	const rows = tableOf(definition, report);
	const paragraph = (text: string) => `<p>${escapeHtml(text)}</p>`;
	const warnings = report.warnings ?? [];
	const { compared } = report;
	const sides = definition.sideTables?.(report) ?? [];
	return `${headOf(report).map(paragraph).join('\n')}
${(report.notes ?? []).map(paragraph).join('\n')}
${warnings.map((warning) => `<p class="warning">${escapeHtml(warning)}</p>`).join('\n')}
${definition.draw(report, rows, money)}
${htmlTable(rows, money, columns)}
${compared ? `<h2>Compared with</h2>\n${headOf(compared).map(paragraph).join('\n')}\n${htmlTable(tableOf(definition, compared), money, columns)}` : ''}
${sides.map((side) => `<h2>${escapeHtml(side.title)}</h2>\n${htmlTable(side.rows, money, columns)}`).join('\n')}`;
}
