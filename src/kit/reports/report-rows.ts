import { type Html, html } from '../format/html.ts';
import { labelledMarks, marksBetween, shownBy, type Unit } from './axis.ts';
import type { FlatRow } from './report.ts';
import { characterWidth, cutNote, legendOf, picture, pictureWidth } from './report-drawing.ts';
import { shortened } from './report-table.ts';

const maxRows = 70;
const [rowHeight, top] = [28, 24];
/** More are drawn once, and go on sideways. */
const maxSmallRows = 24;
/** On a telephone, names are shorter, and of the marks only zero has its text: rows have their values. */
const sizes = [
	{ look: 'broad', width: pictureWidth, nameLength: 36 },
	{ look: 'small', width: 330, nameLength: 15 },
] as const;

interface RowTitles extends Unit {
	readonly title: string;
	/** The columns of the bounds of an interval, which is drawn where a row has one. */
	readonly bounds?: readonly [low: string, high: string];
}

/** What is drawn for a row. */
interface DrawnRow {
	readonly name: string;
	readonly values: readonly number[];
	readonly within: readonly number[];
	/** What stands at its end, where that is not its values. */
	readonly text?: string;
	/** The rows behind it. */
	readonly href?: string | undefined;
}

type Across = (value: number) => number;

/** Rows below each other along one axis, which has its unit and zero. @param draw what stands in the middle of a row */
function rowsPicture(
	rows: readonly DrawnRow[],
	{ title, ...unit }: Unit & { readonly title: string },
	draw: (row: DrawnRow, across: Across, y: number) => Html,
	after: Html | null,
): Html | null {
	if (rows.length === 0) return null;
	const all = rows.flatMap(({ values, within }) => [...values, ...within]);
	const isCount = !unit.money && !unit.isShare && all.every(Number.isInteger);
	const marks = marksBetween(Math.min(0, ...all), Math.max(0, ...all), isCount || unit.money ? 1 : 0);
	const [min, max] = [marks[0] as number, marks.at(-1) as number];
	const shown = shownBy(unit);
	const texts = rows.map(({ values, text }) => text ?? values.map(shown).join(' · '));
	// A picture of one role has no links in it.
	const hasLinks = rows.some(({ href }) => href !== undefined);
	const widest = (some: readonly string[]) => Math.max(...some.map((text) => text.length)) * characterWidth;
	const bottom = top + rows.length * rowHeight;
	const labels = labelledMarks(marks, unit);
	const [broad] = sizes;
	const both = rows.length > maxSmallRows ? [{ ...broad, look: '' }] : sizes;
	const drawings = both.map(({ look, width, nameLength }) => {
		const from = Math.min(nameLength * characterWidth, widest(rows.map(({ name }) => name))) + 16;
		const to = width - 16 - widest(texts);
		const across: Across = (value) => from + ((to - from) * (value - min)) / (max - min);
		const isLabelled = (value: number) => look !== 'small' || value === 0;
		const grid = marks.map((value, place) => {
			const x = across(value).toFixed(1);
			return html`<line class="${value === 0 ? 'axis' : 'grid'}" x1="${x}" x2="${x}" y1="${top - 4}" y2="${bottom}"/>${isLabelled(value) && html`<text x="${x}" y="14" text-anchor="middle">${labels[place]}</text>`}`;
		});
		const drawn = rows.map((row, place) => {
			const y = top + (place + 0.5) * rowHeight;
			const value = html`<text x="${width - 2}" y="${y + 5}" text-anchor="end">${texts[place]}</text>`;
			return html`<text x="${from - 10}" y="${y + 5}" text-anchor="end">${shortened(look === 'small' ? (row.name.split(' · ').at(-1) as string) : row.name, nameLength)}${look !== 'small' && html`<title>${row.name}</title>`}</text>${draw(row, across, y)}${row.href === undefined ? value : html`<a href="${row.href}">${value}</a>`}
`;
		});
		return html`<svg class="${look}" viewBox="0 0 ${width} ${bottom + 4}" role="${hasLinks ? 'group' : 'img'}" aria-label="${title}">${grid}
${drawn}</svg>`;
	});
	return picture(title, html`${drawings}`, after);
}

