import type { ShowMoney } from '../../core/format/money.ts';
import { type Html, type HtmlValue, html } from '../format/html.ts';
import type { ColumnStyles, FlatRow } from './report.ts';
import { nothing, type ShownColumn, shownCell, shownColumns } from './report-table.ts';

const seriesColours = [
	'#0b63ce',
	'#c0392b',
	'#1e8449',
	'#b9770e',
	'#7d3c98',
	'#148f77',
	'#5d6d7e',
	'#a04000',
];
const darkColours = ['#6ea8fe', '#f1948a', '#58d68d', '#f0b95a', '#c39bd3', '#76d7c4', '#aab7c4', '#e59866'];
/** Curves of one picture have a colour each. */
export const maxSeries = seriesColours.length;
const properties = (colours: readonly string[]) =>
	`:root{${colours.map((colour, place) => `--series-${place}:${colour}`).join(';')}}`;
const series = seriesColours.map((_, place) => `.series-${place}{color:var(--series-${place})}`).join('');
const shadeSteps = 10;
const shades = Array.from(
	{ length: shadeSteps + 1 },
	(_, step) => `.shade-${step}{background:rgba(11,99,206,${(0.05 + 0.05 * step).toFixed(2)})}`,
).join('');

/**
 * What pictures and tables need of a page's style. Colours are properties, so that the same markup suits bright and dark
 * screens and paper. Shading is printed, and wide tables wrap on paper.
 */
export const drawingStyle = `${properties(seriesColours)}${series}.bar{fill:var(--series-0)}.negative{fill:var(--series-1)}.added{fill:var(--series-2)}.hollow{fill:none}.pale{opacity:.45}.leader{opacity:.6;stroke-dasharray:1 3}.tick{stroke:var(--series-0);stroke-width:1.5;fill:none}.noted{stroke:#888;stroke-dasharray:2 3;fill:#888}
.number{text-align:right}.shaded{padding-left:.6rem;padding-right:.6rem;print-color-adjust:exact;-webkit-print-color-adjust:exact}${shades}thead th{vertical-align:bottom}tbody th{font-weight:400}caption{text-align:left;font-weight:600}
td,tbody th{white-space:nowrap}td.shaded+td:not(.shaded){padding-left:1rem}p .name{display:inline-block;margin-right:1rem}.long{white-space:normal!important;overflow-wrap:anywhere;min-width:9rem}.answer{font-size:1.1rem}
.paper{display:none}.wide{overflow-x:auto;margin:1rem 0;container-type:scroll-state}.wide::before{content:"More to the right →";font-size:12px;opacity:.7;position:sticky;left:0;display:none}
@container scroll-state(scrollable:x){.wide:not(:has(.more))::before{display:inline-block}}
.more{display:none}@container scroll-state(scrollable:x){.more{display:table-row;counter-reset:more}}.more td{position:sticky;right:0;height:18px;padding:0!important;border:0!important;container-type:scroll-state}
@container scroll-state(stuck:right){.more td::before{content:"";counter-increment:more}.more td:last-child::after{content:"More columns: " counter(more) " →";position:absolute;right:0;top:0;font-size:12px;white-space:nowrap;opacity:.7}}
@media(max-width:40rem){td,th{font-size:13px;padding-right:.6rem}@supports not (container-type:scroll-state){.many::before{display:inline-block}}}
.picture{margin:0}.picture figcaption{font-weight:600}.picture p{margin:.3rem 0}svg:where(:not([width])){display:block;min-width:60rem;width:100%;max-width:72rem}@media screen{.wide:has(.time){direction:rtl}.wide:has(.time)::before{content:"← Earlier";direction:ltr}.time{direction:ltr}}svg.small{display:none}@media(max-width:34rem){svg.broad{display:none}svg.small{display:block;min-width:0}}svg.flow text{paint-order:stroke;stroke:#fff;stroke-width:3px}svg text{font-size:13px;fill:#333}svg a text{text-decoration:underline}svg .axis{stroke:#888}svg .grid{stroke:#8883}svg .interval{stroke:#333;stroke-width:1.5;fill:none}bdi,svg text{unicode-bidi:isolate}
@media(prefers-color-scheme:dark){${properties(darkColours)}body{background:#16181c;color:#ddd}svg text{fill:#ccc}svg .interval{stroke:#eee}svg.flow text{stroke:#16181c}.warning{background:#4d3d00}}
@media(forced-colors:active){svg text{fill:CanvasText}svg :is(.axis,.interval){stroke:CanvasText}}
@media print{.more{display:none!important}body{max-width:none;background:none;color:#000}.warning{background:none;border:1px solid}.wide{overflow:visible}.screen{display:none}.paper{display:block}td,th{font-size:9px;padding-right:.4rem}td,tbody th{white-space:normal}td.number,tbody th:not(.long){white-space:nowrap}svg:where(:not([width])){min-width:0;break-inside:avoid}tr{break-inside:avoid}h2{break-after:avoid}svg text{fill:#000}svg .interval{stroke:#000}svg.flow text{stroke:#fff}}`;

/** As wide as a page of the console on a screen of 1,280 pixels, where texts have the size that the style says. */
export const pictureWidth = 980;
/** A character of 13 pixels is at most so wide, but for a few. */
export const characterWidth = 8;

/** A drawing under its title, which scrolls by itself where it is wider than the page. @param after what stands below it */
export function picture(title: string, drawing: Html, after: HtmlValue = null): Html {
	return html`<figure class="picture"><figcaption>${title}</figcaption>
<div class="wide many" tabindex="0" role="group" aria-label="${title}">${drawing}</div>${after}</figure>
`;
}

