import { type Html, type HtmlValue, html } from '../../core/format/html.ts';
import type { ShowMoney } from '../../core/format/money.ts';
import { formatNumber, formatShare } from '../../core/format/numbers.ts';
import type { ColumnStyles, FlatRow } from './report.ts';
import { nothing, type ShownColumn, shortened, shownCell, shownColumns } from './report-table.ts';

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
export const drawingStyle = `${properties(seriesColours)}${series}.bar{fill:var(--series-0)}.negative{fill:var(--series-1)}.tick{stroke:var(--series-0);stroke-width:1.5;fill:none}.noted{stroke:#888;stroke-dasharray:2 3;fill:#888}
td.number,th.number{text-align:right}td.shaded{padding-left:.6rem;padding-right:.6rem;print-color-adjust:exact;-webkit-print-color-adjust:exact}${shades}th{vertical-align:bottom}
td{white-space:nowrap}td.shaded+td:not(.shaded){padding-left:1rem}p .name{display:inline-block;margin-right:1rem}td.long{white-space:normal;overflow-wrap:anywhere;min-width:9rem}
.paper{display:none}.wide{overflow-x:auto;margin:1rem 0;container-type:scroll-state}.wide::before{content:"Goes on sideways ↔";font-size:12px;opacity:.7;position:sticky;left:0;display:none}
@container scroll-state(scrollable:x){.wide::before{display:inline-block}}
@media(max-width:40rem){td,th{font-size:13px;padding-right:.6rem}@supports not (container-type:scroll-state){.many::before{display:inline-block}}}
.picture{margin:0}.picture figcaption{font-weight:600}.picture p{margin:.3rem 0}svg:where(:not([width])){display:block;min-width:20rem;width:100%;max-width:36rem}svg.flow{min-width:64rem}svg.life{min-width:54rem}svg.flow,svg.life{max-width:72rem}svg.flow text{paint-order:stroke;stroke:#fff;stroke-width:3px}svg text{font-size:13px;fill:#333}svg .axis{stroke:#888}svg .grid{stroke:#8883}svg .group{font-weight:600}svg .interval{stroke:#333;stroke-width:1.5;fill:none}bdi,svg text{unicode-bidi:isolate}
@media(prefers-color-scheme:dark){${properties(darkColours)}body{background:#16181c;color:#ddd}svg text{fill:#ccc}svg .interval{stroke:#eee}svg.flow text{stroke:#16181c}.warning{background:#4d3d00}}
@media print{svg.flow,svg.life{min-width:0}body{max-width:none;background:none;color:#000}.warning{background:none;border:1px solid}.wide{overflow:visible}.screen{display:none}.paper{display:block}td,th{font-size:9px;padding-right:.4rem}td{white-space:normal}td.number,td:first-child:not(.long){white-space:nowrap}svg{min-width:0;break-inside:avoid}tr{break-inside:avoid}h2{break-after:avoid}svg text{fill:#000}svg .interval{stroke:#000}svg.flow text{stroke:#fff}}`;

/** Ten groups of seven models. */
const maxBars = 70;
const [width, barHeight] = [440, 20];
const nameLength = 22;
/** A character of 13 pixels is at most so wide, but for a few. */
export const characterWidth = 8;

interface BarTitles {
	readonly title: string;
	/** Where values are amounts of money. */
	readonly money?: ShowMoney;
	readonly isShare?: boolean;
	/** The columns of the bounds of an interval, which is drawn where a row has one. */
	readonly bounds?: readonly [low: string, high: string];
}

