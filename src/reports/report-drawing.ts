import { withoutHidden } from '../format/hidden-characters.ts';
import { escapeHtml } from '../format/html.ts';
import type { ShowMoney } from '../format/money.ts';
import { formatNumber } from '../format/numbers.ts';
import type { ColumnStyles, FlatRow } from './report.ts';
import { nothing, type ShownColumn, shortened, shownCell, shownColumns } from './report-table.ts';

const blue = '#0b63ce';

/** What pictures and tables need of a page's style. Shading is printed, and wide tables wrap on paper. */
export const drawingStyle = `td.number,th.number{text-align:right}td.shaded{padding-left:.6rem;padding-right:.6rem;print-color-adjust:exact;-webkit-print-color-adjust:exact}th{vertical-align:bottom}
td,th{white-space:nowrap}td.shaded+td:not(.shaded){padding-left:1rem}p .name{display:inline-block;margin-right:1rem}td.long{white-space:normal;overflow-wrap:anywhere;min-width:9rem}
.wide{overflow-x:auto;margin:1rem 0;container-type:scroll-state}.wide::before{content:"Goes on sideways ↔";font-size:12px;opacity:.7;position:sticky;left:0;display:none}
@container scroll-state(scrollable:x){.wide::before{display:inline-block}}
@media(max-width:40rem){td,th{font-size:13px;padding-right:.6rem}@supports not (container-type:scroll-state){.many::before{display:inline-block}}}
svg{display:block;min-width:36rem;width:100%;max-width:48rem}svg text{font-size:13px;fill:#333}svg .axis{stroke:#888}svg .grid{stroke:#8883}svg .interval{stroke:#333;stroke-width:1.5;fill:none}bdi,svg text{unicode-bidi:isolate}
@media(prefers-color-scheme:dark){body{background:#16181c;color:#ddd}svg text{fill:#ccc}svg .interval{stroke:#eee}.warning{background:#4d3d00}}
@media print{body{max-width:none;background:none;color:#000}.warning{background:none;border:1px solid}.wide{overflow:visible}td,th{white-space:normal;overflow-wrap:anywhere;font-size:9px;padding-right:.4rem}svg{min-width:0;break-inside:avoid}tr{break-inside:avoid}h2{break-after:avoid}svg text{fill:#000}svg .interval{stroke:#000}}`;

const maxBars = 140;
const [barHeight, barsFrom, barsTo] = [20, 250, 640];

interface BarTitles {
	readonly title: string;
	/** Where values are amounts of money. */
	readonly money?: ShowMoney;
	/** The columns of the bounds of an interval, which is drawn where a row has one. */
	readonly bounds?: readonly [low: string, high: string];
}

/** A bar for each row: to the right of a line at zero, or to its left in another colour. Rows of several models are grouped. */
export function bars(table: readonly FlatRow[], column: string, { title, money, bounds }: BarTitles): string {
	const isGrouped = new Set(table.map(({ model }) => model)).size > 1;
	const rows = table.slice(0, maxBars).map(({ model = null, ...row }) => ({
		names: Object.values(row).filter((cell) => typeof cell === 'string'),
		...{ model, value: Number(row[column] ?? 0) },
		within: (bounds ?? []).map((name) => row[name]).filter((bound) => typeof bound === 'number'),
	}));
	if (rows.length === 0) return '';
	const values = rows.flatMap(({ value, within }) => [value, ...within]);
	const [min, max] = [Math.min(0, ...values), Math.max(0, ...values)];
	const across = (value: number) => barsFrom + ((barsTo - barsFrom) * (value - min)) / (max - min || 1);
	const shown = money ?? formatNumber;
	let y = 24;
	const drawn = rows.map(({ names, model, value, within }, place) => {
		if (isGrouped && place > 0 && names.join() !== rows[place - 1]?.names.join()) y += barHeight / 2;
		const name = [...names, ...(isGrouped ? [model] : [])].join(' · ');
		const [from, to] = [across(Math.min(0, value)), across(Math.max(0, value))];
		const line = `<text x="${barsFrom - 8}" y="${y + 14}" text-anchor="end">${escapeHtml(withoutHidden(shortened(name, 34)))}<title>${escapeHtml(withoutHidden(name))}</title></text><rect x="${from.toFixed(1)}" y="${y + 2}" width="${(to - from).toFixed(1)}" height="${barHeight - 4}" fill="${value < 0 ? '#c0392b' : blue}"/>${whisker(within.map(across), y + barHeight / 2)}<text x="${width - 8}" y="${y + 14}" text-anchor="end">${escapeHtml(shown(value))}</text>`;
		y += barHeight;
		return line;
	});
	const zero = across(0).toFixed(1);
	const scale = [min, max]
		.filter((value) => value !== 0)
		.map(
			(value) =>
				`<text x="${across(value).toFixed(1)}" y="14" text-anchor="${value < 0 ? 'start' : 'end'}">${escapeHtml(shown(value))}</text>`,
		);
	return `<h2>${escapeHtml(title)}</h2>
<div class="wide many"><svg viewBox="0 0 ${width} ${y + 4}" role="img" aria-label="${escapeHtml(title)}">${[...scale, ...drawn].join('\n')}<line class="axis" x1="${zero}" x2="${zero}" y1="18" y2="${y}"/><text x="${zero}" y="14" text-anchor="${min < 0 ? 'middle' : 'start'}">0</text></svg></div>${cutNote(rows.length, table.length, 'rows')}`;
}

