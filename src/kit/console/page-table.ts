import { formatNumber } from '../../core/format/numbers.ts';
import { type Html, type HtmlValue, html } from '../format/html.ts';

/** Cells by the heading of their column; `#` before it where they are numbers, `…` after it where texts may be of any length. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => HtmlValue>>;

/** A table whose cells may be links. Where it is wider than the page, it scrolls by itself. */
export function pageTable<Row>(label: string, rows: readonly Row[], columns: Columns<Row>): Html {
	const shown = Object.entries(columns).map(([heading, cellOf]) => ({
		name: heading.replace(/^#|…$/gu, ''),
		look: heading.startsWith('#') ? html` class="number"` : heading.endsWith('…') && html` class="long"`,
		cellOf,
	}));
	const cell = (value: HtmlValue) => (typeof value === 'number' ? formatNumber(value) : value);
	return html`<div class="wide" tabindex="0" role="group" aria-label="${label}"><table><caption class="unseen">${label}</caption>
<thead><tr>${shown.map(({ name, look }) => html`<th scope="col"${look}>${name}</th>`)}</tr></thead>
<tbody>${rows.map(
		(
			row,
		) => html`<tr>${shown.map(({ look, cellOf }, place) => (place === 0 ? html`<th scope="row"${look}>${cell(cellOf(row))}</th>` : html`<td${look}>${cell(cellOf(row))}</td>`))}</tr>
`,
	)}</tbody></table></div>`;
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
