import { type Html, type HtmlValue, html } from '../format/html.ts';

/** A heading; `#` before it where the column has numbers, `…` where its texts may be of any length. */
type Heading = string;

/** A table whose cells may be links. Where it is wider than the page, it scrolls by itself. */
export function pageTable(
	label: string,
	headings: readonly Heading[],
	rows: readonly (readonly HtmlValue[])[],
): Html {
	const columns = headings.map((heading) => ({
		name: heading.replace(/^#|…$/gu, ''),
		look: heading.startsWith('#') ? 'number' : heading.endsWith('…') ? 'long' : undefined,
	}));
	const classOf = (look: string | undefined) => look && html` class="${look}"`;
	return html`<div class="wide" tabindex="0" role="group" aria-label="${label}"><table>
<thead><tr>${columns.map(({ name, look }) => html`<th scope="col"${classOf(look)}>${name}</th>`)}</tr></thead>
<tbody>${rows.map(
		(
			cells,
		) => html`<tr>${cells.map((cell, place) => html`<td${classOf(columns[place]?.look)}>${cell}</td>`)}</tr>
`,
	)}</tbody></table></div>`;
}

/** A name that somebody has sent: it may be of any script. */
export function nameOf(text: string | null): HtmlValue {
	return text === null ? '-' : html`<bdi>${text}</bdi>`;
}
