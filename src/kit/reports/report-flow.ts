import { formatNumber } from '../../core/format/numbers.ts';
import { type Html, html } from '../format/html.ts';
import { conversion, lost, moreSteps } from './label.ts';
import { picture } from './report-drawing.ts';
import { shortened } from './report-table.ts';
import { type StepFlow, sizeOf } from './step-flow.ts';
import { sumOf } from './sums.ts';

const [columnWidth, nodeWidth, top] = [190, 10, 44];
/** Between nodes: a name fits. */
const gap = 16;
/** Of all paths at the first step. */
const wholeHeight = 320;
/** Of ends; other rows have the first colour. */
const seriesOf: Readonly<Record<string, string>> = {
	[conversion]: 'series-2',
	[lost]: 'series-6',
	[moreSteps]: 'series-3',
};

interface Node {
	readonly name: string;
	readonly x: number;
	paths: number;
	y: number;
	height: number;
	/** How much of its height flows from the left, and to the right, have taken. */
	come: number;
	gone: number;
}

/** The flow of paths by steps: a column for each, whose rows are as high as paths come to them. */
export function stepFlowDrawing(flows: readonly StepFlow[], title: string): Html | null {
	if (flows.length === 0) return null;
	const first = sumOf(
		flows.filter(({ step }) => step === 1),
		sizeOf,
	);
	const scale = wholeHeight / first;
	const columns = columnsOf(flows);
	const height = Math.max(...columns.map((column) => layOut(column, scale)));
	const nodeOf = (step: number, name: string) => columns[step - 1]?.get(name) as Node;
	const ends = flows.map((flow) => ({
		flow,
		thickness: sizeOf(flow) * scale,
		fromY: 0,
		toY: 0,
		left: nodeOf(flow.step, flow.from),
		right: nodeOf(flow.step + 1, flow.to),
	}));
	// In the order of the nodes that they go to, and come from, so that few cross.
	for (const end of ends.toSorted((a, b) => a.right.y - b.right.y)) {
		end.fromY = end.left.y + end.left.gone + end.thickness / 2;
		end.left.gone += end.thickness;
	}
	for (const end of ends.toSorted((a, b) => a.left.y - b.left.y)) {
		end.toY = end.right.y + end.right.come + end.thickness / 2;
		end.right.come += end.thickness;
	}
	const lines = ends.map(({ flow, thickness, fromY, toY, left, right }) => {
		const { step, from, to, subscriptions } = flow;
		const [x, toX] = [left.x + nodeWidth, right.x];
		const middle = (x + toX) / 2;
		const text = `step ${step}, ${from} → ${to}: ${formatNumber(sizeOf(flow))}, ${formatNumber(subscriptions)} of subscriptions`;
		return html`<path class="${seriesOf[to] ?? 'series-0'}" d="M${x} ${fromY.toFixed(1)}C${middle} ${fromY.toFixed(1)} ${middle} ${toY.toFixed(1)} ${toX} ${toY.toFixed(1)}" fill="none" stroke="currentColor" stroke-opacity=".4" stroke-width="${Math.max(0.5, thickness).toFixed(1)}"><title>${text}</title></path>
`;
	});
	const nodes = columns.flatMap((column, place) => [
		...(place < columns.length - 1
			? [html`<text class="step" x="${place * columnWidth}" y="18">step ${place + 1}</text>`]
			: []),
		...[...column.values()].map(({ name, x, y, height: own, paths }) => {
			const text = `${shortened(name, 20)} ${formatNumber(paths)}`;
			return html`<rect class="${seriesOf[name] ?? 'series-0'}" x="${x}" y="${y.toFixed(1)}" width="${nodeWidth}" height="${own.toFixed(1)}" fill="currentColor"/><text x="${x}" y="${(y - 3).toFixed(1)}">${text}<title>${name}</title></text>
`;
		}),
	]);
	const width = (columns.length - 1) * columnWidth + 160;
	return picture(
		title,
		html`<svg class="flow" viewBox="0 0 ${width} ${Math.ceil(height)}" role="img" aria-label="${title}">${lines}${nodes}</svg>`,
	);
}

/** The nodes of each step, and of the ends of the paths of the step before: conversion first, lost paths last. */
function columnsOf(flows: readonly StepFlow[]): Map<string, Node>[] {
	const steps = Math.max(...flows.map(({ step }) => step)) + 1;
	return Array.from({ length: steps }, (_, place) => {
		const paths = new Map<string, number>();
		const count = (name: string, flow: StepFlow) => paths.set(name, (paths.get(name) ?? 0) + sizeOf(flow));
		for (const flow of flows) {
			if (flow.step === place + 1) count(flow.from, flow);
			else if (flow.step === place && seriesOf[flow.to] !== undefined) count(flow.to, flow);
		}
		const rank = (name: string) => (name === conversion ? 0 : seriesOf[name] === undefined ? 1 : 2);
		const sorted = [...paths].sort(([a, m], [b, n]) => rank(a) - rank(b) || n - m);
		const x = place * columnWidth;
		return new Map(
			sorted.map(([name, own]) => [name, { name, x, paths: own, y: 0, height: 0, come: 0, gone: 0 }]),
		);
	});
}

/** @returns the height of the column */
function layOut(column: ReadonlyMap<string, Node>, scale: number): number {
	let y = top;
	for (const node of column.values()) {
		node.height = Math.max(1, node.paths * scale);
		node.y = y;
		y += node.height + gap;
	}
	return y;
}