const nameOf = (row: FlatRow) =>
	Object.values(row)
		.filter((cell) => typeof cell === 'string')
		.join(' · ') || 'all';

/** A bar for each row: to the right of a line at zero, or to its left in another colour. */
export function bars(
	table: readonly FlatRow[],
	column: string,
	{ title, bounds = ['', ''], ...unit }: RowTitles,
): Html | null {
	const rows = table.slice(0, maxRows).map((row) => ({
		name: nameOf(row),
		values: [Number(row[column] ?? 0)],
		within: bounds.map((name) => row[name]).filter((bound) => typeof bound === 'number'),
	}));
	return rowsPicture(
		rows,
		{ title, ...unit },
		({ values: [value = 0], within }, across, y) => {
			const [from, to] = [across(Math.min(0, value)), across(Math.max(0, value))];
			return html`<rect class="bar${value < 0 && ' negative'}" x="${from.toFixed(1)}" y="${y - 9}" width="${(to - from).toFixed(1)}" height="18"/>${whisker(within.map(across), y)}`;
		},
		cutNote(rows.length, table.length, 'rows'),
	);
}

/** A dot for each of some columns of a row, on a line from one to the other; or one with the line of its interval. */
export function dots(
	table: readonly FlatRow[],
	columns: readonly { readonly name: string; readonly column: string }[],
	{ title, bounds = ['', ''], ...unit }: RowTitles,
): Html | null {
	const rows = table.slice(0, maxRows).map((row) => ({
		name: nameOf(row),
		values: columns.map(({ column }) => Number(row[column] ?? 0)),
		within: bounds.map((name) => row[name]).filter((bound) => typeof bound === 'number'),
	}));
	return rowsPicture(
		rows,
		{ title, ...unit },
		({ values, within }, across, y) => {
			const places = values.map((value) => across(value).toFixed(1));
			// Filled and hollow, so that not the colour alone tells them apart.
			return html`${values.length > 1 && html`<path class="interval" d="M${places[0]} ${y}H${places[1]}"/>`}${whisker(within.map(across), y)}${places.map((x, place) => html`<circle class="series-${place} ${place > 0 && 'hollow'}" cx="${x}" cy="${y}" r="${6 + 3 * place}" fill="currentColor" stroke="currentColor"/>`)}`;
		},
		html`${columns.length > 1 && html`<p>${legendOf(columns, true)}</p>`}${cutNote(rows.length, table.length, 'rows')}`,
	);
}

/** The line of an interval, with ends. Empty without bounds. */
function whisker([low, high]: readonly number[], y: number): Html | null {
	if (low === undefined || high === undefined) return null;
	const [from, to] = [low.toFixed(1), high.toFixed(1)];
	return html`<path class="interval" d="M${from} ${y}H${to}M${from} ${y - 5}v10M${to} ${y - 5}v10"/>`;
}

/** A part of a way from one amount to another. */
export interface WaterfallStep {
	readonly name: string;
	/** A total begins at zero; others where the one before has ended. */
	readonly isTotal?: boolean;
	readonly value: number;
	/** The rows behind it. */
	readonly href?: string | undefined;
}

/** How an amount becomes another one: totals from zero, between them what was added and taken away. */
export function waterfall(
	steps: readonly WaterfallStep[],
	titles: Unit & { readonly title: string },
): Html | null {
	let at = 0;
	const looks = new Map<DrawnRow, string>();
	const rows = steps.map(({ name, isTotal = false, value, href }) => {
		const from = isTotal ? 0 : at;
		at = from + value;
		const text = `${!isTotal && value > 0 ? '+' : ''}${shownBy(titles)(value)}`;
		const row = { name, text, values: [], within: [from, at], href: value === 0 ? undefined : href };
		looks.set(row, value < 0 ? ' negative' : isTotal ? '' : ' added');
		return row;
	});
	return rowsPicture(
		rows,
		titles,
		(row, across, y) => {
			const [low, high] = row.within.map(across).sort((a, b) => a - b) as [number, number];
			return html`<rect class="bar${looks.get(row)}" x="${low.toFixed(1)}" y="${y - 9}" width="${(high - low).toFixed(1)}" height="18"/>`;
		},
		null,
	);
}
