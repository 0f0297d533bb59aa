import { escapeHtml } from '../format/html.ts';
import type { Transition } from './paths.ts';

const blue = '#0b63ce';

/** What pictures need of a page's style. */
export const drawingStyle = `.bars{display:grid;grid-template-columns:fit-content(40%) minmax(0,1fr) max-content;gap:2px .6rem;font-size:13px;margin:1rem 0;align-items:center}
.bars .name{text-align:right;overflow-wrap:anywhere}.bars .next{margin-top:.5rem}.bars i{display:block;height:1rem;background:${blue}}.bars i.below{background:#c0392b}
.bars .value{text-align:right;font-variant-numeric:tabular-nums}svg{display:block;min-width:36rem;width:100%;max-width:48rem}svg text{font-size:13px;fill:#333}`;

export interface Bar {
	readonly name: string;
	readonly value: number;
	readonly shown: string;
	/** Whether it begins a group. */
	readonly isFirst: boolean;
}

/** A bar for each value, in another colour for negative ones. */
export function bars(all: readonly Bar[]): string {
	const max = Math.max(1, ...all.map(({ value }) => Math.abs(value)));
	const drawn = all.map(({ name, value, shown, isFirst }) => {
		const percent = ((100 * Math.abs(value)) / max).toFixed(1);
		const next = isFirst ? ' next' : '';
		return `<span class="name${next}">${escapeHtml(name)}</span><span class="line${next}"><i${value < 0 ? ' class="below"' : ''} style="width:${percent}%"></i></span><span class="value${next}">${escapeHtml(shown)}</span>`;
	});
	return all.length > 0 ? `<div class="bars">${drawn.join('\n')}</div>` : '';
}

const maxFlows = 40;
const [width, nameWidth, rowGap] = [760, 170, 14];
/** Of the most frequent state. */
const maxHeight = 90;

/** The most frequent transitions: lines as wide as they are frequent, which leave and reach a state one below the other. */
export function flow(transitions: readonly Transition[]): string {
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
				`<text x="${x}" y="${(y + used / 2 + 4).toFixed(1)}" text-anchor="${anchor}">${escapeHtml(shortened(name))}</text>`,
		);
	const texts = [...names(left, nameWidth - 8, 'end'), ...names(right, width - nameWidth + 8, 'start')];
	return `<div class="wide"><svg viewBox="0 0 ${width} ${Math.ceil(height)}" role="img" aria-label="flow of visitors between rows">${lines.join('\n')}${texts.join('\n')}</svg></div>`;
}

interface Place {
	y: number;
	/** How much of its height lines have taken. */
	used: number;
	total: number;
}

/** States of one side, the busiest first; the start and the end come first of all. */
function placesOf(transitions: readonly Transition[], side: 'from' | 'to'): Map<string, Place> {
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

/** A name that fits beside the flow. */
function shortened(name: string): string {
	return name.length > 23 ? `${name.slice(0, 22)}…` : name;
}
