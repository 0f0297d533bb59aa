import { compareTexts } from '../../core/domain/compare-texts.ts';
import type { ShowMoney } from '../../core/format/money.ts';
import { type Html, html } from '../format/html.ts';
import { labelledMarks, marksBetween, shownBy } from './axis.ts';
import type { SpanLength } from './calendar.ts';
import { type DayNote, notesByPlace } from './day-notes.ts';
import { columnOf } from './grouping.ts';
import { characterWidth, legendOf, maxSeries, picture, pictureWidth } from './report-drawing.ts';
import { shortened } from './report-table.ts';

/** A value for each of some places across, with the bounds of its interval where there is one. */
export interface CurvePoint {
	readonly x: string;
	readonly y: number | null;
	readonly low?: number | null;
	readonly high?: number | null;
	/** How much of a day, week or month it is of, where that is not all. It is drawn hollow. */
	readonly part?: string | null;
	/** What the place is called, where another curve has given its name. */
	readonly told?: string;
}

export interface Curve {
	readonly name: string;
	readonly points: readonly CurvePoint[];
	/** What is expected, not what came. */
	readonly isDashed?: boolean;
	/** Whether it is the first one of an earlier time. */
	readonly isPale?: boolean;
}

interface CurveTitles {
	readonly title: string;
	/** Where values are amounts of money. */
	readonly money?: ShowMoney;
	readonly isShare?: boolean;
	/** Whether they are bars upon each other: gains up from zero, and losses down. */
	readonly isStacked?: boolean;
	/** What is counted from left to right, where places do not say. */
	readonly across?: string;
	/** Whether places are numbers, as far apart as they are. */
	readonly isLinear?: boolean;
	/** A place that a line stands at, with what it is. */
	readonly marked?: { readonly x: string; readonly text: string } | undefined;
	/** What happened on days, where places are days, weeks or months: which of these. */
	readonly noted?: { readonly notes: readonly DayNote[]; readonly every: SpanLength };
}

export const monthsAcross = 'months since the first payment';

const [height, top, bottom] = [280, 14, 30];
/** Of names at the ends of curves, from each other. */
const endDistance = 16;
/** On a telephone, names at the ends of curves are shorter, and nearer to them. In characters. */
const sizes = [
	{ look: 'broad', width: pictureWidth, endLength: 24, endGap: 20 },
	{ look: 'small', width: 330, endLength: 11, endGap: 12 },
] as const;
/** There, more points are drawn without what they say: the table has it. */
const maxSmallPoints = 60;