/** Which colour is whose. @param isDots whether the first one is filled, and the others are hollow */
export function legendOf(series: readonly { readonly name: string }[], isDots = false): Html[] {
	return series.map(
		({ name }, place) =>
			html`<span class="name"><svg class="swatch" width="12" height="12" aria-hidden="true"><circle class="series-${place}${isDots && place > 0 && ' hollow'}" cx="6" cy="6" r="5" fill="currentColor" stroke="currentColor"/></svg> ${name}</span> `,
	);
}

/** Longer texts take several lines. */
const longText = 40;
/** Of amounts, besides the names of rows, as many fit on paper beside each other. */
const paperColumns = 8;

/** Where a cell leads to; undefined where it leads nowhere. */
export type LinkOfCell = (row: FlatRow, column: string) => string | undefined;

/** Where the heading of a column leads to, to sort by it, and how rows are sorted by it now. */
export type SortOfColumn = (column: string) => {
	readonly href: string;
	readonly order?: 'ascending' | 'descending' | undefined;
};

interface TableLook {
	/** What it has, above it; where something else says so, only for who does not see. */
	readonly caption?: string;
	/** Whether it is several on paper where its columns would not fit. */
	readonly fitsPaper?: boolean;
	readonly linkOf?: LinkOfCell | undefined;
	readonly sortOf?: SortOfColumn | undefined;
}

/** A table. The first column names its rows. */
export function htmlTable(
	rows: readonly FlatRow[],
	money: ShowMoney,
	styles?: ColumnStyles,
	{ caption = '', fitsPaper = true, linkOf, sortOf }: TableLook = {},
): Html {
	if (rows.length === 0) return html`<p>${nothing}</p>`;
	const columns = shownColumns(rows, styles).map((column) => ({
		...column,
		isLong: column.isLong || rows.some((row) => String(row[column.name] ?? '').length > longText),
	}));
	const shaded = columns.filter(({ isShaded }) => isShaded);
	const max = Math.max(
		Number.MIN_VALUE,
		...rows.flatMap((row) => shaded.map(({ name }) => Number(row[name] ?? 0))),
	);
	const headOf = (column: ShownColumn) =>
		columnHeading(column.heading, classOf(column), sortOf?.(column.name));
	const tableWith = (some: readonly ShownColumn[], place: string) => {
		const body = rows.map(
			(
				row,
			) => html`<tr>${some.map((column, at) => cellOf(column, row, { max, money, linkOf, isName: at === 0 }))}</tr>
`,
		);
		return html`<div class="wide${some.length > fewColumns && ' many'}${place}" tabindex="0" role="group" aria-label="${caption || 'Figures'}"><table>${caption && html`<caption>${caption}</caption>`}<thead>${moreColumns(some.length)}<tr>${some.map(headOf)}</tr></thead><tbody>${body}</tbody></table></div>
`;
	};
	const names = columns.filter(({ isNumber }) => !isNumber);
	const amounts = columns.filter(({ isNumber }) => isNumber);
	if (!fitsPaper || amounts.length <= paperColumns) return tableWith(columns, '');
	const parts = Array.from({ length: Math.ceil(amounts.length / paperColumns) }, (_, part) =>
		amounts.slice(part * paperColumns, (part + 1) * paperColumns),
	);
	return html`${tableWith(columns, ' screen')}${parts.map((some) => tableWith([...names, ...some], ' paper'))}`;
}

/** So many fit, usually. */
const fewColumns = 4;

/** A row that says how many columns are out of sight to the right: each of its cells that sticks to that edge counts itself. */
export function moreColumns(count: number): Html | false {
	return (
		count > fewColumns &&
		html`<tr class="more" aria-hidden="true">${Array.from({ length: count }, () => html`<td></td>`)}</tr>
`
	);
}

/** The heading of a column, which sorts. */
export function columnHeading(text: string, look: string, sorting?: ReturnType<SortOfColumn>): Html {
	const { href, order } = sorting ?? {};
	const link = href === undefined ? text : html`<a class="sort" href="${href}">${text}</a>`;
	return html`<th class="${look}" scope="col"${order && html` aria-sort="${order}"`}>${link}${order && (order === 'ascending' ? ' ▲' : ' ▼')}</th>`;
}

interface CellLook {
	/** Of shaded columns. */
	readonly max: number;
	readonly money: ShowMoney;
	readonly linkOf: LinkOfCell | undefined;
	/** Whether it names its row. */
	readonly isName: boolean;
}

function cellOf(column: ShownColumn, row: FlatRow, { max, money, linkOf, isName }: CellLook): Html {
	const value = row[column.name] ?? null;
	if (column.isShaded && typeof value !== 'number') return html`<td></td>`;
	const shade = column.isShaded && ` shade-${Math.round((shadeSteps * Math.max(0, Number(value))) / max)}`;
	const text = shownCell(column, value, money);
	const shown = typeof value === 'string' ? html`<bdi>${text}</bdi>` : text;
	const link = value === null || value === 0 ? undefined : linkOf?.(row, column.name);
	const content = link === undefined ? shown : html`<a href="${link}">${shown}</a>`;
	return isName
		? html`<th scope="row" class="${classOf(column)}${shade}">${content}</th>`
		: html`<td class="${classOf(column)}${shade}">${content}</td>`;
}

function classOf({ isShaded, isNumber, isLong }: ShownColumn): string {
	return isShaded ? 'number shaded' : isNumber ? 'number' : isLong ? 'long' : 'text';
}

/** Says that a picture shows the first of many. */
export function cutNote(shown: number, all: number, what: string): Html | null {
	return all > shown ? html`<p>The picture has the first ${shown} of ${all} ${what}.</p>` : null;
}