/** The line of an interval, with ends. Empty without bounds. */
function whisker([low, high]: readonly number[], y: number): string {
	if (low === undefined || high === undefined) return '';
	const [from, to] = [low.toFixed(1), high.toFixed(1)];
	return `<path class="interval" d="M${from} ${y}H${to}M${from} ${y - 5}v10M${to} ${y - 5}v10"/>`;
}

const longColumns: ColumnStyles = { landing: { isLong: true }, campaign: { isLong: true } };

export function htmlTable(rows: readonly FlatRow[], money: ShowMoney, styles?: ColumnStyles): string {
	if (rows.length === 0) return `<p>${nothing}</p>`;
	const columns = shownColumns(rows, { ...longColumns, ...styles });
	const shaded = columns.filter(({ isShaded }) => isShaded);
	const max = Math.max(
		Number.MIN_VALUE,
		...rows.flatMap((row) => shaded.map(({ name }) => Number(row[name] ?? 0))),
	);
	const head = columns.map((column) => `<th${classOf(column)}>${escapeHtml(column.heading)}</th>`);
	const body = rows.map(
		(row) => `<tr>${columns.map((column) => cellOf(column, row, max, money)).join('')}</tr>`,
	);
	return `<div class="wide${columns.length > 4 ? ' many' : ''}"><table><tr>${head.join('')}</tr>${body.join('\n')}</table></div>`;
}

/** @param max of shaded columns */
function cellOf(column: ShownColumn, row: FlatRow, max: number, money: ShowMoney): string {
	const value = row[column.name] ?? null;
	if (column.isShaded && typeof value !== 'number') return `<td${classOf(column)}></td>`;
	const depth = (0.05 + (0.5 * Math.max(0, Number(value))) / max).toFixed(2);
	const colour = column.isShaded ? ` style="background:rgba(11,99,206,${depth})"` : '';
	const text = escapeHtml(withoutHidden(shownCell(column, value, money)));
	return `<td${classOf(column)}${colour}>${typeof value === 'string' ? `<bdi>${text}</bdi>` : text}</td>`;
}

function classOf({ isShaded, isNumber, isLong }: ShownColumn): string {
	const name = isShaded ? 'number shaded' : isNumber ? 'number' : isLong ? 'long' : '';
	return name && ` class="${name}"`;
}

/** How many subscriptions went from one state to another. */
export interface Flow {
	readonly from: string;
	readonly to: string;
	readonly subscriptions: number;
}

const maxFlows = 40;
const [width, nameWidth, rowGap] = [760, 170, 14];
/** Of the most frequent state. */
const maxHeight = 90;

/** The most frequent transitions: lines as wide as they are frequent, which leave and reach a state one below the other. */
export function flow(transitions: readonly Flow[], all: number): string {
	const shown = transitions.slice(0, maxFlows);
	if (shown.length === 0) return '';
	const [left, right] = [placesOf(shown, 'from'), placesOf(shown, 'to')];
	const most = Math.max(...[...left.values(), ...right.values()].map(({ total }) => total));
	const scale = maxHeight / most;
	const height = Math.max(layOut(left, scale), layOut(right, scale));
	const lines = shown.map(({ from, to, subscriptions }) => {
		const thickness = Math.max(1, subscriptions * scale);
		const [fromY, toY] = [left, right].map((places, side) => {
			const place = places.get(side === 0 ? from : to) as Place;
			place.used += thickness;
			return (place.y + place.used - thickness / 2).toFixed(1);
		});
		return `<path d="M${nameWidth} ${fromY}C${width / 2} ${fromY} ${width / 2} ${toY} ${width - nameWidth} ${toY}" fill="none" stroke="${blue}" stroke-opacity=".4" stroke-width="${thickness.toFixed(1)}"><title>${escapeHtml(`${from} → ${to}: ${subscriptions}`)}</title></path>`;
	});
	const names = (places: ReadonlyMap<string, Place>, x: number, anchor: string) =>
		[...places].map(
			([name, { y, used }]) =>
				`<text x="${x}" y="${(y + used / 2 + 4).toFixed(1)}" text-anchor="${anchor}">${escapeHtml(shortened(name, 23))}</text>`,
		);
	const texts = [...names(left, nameWidth - 8, 'end'), ...names(right, width - nameWidth + 8, 'start')];
	return `<div class="wide"><svg viewBox="0 0 ${width} ${Math.ceil(height)}" role="img" aria-label="flow of visitors between rows">${lines.join('\n')}${texts.join('\n')}</svg></div>${cutNote(shown.length, all, 'transitions')}`;
}

/** Says that a picture shows the first of many. */
function cutNote(shown: number, all: number, what: string): string {
	return all > shown ? `<p>The picture has the first ${shown} of ${all} ${what}.</p>` : '';
}

interface Place {
	y: number;
	/** How much of its height lines have taken. */
	used: number;
	total: number;
}

/** States of one side, the busiest first; the start and the end come first of all. */
function placesOf(transitions: readonly Flow[], side: 'from' | 'to'): Map<string, Place> {
	const totals = new Map<string, number>();
	for (const transition of transitions)
		totals.set(transition[side], (totals.get(transition[side]) ?? 0) + transition.subscriptions);
	const isEnd = (name: string) => Number(name === '(start)' || name === '(conversion)');
	const sorted = [...totals].sort(([a, m], [b, n]) => isEnd(b) - isEnd(a) || n - m);
	return new Map(sorted.map(([name, total]) => [name, { y: 0, used: 0, total }]));
}

/** @returns the height of all */
function layOut(places: ReadonlyMap<string, Place>, scale: number): number {
	let y = rowGap;
	for (const place of places.values()) {
		place.y = y;
		y += Math.max(6, place.total * scale) + rowGap;
	}
	return y;
}