/** Curves over the same places, with axes, a line at zero, and the bands of intervals. The first ones, if there are many. */
export function curves(
	all: readonly Curve[],
	{ title, money, isShare, isStacked, across: unit, noted: given, isLinear, marked }: CurveTitles,
): Html | null {
	const drawn = all.slice(0, maxSeries);
	const places = [...new Set(drawn.flatMap(({ points }) => points.map(({ x }) => x)))].sort(inOrder);
	const stacked = isStacked && boundsOfStack(drawn);
	const values = stacked
		? [...stacked.values()].flat()
		: drawn.flatMap(({ points }) => points.flatMap(({ y, low, high }) => [y, low, high]));
	const known = values.filter((value) => typeof value === 'number');
	if (known.length === 0) return null;
	const isCount = !money && !isShare && known.every(Number.isInteger);
	const marks = marksBetween(
		Math.min(0, ...known),
		Math.max(isShare ? 1 : 0, ...known),
		isCount || money ? 1 : 0,
	);
	const [min, max] = [marks[0] as number, marks.at(-1) as number];
	const shown = shownBy({ money, isShare });
	const labels = labelledMarks(marks, { money, isShare });
	const left = Math.max(...labels.map((text) => text.length)) * characterWidth + 10;
	const placeOf = new Map(places.map((x, place) => [x, place]));
	// By name, so that a channel has its colour in all pictures of a page.
	const byName = drawn.filter(({ isPale }) => !isPale).sort((a, b) => compareTexts(a.name, b.name));
	const colourOf = (curve: Curve) => Math.max(0, byName.indexOf(curve));
	const [firstNumber, lastNumber] = [Number(places[0]), Number(places.at(-1))];
	const below = unit ? bottom + 20 : bottom;
	const up = (y: number) => height - below - ((height - top - below) * (y - min)) / (max - min);
	const noted = given
		? notesByPlace(given.notes, places, given.every)
		: new Map<string, readonly DayNote[]>();
	const isNamed = !stacked && drawn.length > 1;
	const pointCount = drawn.reduce((sum, { points }) => sum + points.length, 0);
	const drawings = sizes.map(({ look, width, endLength, endGap }) => {
		const isTold = look === 'broad' || pointCount <= maxSmallPoints;
		const endNames = isNamed ? drawn.map(({ name }) => shortened(name, endLength)) : [];
		const right = Math.max(18, ...endNames.map((name) => name.length * characterWidth + endGap + 14));
		const plot = width - left - right;
		const across = (x: string) => {
			if (isLinear) return left + (plot * (Number(x) - firstNumber)) / (lastNumber - firstNumber || 1);
			const place = placeOf.get(x) as number;
			return (
				left + plot * (isStacked ? (place + 0.5) / places.length : place / Math.max(1, places.length - 1))
			);
		};
		const at = (x: string, y: number) => `${across(x).toFixed(1)},${up(y).toFixed(1)}`;
		const grid = marks.map(
			(y, place) =>
				html`<line x1="${left}" x2="${width - right}" y1="${up(y).toFixed(1)}" y2="${up(y).toFixed(1)}" class="${y === 0 ? 'axis' : 'grid'}"/><text x="${left - 6}" y="${(up(y) + 4).toFixed(1)}" text-anchor="end">${labels[place]}</text>`,
		);
		const longest = Math.max(...places.map((x) => x.length)) * characterWidth;
		const every = Math.ceil((places.length - 1) / Math.floor(plot / (longest + 22))) || 1;
		const named = isLinear
			? marksBetween(firstNumber, lastNumber)
					.filter((mark) => mark >= firstNumber && mark <= lastNumber)
					.map(String)
			: places.filter((_, place) => place % every === 0);
		const names = named.map((x) => {
			// Names at the ends stay within the picture.
			const [least, most] = [longest / 2, width - longest / 2];
			const middle = Math.min(most, Math.max(least, across(x))).toFixed(1);
			return html`<text x="${middle}" y="${height - below + 20}" text-anchor="middle">${x}</text>`;
		});
		if (unit)
			names.push(
				html`<text x="${(left + width - right) / 2}" y="${height - 6}" text-anchor="middle">${unit}</text>`,
			);
		const barWidth = (0.7 * plot) / places.length;
		const lines = drawn.map((curve) => {
			const { name, points, isDashed, isPale } = curve;
			const title = ({ x, y, part, told = x }: CurvePoint) =>
				isTold && html`<title>${name && `${name}, `}${told}${part && ` (${part})`}: ${shown(y ?? 0)}</title>`;
			if (stacked) {
				const bars = points.map((point) => {
					const [from, to] = (stacked.get(point) as [number, number]).map(up) as [number, number];
					return html`<rect x="${(across(point.x) - barWidth / 2).toFixed(1)}" y="${Math.min(from, to).toFixed(1)}" width="${barWidth.toFixed(1)}" height="${Math.abs(from - to).toFixed(1)}" fill="currentColor"${point.part && html` fill-opacity=".5"`}>${title(point)}</rect>`;
				});
				return html`<g class="series-${colourOf(curve)}">${bars}</g>
`;
			}
			const whole = points.filter(({ y }) => y !== null);
			const banded = points.filter(({ low, high }) => typeof low === 'number' && typeof high === 'number');
			const band = [
				...banded.map(({ x, high }) => at(x, high as number)),
				...banded.toReversed().map(({ x, low }) => at(x, low as number)),
			];
			// What is of a part of a day, week or month is no fall, so that its line is dashed.
			const [solid, dashed] = [false, true].map((isOfPart) =>
				whole
					.slice(1)
					.map((point, before) => [whole[before] as CurvePoint, point] as const)
					.filter(([from, to]) => Boolean(isDashed || from.part || to.part) === isOfPart)
					.map(([from, to]) => `M${at(from.x, from.y as number)}L${at(to.x, to.y as number)}`)
					.join(''),
			);
			const dots = whole
				.filter(({ part }) => isTold || part || whole.length === 1)
				.map(
					(point) =>
						html`<circle cx="${across(point.x).toFixed(1)}" cy="${up(point.y as number).toFixed(1)}" ${point.part ? html`r="4" fill="none" stroke="currentColor" pointer-events="all"` : html`r="2.5" fill="currentColor"`}>${title(point)}</circle>`,
				);
			const shade =
				band.length > 0 &&
				html`<polygon points="${band.join(' ')}" fill="currentColor" fill-opacity="${(0.3 / (drawn.length + 1)).toFixed(3)}"/>`;
			return html`<g class="series-${colourOf(curve)}${isPale && ' pale'}">${shade}${solid && html`<path d="${solid}" fill="none" stroke="currentColor" stroke-width="2"/>`}${dashed && html`<path d="${dashed}" fill="none" stroke="currentColor" stroke-width="2" stroke-dasharray="5"/>`}${dots}</g>
`;
		});
		const noteMarks = [...noted].map(([place, own]) => {
			const x = across(place).toFixed(1);
			return html`<path class="noted" d="M${x} ${height - below}V${top - 2}l-5 -8h10l-5 8"><title>${own.map(({ day, text }) => `${day}: ${text}`).join('\n')}</title></path>
`;
		});
		const markAt = marked ? across(marked.x) : 0;
		const isMarkLeft = markAt < width / 2;
		const mark =
			marked &&
			html`<path class="interval" stroke-dasharray="5" d="M${markAt.toFixed(1)} ${height - below}V${top}"/><text x="${(markAt + (isMarkLeft ? 6 : -6)).toFixed(1)}" y="${top + 10}"${!isMarkLeft && html` text-anchor="end"`}>${marked.text}</text>`;
		const ends = endNames.flatMap((name, place) => {
			const curve = drawn[place] as Curve;
			const last = curve.points.findLast(({ y }) => y !== null);
			return last ? [{ name, colour: colourOf(curve), x: across(last.x), y: up(last.y as number) }] : [];
		});
		const lowest = height - below;
		const labelled = apart(ends, lowest).map(({ name, colour, x, y, labelY }) => {
			const from = width - right + endGap;
			return html`<path class="leader series-${colour}" d="M${(x + 5).toFixed(1)} ${y.toFixed(1)}L${from - 4} ${labelY.toFixed(1)}" fill="none" stroke="currentColor"/><text x="${from}" y="${(labelY + 4).toFixed(1)}">${name}</text>`;
		});
		return html`<svg class="${look} curves${given && ' time'}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}">${grid}${names}
${noteMarks}${lines}${mark}${labelled}</svg>`;
	});
	const rest = all.length - drawn.length;
	return picture(
		title,
		html`${drawings}`,
		html`${drawn.some(({ points }) => points.some(({ part }) => part)) && html`<p>${isStacked ? 'Pale' : 'Dashed and hollow'}: a ${given?.every ?? 'span'} that is incomplete.</p>`}${stacked && html`<p>${legendOf(byName)}</p>`}${rest > 0 && html`<p>And ${rest} more in the table.</p>`}`,
	);
}

