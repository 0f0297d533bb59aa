import { escapeHtml, htmlPage } from '../format/html.ts';
import type { Transition } from './paths.ts';
import { columnsOf, type FlatRow, flatRows, shownCell, shownColumn } from './report-columns.ts';
import type { ReportKind } from './report-query.ts';
import { headOf } from './report-text.ts';
import type { Report } from './run-report.ts';

const blue = '#0b63ce';
const style = `body{max-width:70rem}td.number,th.number{text-align:right}svg text{font-size:12px;fill:#333}`;

/** A report as one self-contained HTML page. */
export function reportPage(kind: ReportKind, report: Report): string {
	const rows = flatRows(report);
	const warnings = (report.warnings as string[] | undefined) ?? [];
	return htmlPage(
		`${kind} of ${report.aid}`,
		style,
		`<h1>${escapeHtml(kind)}</h1>
${headOf(report)
	.map((line) => `<p>${escapeHtml(line)}</p>`)
	.join('\n')}
${warnings.map((warning) => `<p class="warning">${escapeHtml(warning)}</p>`).join('\n')}
${picture(kind, report, rows)}
${table(rows, kind === 'ltv')}`,
	);
}

function picture(kind: ReportKind, report: Report, rows: readonly FlatRow[]): string {
	if (kind === 'paths') return flow(report.transitions as readonly Transition[]);
	const column = {
		attribution: 'netPence',
		spend: 'netPence',
		renewals: 'subscriptions',
		coverage: 'events',
		ltv: '',
	}[kind];
	return column === '' ? '' : bars(rows.slice(0, 40), column);
}

/** A bar for each row, in another colour for negative values. */
function bars(rows: readonly FlatRow[], column: string): string {
	if (rows.length === 0) return '';
	const [left, width, height] = [260, 560, 22];
	const values = rows.map((row) => Number(row[column] ?? 0));
	const max = Math.max(1, ...values.map(Math.abs));
	const drawn = rows.map((row, place) => {
		const value = values[place] as number;
		const name = Object.values(row)
			.filter((cell) => typeof cell === 'string')
			.join(' · ');
		const length = (Math.abs(value) / max) * width;
		const y = place * height;
		return `<text x="${left - 8}" y="${y + 15}" text-anchor="end">${escapeHtml(name.slice(0, 42))}</text><rect x="${left}" y="${y + 3}" width="${length.toFixed(1)}" height="${height - 6}" fill="${value < 0 ? '#c0392b' : blue}"/><text x="${(left + length + 6).toFixed(1)}" y="${y + 15}">${escapeHtml(shownCell(column, value))}</text>`;
	});
	return `<svg width="${left + width + 110}" height="${rows.length * height}" role="img" aria-label="${shownColumn(column)} by row">${drawn.join('')}</svg>`;
}

/** The most frequent transitions; a line's width shows the frequency. */
function flow(transitions: readonly Transition[]): string {
	const shown = transitions.slice(0, 40);
	const [froms, tos] = [[...new Set(shown.map(({ from }) => from))], [...new Set(shown.map(({ to }) => to))]];
	const max = Math.max(1, ...shown.map(({ subscriptions }) => subscriptions));
	const [height, width] = [34, 720];
	const y = (names: readonly string[], name: string) => names.indexOf(name) * height + 20;
	const lines = shown.map(({ from, to, subscriptions }) => {
		const [fromY, toY] = [y(froms, from), y(tos, to)];
		return `<path d="M190 ${fromY}C${width / 2} ${fromY} ${width / 2} ${toY} ${width - 190} ${toY}" fill="none" stroke="${blue}" stroke-opacity=".35" stroke-width="${Math.max(1, (22 * subscriptions) / max).toFixed(1)}"><title>${escapeHtml(`${from} → ${to}: ${subscriptions}`)}</title></path>`;
	});
	const names = (all: readonly string[], x: number, anchor: string) =>
		all.map(
			(name) =>
				`<text x="${x}" y="${y(all, name) + 4}" text-anchor="${anchor}">${escapeHtml(name.slice(0, 28))}</text>`,
		);
	return `<svg width="${width}" height="${Math.max(froms.length, tos.length) * height + 20}" role="img" aria-label="flow of channels">${lines.join('')}${names(froms, 182, 'end').join('')}${names(tos, width - 182, 'start').join('')}</svg>`;
}

/** @param isTriangle whether to shade the cells of lifetime value by their values */
function table(rows: readonly FlatRow[], isTriangle: boolean): string {
	if (rows.length === 0) return '<p>Nothing to report.</p>';
	const columns = columnsOf(rows);
	const max = Math.max(
		1,
		...rows.flatMap((row) => columns.filter((c) => c.startsWith('ltvPence')).map((c) => Number(row[c] ?? 0))),
	);
	const kind = (column: string) =>
		rows.every((row) => typeof row[column] !== 'string') ? ' class="number"' : '';
	const cell = (row: FlatRow, column: string) => {
		const value = row[column] ?? null;
		const shade =
			isTriangle && column.startsWith('ltvPence') && typeof value === 'number'
				? ` style="background:rgba(11,99,206,${(0.05 + (0.5 * Math.max(0, value)) / max).toFixed(2)})"`
				: '';
		return `<td${kind(column)}${shade}>${escapeHtml(value === null && isTriangle ? '' : shownCell(column, value))}</td>`;
	};
	const head = columns.map((column) => `<th${kind(column)}>${escapeHtml(shownColumn(column))}</th>`).join('');
	return `<table><tr>${head}</tr>${rows.map((row) => `<tr>${columns.map((column) => cell(row, column)).join('')}</tr>`).join('\n')}</table>`;
}
