import { formatNumber } from '../../core/format/numbers.ts';
import { type Html, type HtmlValue, html } from '../format/html.ts';
import type { Cell } from '../reports/report.ts';
import { columnHeading, moreColumns, type SortOfColumn } from '../reports/report-drawing.ts';
import type { PageRequest } from './page.ts';

/** Cells by the heading of their column; `#` before it where they are numbers, `…` after it where texts may be of any length. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => HtmlValue>>;

/** Rows of a table on a page. */
export const maxRows = 50;

/** Rows of a table as the address says: sorted by a column, upwards or with `-` down, from a row on. @param most rows of a page */
export function arranged<Row>(
	{ request, query }: Pick<PageRequest, 'request' | 'query'>,
	name: string,
	rows: readonly Row[],
	sortedValue: (row: Row, column: string) => Cell | undefined,
	most = maxRows,
) {
	const isOwn = query.get('table') === name;
	const sort = (isOwn && query.get('sort')) || '';
	const column = sort.replace(/^-/, '');
	const given = Math.trunc(Number(isOwn && query.get('row'))) || 0;
	const last = Math.floor((rows.length - 1) / most) * most;
	const from = Math.max(0, Math.min(given, last));
	const address = (own: Readonly<Record<string, string>>) => {
		const others = [...query].filter(([key]) => !['table', 'sort', 'row'].includes(key));
		return `${request.path}?${new URLSearchParams([...others, ['table', name], ...Object.entries(own)])}#${name}`;
	};
	const values = new Map(column === '' ? [] : rows.map((row) => [row, sortedValue(row, column)] as const));
	const isKnown = [...values.values()].some((value) => value !== undefined);
	const direction = sort.startsWith('-') ? -1 : 1;
	const compare = (a: Row, b: Row) => direction * compareCells(values.get(a), values.get(b));
	const sorted = isKnown ? rows.toSorted(compare) : rows;
	const sortOf: SortOfColumn = (each) => ({
		href: address({ sort: sort === `-${each}` ? each : `-${each}` }),
		order: !isKnown || each !== column ? undefined : sort.startsWith('-') ? 'descending' : 'ascending',
	});
	const to = Math.min(from + most, rows.length);
	const page = (row: number, text: string) =>
		html` <a href="${address({ ...(sort && { sort }), row: String(row) })}">${text}</a>`;
	const note =
		to - from < rows.length &&
		html`<p class="note">Rows ${formatNumber(from + 1)} to ${formatNumber(to)} of ${formatNumber(rows.length)}.${from > 0 && page(Math.max(0, from - most), 'Before')}${to < rows.length && page(to, 'Next')}</p>`;
	return { shown: sorted.slice(from, to), sortOf, note };
}

/** What is empty is least. */
function compareCells(a: Cell = null, b: Cell = null): number {
	if (typeof a === 'number' && typeof b === 'number') return a - b;
	if (a === null || b === null) return Number(a !== null) - Number(b !== null);
	return String(a).localeCompare(String(b), 'en', { numeric: true });
}

/** What a cell is sorted by. */
function sortedBy(cell: HtmlValue, isNumber: boolean): Cell {
	if (typeof cell === 'number') return cell;
	const text = String(html`${cell}`)
		.replaceAll(/<[^>]*>/g, '')
		.trim();
	if (!isNumber) return text === '' || text === '-' ? null : text;
	const [, minus, digits] = /^([−-]?)\D*?([\d,]*\.?\d+)/.exec(text) ?? [];
	return digits === undefined ? null : Number(`${minus && '-'}${digits.replaceAll(',', '')}`);
}

/** A table whose cells may be links. Where it is wider than the page, it scrolls by itself. */
export function pageTable<Row>(label: string, rows: readonly Row[], columns: Columns<Row>): Html {
	return sortedTable(undefined, label, rows, columns);
}

/** A table that is sorted by its headings, and shown a page at a time. */
export function sortedTable<Row>(
	asked: Pick<PageRequest, 'request' | 'query'> | undefined,
	label: string,
	rows: readonly Row[],
	columns: Columns<Row>,
): Html {
	const all = Object.entries(columns).map(([heading, cellOf]) => ({
		name: heading.replace(/^#|…$/gu, ''),
		isNumber: heading.startsWith('#'),
		look: heading.startsWith('#') ? 'number' : heading.endsWith('…') ? 'long' : '',
		cellOf,
	}));
	const classed = (look: string) => look !== '' && html` class="${look}"`;
	const id = label.toLowerCase().replaceAll(/\W+/g, '-');
	const sortedValue = (row: Row, name: string) => {
		const column = all.find((each) => each.name === name);
		return column && sortedBy(column.cellOf(row), column.isNumber);
	};
	const { shown, sortOf, note } = asked
		? arranged(asked, id, rows, sortedValue)
		: { shown: rows, sortOf: undefined, note: null };
	const cell = (value: HtmlValue) => (typeof value === 'number' ? formatNumber(value) : value);
	const headOf = ({ name, look, cellOf }: (typeof all)[number]) => {
		// Buttons have no order.
		const isSorted = rows.length > 1 && !`${html`${cellOf(rows[0] as Row)}`}`.includes('<form');
		return columnHeading(name, look, isSorted ? sortOf?.(name) : undefined);
	};
	return html`<div class="wide"${asked && html` id="${id}"`} tabindex="0" role="group" aria-label="${label}"><table><caption class="unseen">${label}</caption>
<thead>${moreColumns(all.length)}<tr>${all.map(headOf)}</tr></thead>
<tbody>${shown.map(
		(
			row,
		) => html`<tr>${all.map(({ look, cellOf }, place) => (place === 0 ? html`<th scope="row"${classed(look)}>${cell(cellOf(row))}</th>` : html`<td${classed(look)}>${cell(cellOf(row))}</td>`))}</tr>
`,
	)}</tbody></table></div>${note}`;
}

/** Names with their values; where there is none, the name is left out. */
export function factList(facts: Readonly<Record<string, HtmlValue>>): Html {
	const shown = Object.entries(facts).filter(([, value]) => value != null);
	return html`<dl class="facts">${shown.map(
		([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>
`,
	)}</dl>`;
}

/** A name that somebody has sent: it may be of any script. */
export function nameOf(text: string | null): HtmlValue {
	return text === null ? '-' : html`<bdi>${text}</bdi>`;
}

/** A list in a sentence; undefined where there are none. */
export function commaed(items: readonly HtmlValue[]): HtmlValue {
	if (items.length === 0) return undefined;
	return items.map((item, place) => [place > 0 && ', ', item]);
}

/** For example: 2026-11-23 19:30 UTC. */
export function timeOf(iso: string): string {
	return `${iso.slice(0, 16).replace('T', ' ')} UTC`;
}

/** Links to one of several views of a page. @param links an address and a name for each */
export function tabs(links: readonly (readonly [path: string, name: string, isChosen: boolean])[]): Html {
	return html`<p class="tabs">${links.map(([path, name, isChosen]) => html`<a href="${path}"${isChosen && html` aria-current="true"`}>${name}</a> `)}</p>`;
}