/** Names at the ends of curves, so that none stands over another. @param lowest where the last one may be */
function apart<End extends { readonly y: number }>(
	ends: readonly End[],
	lowest: number,
): (End & { labelY: number })[] {
	const placed = ends.map((end) => ({ ...end, labelY: end.y })).sort((a, b) => a.y - b.y);
	for (const [place, end] of placed.entries())
		end.labelY = Math.max(end.labelY, (placed[place - 1]?.labelY ?? -endDistance) + endDistance);
	for (let place = placed.length - 1; place >= 0; place--) {
		const end = placed[place] as (typeof placed)[number];
		end.labelY = Math.min(end.labelY, (placed[place + 1]?.labelY ?? lowest + endDistance) - endDistance);
	}
	return placed;
}

/** From where to where each point of curves is drawn that stand upon each other. */
function boundsOfStack(all: readonly Curve[]): Map<CurvePoint, readonly [from: number, to: number]> {
	const ends = new Map<string, { up: number; down: number }>();
	const bounds = new Map<CurvePoint, readonly [number, number]>();
	for (const point of all.flatMap(({ points }) => points)) {
		const end = ends.getOrInsertComputed(point.x, () => ({ up: 0, down: 0 }));
		const side = (point.y ?? 0) < 0 ? 'down' : 'up';
		const from = end[side];
		end[side] += point.y ?? 0;
		bounds.set(point, [from, end[side]]);
	}
	return bounds;
}

/** A curve of the size of a word, beside its number. */
export function sparkline(values: readonly number[]): Html | null {
	const [min, max] = [Math.min(0, ...values), Math.max(0, ...values)];
	if (values.length < 2 || min === max) return null;
	const points = values.map(
		(value, place) =>
			`${((100 * place) / (values.length - 1)).toFixed(1)} ${(23 - (22 * (value - min)) / (max - min)).toFixed(1)}`,
	);
	return html`<svg class="spark series-0" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true"><path d="M${points.join('L')}" fill="none" stroke="currentColor" stroke-width="1.5" vector-effect="non-scaling-stroke"/></svg>`;
}

/** A curve for each group of rows, named by the values of their dimensions. */
export function curvesByGroup<Row extends Readonly<Record<string, unknown>>>(
	rows: readonly Row[],
	by: readonly string[],
	pointOf: (row: Row) => CurvePoint,
): Curve[] {
	const groups = Map.groupBy(rows, (row) => by.map((name) => row[columnOf(name)]).join(' / ') || 'all');
	return [...groups].map(([name, own]) => ({ name, points: own.map(pointOf) }));
}

/** Numbers by size, dates by time. */
function inOrder(a: string, b: string): number {
	return a.localeCompare(b, 'en', { numeric: true });
}

/** The curve of a report and, where it is compared, that of the earlier period beneath the same places. */
export function withEarlier<Row>(
	rows: readonly Row[],
	earlier: readonly Row[] | undefined,
	pointOf: (row: Row) => CurvePoint,
): Curve[] {
	const points = rows.map(pointOf);
	if (!earlier) return [{ name: '', points }];
	const before = earlier.slice(0, points.length).map((row, place) => {
		const { x, part: _, ...point } = pointOf(row);
		return { ...point, x: points[place]?.x ?? x, told: x };
	});
	return [
		{ name: 'now', points },
		{ name: 'before', points: before, isPale: true },
	];
}
