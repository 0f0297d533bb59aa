import { type Html, html } from '../../format/html.ts';
import type { BacktestReport } from '../follow/backtest.ts';
import { backtestRows, backtestVerdict } from './backtest-text.ts';
import { blue, calibrationFigure, figure, page, placeIn, point } from './page-drawing.ts';
import { percent } from './report-text.ts';

const grey = '#999';
const orange = '#d9730d';

/** A back-test as one self-contained HTML page. */
export function backtestPage(title: string, report: BacktestReport): string {
	const rows = backtestRows(report);
	const heading = Object.keys(rows[0] ?? {});
	return page(
		title,
		html`${backtestVerdict(report).map(
			(sentence) => html`<p>${sentence}</p>
`,
		)}
<p>As of each cut, a model was trained on what was known then. What it predicted is compared with what was observed.</p>
<table><tr>${heading.map((name) => html`<th>${name}</th>`)}</tr>
${rows.map(
	(row) => html`<tr>${Object.values(row).map((cell) => html`<td>${cell}</td>`)}</tr>
`,
)}
</table>
${levels(report)}${losses(report)}${calibrationFigure('Calibration, all cuts', report.all.calibrationTable, 'scores')}
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

function levels({ cuts }: BacktestReport): Html {
	const predicted = cuts.map(({ served }) => served.predicted);
	const observed = cuts.map((cut) => cut.observed);
	const max = Math.max(0.001, ...predicted, ...observed) * 1.1;
	return figure(
		'Predicted and observed',
		[line(predicted, max, blue), line(observed, max, orange)],
		'cuts',
		['first', 'last'],
		percent(max),
	);
}

function losses({ cuts }: BacktestReport): Html {
	const served = cuts.map((cut) => cut.served.logLoss);
	const base = cuts.map((cut) => cut.baseRate.logLoss);
	const simple = cuts.flatMap((cut) => (cut.simple ? [cut.simple.logLoss] : []));
	const max = Math.max(0.001, ...served, ...base, ...simple) * 1.1;
	return figure(
		'Log loss',
		[line(base, max, grey), line(simple, max, orange), line(served, max, blue)],
		'cuts',
		['first', 'last'],
		max.toFixed(2),
	);
}
