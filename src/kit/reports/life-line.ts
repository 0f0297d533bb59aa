import { dayMs } from '../../core/durations.ts';
import { type Html, html } from '../format/html.ts';
import { marksBetween } from './axis.ts';
import { addDays, type Calendar } from './calendar.ts';
import { legendOf, maxSeries } from './report-drawing.ts';
import { shortened } from './report-table.ts';

/** A share that holds from a moment until the next. */
interface Level {
	readonly name: string;
	/** By time. */
	readonly points: readonly (readonly [atMs: number, share: number])[];
}

/** What happened at moments, or held for some time. */
export interface Lane {
	readonly name: string;
	readonly momentsMs?: readonly number[];
	readonly spans?: readonly { readonly fromMs: number; readonly toMs: number }[];
}

interface LifeLine {
	readonly title: string;
	readonly fromMs: number;
	readonly toMs: number;
	/** Of the days on its axis. */
	readonly calendar: Pick<Calendar, 'dayOf' | 'startOfDay'>;
	readonly levels: readonly Level[];
	readonly lanes: readonly Lane[];
}

const [width, left, right, top, levelsHeight, laneHeight] = [1080, 150, 50, 16, 170, 26];
const maxDays = 8;
/** Between the middles of two days on the axis. */
const leastDistance = 90;

/** Levels as step lines over time, and below them a lane for each kind of what happened. */
export function lifeLine({ title, fromMs, toMs, calendar, levels, lanes }: LifeLine): Html {
	const drawn = levels.filter(({ points }) => points.length > 0).slice(0, maxSeries);
	const from = fromMs < toMs ? fromMs : toMs - 1;
	const across = (ms: number) => left + ((width - left - right) * (ms - from)) / (toMs - from);
	const lanesFrom = drawn.length > 0 ? top + levelsHeight + 14 : top;
	const bottom = lanesFrom + lanes.length * laneHeight;
	const marks = marksBetween(0, Math.max(...drawn.flatMap(({ points }) => points.map(([, share]) => share))));
	const max = marks.at(-1) as number;
	const up = (share: number) => (top + levelsHeight * (1 - share / max)).toFixed(1);
	const grid = marks.map(
		(mark) =>
			html`<line x1="${left}" x2="${width - right}" y1="${up(mark)}" y2="${up(mark)}" class="${mark === 0 ? 'axis' : 'grid'}"/><text x="${left - 6}" y="${Number(up(mark)) + 4}" text-anchor="end">${Number((100 * mark).toPrecision(3))} %</text>`,
	);
	const lines = drawn.map(({ name, points }, place) => {
		const steps = points.map(
			([atMs, share], step) =>
				`${step === 0 ? 'M' : 'H'}${across(atMs).toFixed(1)}${step === 0 ? ' ' : 'V'}${up(share)}`,
		);
		return html`<path class="series-${place}" d="${steps.join('')}H${width - right}" fill="none" stroke="currentColor" stroke-width="2"><title>${name}</title></path>
`;
	});
	const inLanes = lanes.map(({ name, momentsMs = [], spans = [] }, place) => {
		const y = lanesFrom + place * laneHeight;
		// Those that would be drawn at one place are drawn once.
		const places = [...new Set(momentsMs.map((ms) => across(ms).toFixed(0)))];
		const bars = spans.map(({ fromMs: begin, toMs: end }) => {
			const [x, until] = [across(Math.max(begin, from)), across(end)];
			return html`<rect class="bar" x="${x.toFixed(1)}" y="${y + 8}" width="${Math.max(2, until - x).toFixed(1)}" height="10"/>`;
		});
		const ticks =
			places.length > 0 && html`<path class="tick" d="${places.map((x) => `M${x} ${y + 4}v18`).join('')}"/>`;
		return html`<text x="${left - 6}" y="${y + 17}" text-anchor="end">${shortened(name, 20)}<title>${name}</title></text><line class="grid" x1="${left}" x2="${width - right}" y1="${y + 13}" y2="${y + 13}"/>${bars}${ticks}
`;
	});
	// A day stands where it begins; the first one where the picture does, if there is room.
	const step = Math.ceil((toMs - from) / dayMs / maxDays);
	const days: { day: string; x: number }[] = [];
	for (let day = calendar.dayOf(from); calendar.startOfDay(day) <= toMs; day = addDays(day, step))
		days.push({ day, x: across(Math.max(from, calendar.startOfDay(day))) });
	if (days[1] && days[1].x - left < leastDistance) days.shift();
	const dates = days.map(
		({ day, x }) => html`<text x="${x.toFixed(1)}" y="${bottom + 18}" text-anchor="middle">${day}</text>`,
	);
	return html`<div class="wide many" tabindex="0" role="group" aria-label="${title}"><svg class="life" viewBox="0 0 ${width} ${bottom + 26}" role="img" aria-label="${title}">${drawn.length > 0 && grid}${dates}
${inLanes}${lines}</svg></div>
${drawn.length > 0 && html`<p>${legendOf(drawn)}</p>`}`;
}
