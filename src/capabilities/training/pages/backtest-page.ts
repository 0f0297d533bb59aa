import { type Html, html } from '../../../kit/format/html.ts';
import type { BacktestReport } from '../follow/backtest.ts';
import { backtestRows, backtestVerdict } from './backtest-text.ts';
import { blue, calibrationFigure, figure, page, paragraphs, placeIn, point, table } from './page-drawing.ts';
import { percent } from './report-text.ts';

const grey = '#999';
const orange = '#d9730d';

/** A back-test as one self-contained HTML page. */
export function backtestPage(title: string, report: BacktestReport): string {
	const { cuts } = report;
	const levels = figureOfCuts(
		'Predicted and observed',
		[
			[blue, cuts.map(({ served }) => served.predicted)],
			[orange, cuts.map(({ observed }) => observed)],
		],
		percent,
	);
	const losses = figureOfCuts(
		'Log loss',
		[
			[grey, cuts.map(({ baseRate }) => baseRate.logLoss)],
			[orange, cuts.flatMap(({ simple }) => (simple ? [simple.logLoss] : []))],
			[blue, cuts.map(({ served }) => served.logLoss)],
		],
		(max) => max.toFixed(2),
	);
	return page(
		title,
		html`${paragraphs(backtestVerdict(report))}
<p>As of each cut, a model was trained on what was known then. What it predicted is compared with what was observed.</p>
${table(backtestRows(report))}
${levels}${losses}${calibrationFigure('Calibration, all cuts', report.all.calibrationTable, 'scores')}
<p><b style="color:${blue}">Blue</b> is what would have been served. <b style="color:${orange}">Orange</b> is the outcome, and in the second drawing a simple model on recency, count and age. <b style="color:${grey}">Grey</b> is the base rate.</p>`,
	);
}

function line(values: readonly number[], max: number, colour: string): Html {
	const across = (index: number) => (values.length < 2 ? 0.5 : index / (values.length - 1));
	const points = values.map((value, index) => point(across(index), value / max));
	const dots = values.map((value, index) => {
		const [x, y] = placeIn(across(index), value / max);
		return html`<circle cx="${x}" cy="${y}" r="3" fill="${colour}"><title>${value.toFixed(4)}</title></circle>`;
	});
	return html`<polyline points="${points.join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>${dots}`;
}

type Curve = readonly [colour: string, values: readonly number[]];

function figureOfCuts(caption: string, curves: readonly Curve[], showMax: (max: number) => string): Html {
	const max = Math.max(0.001, ...curves.flatMap(([, values]) => values)) * 1.1;
	const lines = curves.map(([colour, values]) => line(values, max, colour));
	return figure(caption, lines, 'cuts', ['first', 'last'], showMax(max));
}