/** A bar for each row: to the right of a line at zero, or to its left in another colour. Rows of several models are grouped. */
export function bars(
	table: readonly FlatRow[],
	column: string,
	{ title, money, isShare, bounds }: BarTitles,
): Html | null {
	const isGrouped = new Set(table.map(({ model }) => model)).size > 1;
	const rows = table.slice(0, maxBars).map(({ model = null, ...row }) => ({
		names: Object.values(row).filter((cell) => typeof cell === 'string'),
		model,
		value: Number(row[column] ?? 0),
		within: (bounds ?? []).map((name) => row[name]).filter((bound) => typeof bound === 'number'),
	}));
	if (rows.length === 0) return null;
	const values = rows.flatMap(({ value, within }) => [value, ...within]);
	const [min, max] = [Math.min(0, ...values), Math.max(0, ...values)];
	const shown = money ?? (isShare ? formatShare : formatNumber);
	const labels = rows.map(({ names, model, value }) => ({
		name: isGrouped ? String(model ?? '') : names.join(' · '),
		value: shown(value),
	}));
	const widest = (texts: readonly string[]) => Math.max(...texts.map((text) => text.length)) * characterWidth;
	const barsFrom = Math.min(nameLength * characterWidth, widest(labels.map(({ name }) => name))) + 12;
	const barsTo = width - 12 - widest(labels.map(({ value }) => value));
	const across = (value: number) => barsFrom + ((barsTo - barsFrom) * (value - min)) / (max - min || 1);
	let y = 24;
	const drawn = rows.map(({ names, value, within }, place) => {
		const group = names.join(' · ');
		const isNext = isGrouped && group !== rows[place - 1]?.names.join(' · ');
		if (isNext) y += barHeight + (place > 0 ? 4 : 0);
		const heading =
			isNext &&
			html`<text class="group" x="0" y="${y - 5}">${shortened(group, 40)}<title>${group}</title></text>
`;
		const { name, value: text } = labels[place] as (typeof labels)[number];
		const [from, to] = [across(Math.min(0, value)), across(Math.max(0, value))];
		const line = html`${heading}<text x="${(barsFrom - 8).toFixed(1)}" y="${y + 14}" text-anchor="end">${shortened(name, nameLength)}<title>${name}</title></text><rect class="bar${value < 0 && ' negative'}" x="${from.toFixed(1)}" y="${y + 3}" width="${(to - from).toFixed(1)}" height="${barHeight - 6}"/>${whisker(within.map(across), y + barHeight / 2)}<text x="${width - 2}" y="${y + 14}" text-anchor="end">${text}</text>
`;
		y += barHeight;
		return line;
	});
	const zero = across(0).toFixed(1);
	// An end of the scale that would stand over the zero has no label: each bar has its number.
	const scale = [min, max]
		.filter((value) => Math.abs(across(value) - across(0)) > (shown(value).length + 2) * characterWidth)
		.map(
			(value) =>
				html`<text x="${across(value).toFixed(1)}" y="14" text-anchor="${value < 0 ? 'start' : 'end'}">${shown(value)}</text>`,
		);
	return picture(
		title,
		html`<svg viewBox="0 0 ${width} ${y + 4}" role="img" aria-label="${title}">${scale}${drawn}<line class="axis" x1="${zero}" x2="${zero}" y1="18" y2="${y}"/><text x="${zero}" y="14" text-anchor="${min < 0 ? 'middle' : 'start'}">0</text></svg>`,
		cutNote(rows.length, table.length, 'rows'),
	);
}

/** A drawing under its title, which scrolls by itself where it is wider than the page. @param after what stands below it */
export function picture(title: string, drawing: Html, after: HtmlValue = null): Html {
	return html`<figure class="picture"><figcaption>${title}</figcaption>
<div class="wide many" tabindex="0" role="group" aria-label="${title}">${drawing}</div>${after}</figure>
`;
}

/** Which colour is whose. */
export function legendOf(series: readonly { readonly name: string }[]): Html[] {
	return series.map(
		({ name }, place) => html`<span class="name"><span class="series-${place}">■</span> ${name}</span> `,
	);
}

/** The line of an interval, with ends. Empty without bounds. */
function whisker([low, high]: readonly number[], y: number): Html | null {
	if (low === undefined || high === undefined) return null;
	const [from, to] = [low.toFixed(1), high.toFixed(1)];
	return html`<path class="interval" d="M${from} ${y}H${to}M${from} ${y - 5}v10M${to} ${y - 5}v10"/>`;
}

/** Longer texts take several lines. */
const longText = 40;
/** Of amounts, besides the names of rows, as many fit on paper beside each other. */
const paperColumns = 8;

/** Where a cell leads to; undefined where it leads nowhere. */
export type LinkOfCell = (row: FlatRow, column: string) => string | undefined;

/** A table. @param fitsPaper whether it is several on paper where its columns would not fit */
export function htmlTable(
	rows: readonly FlatRow[],
	money: ShowMoney,
	styles?: ColumnStyles,
	{
		fitsPaper = true,
		linkOf,
	}: { readonly fitsPaper?: boolean; readonly linkOf?: LinkOfCell | undefined } = {},
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
	const tableWith = (some: readonly ShownColumn[], place: string) => {
		const head = some.map(
			(column) => html`<th class="${classOf(column)}" scope="col">${column.heading}</th>`,
		);
		const body = rows.map(
			(row) => html`<tr>${some.map((column) => cellOf(column, row, { max, money, linkOf }))}</tr>
`,
		);
		return html`<div class="wide${some.length > 4 && ' many'}${place}" tabindex="0" role="group" aria-label="table"><table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table></div>
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

interface CellLook {
	/** Of shaded columns. */
	readonly max: number;
	readonly money: ShowMoney;
	readonly linkOf: LinkOfCell | undefined;
}

function cellOf(column: ShownColumn, row: FlatRow, { max, money, linkOf }: CellLook): Html {
	const value = row[column.name] ?? null;
	if (column.isShaded && typeof value !== 'number') return html`<td></td>`;
	const shade = column.isShaded && ` shade-${Math.round((shadeSteps * Math.max(0, Number(value))) / max)}`;
	const text = shownCell(column, value, money);
	const shown = typeof value === 'string' ? html`<bdi>${text}</bdi>` : text;
	const link = value === null || value === 0 ? undefined : linkOf?.(row, column.name);
	return html`<td class="${classOf(column)}${shade}">${link === undefined ? shown : html`<a href="${link}">${shown}</a>`}</td>`;
}

function classOf({ isShaded, isNumber, isLong }: ShownColumn): string {
	return isShaded ? 'number shaded' : isNumber ? 'number' : isLong ? 'long' : 'text';
}

/** Says that a picture shows the first of many. */
function cutNote(shown: number, all: number, what: string): Html | null {
	return all > shown ? html`<p>The picture has the first ${shown} of ${all} ${what}.</p>` : null;
}
