import { type Html, html } from '../../format/html.ts';
import type { LaterMeasures, TrainingReport } from '../judge/report.ts';
import { featureText } from '../rows/known-features.ts';
import {
	blue,
	calibrationFigure,
	diagonal,
	figure,
	margin,
	page,
	placeIn,
	point,
	size,
} from './page-drawing.ts';
import { choiceSentences, conversionsText, directionText, percent, withInterval } from './report-text.ts';

/** A report with its heading. */
export interface ReportSection {
	readonly heading: string;
	/** Sentences. */
	readonly lead: readonly string[];
	readonly report: TrainingReport;
}

/** Reports as one self-contained HTML page. */
export function trainingReportPage(
	title: string,
	lead: readonly string[],
	sections: readonly ReportSection[],
): string {
	return page(
		title,
		html`${paragraphs(lead)}
${sections.map(section)}`,
	);
}

function section({ heading, lead, report }: ReportSection): Html {
	const { later } = report;
	return html`<section><h2>${heading}</h2>
${paragraphs(lead)}
${table([
	['Served', report.kind === 'prior' ? 'the base rate' : report.kind],
	['Rows', `${report.rows}`],
	['Conversions', `${conversionsText(report)} (base rate ${percent(report.baseRate)})`],
	...(later ? measureRows(later) : []),
])}
<h3>What was chosen, and why</h3>
<ul>${choiceSentences(report).map((sentence) => html`<li>${sentence}</li>`)}</ul>
${later && laterFigures(later)}
${report.topFeatures.length > 0 && html`<h3>What moves scores most</h3>`}
${table(report.topFeatures.map((feature) => [featureText(feature.name), feature.meanLogOdds.toFixed(3), directionText(feature)]))}
</section>
`;
}

function paragraphs(sentences: readonly string[]): Html[] {
	return sentences.map(
		(sentence) => html`<p>${sentence}</p>
`,
	);
}

export function measureRows(later: LaterMeasures): string[][] {
	return [
		['Judged on', `${later.rows} later rows, with these conversions: ${conversionsText(later)}`],
		...(later.byVisits ?? []).map(({ visit, auc, logLoss, baseRateLogLoss }) => [
			`AUC of who is present, ${visit} visit${visit === 'later' ? 's' : ''}`,
			`${auc?.toFixed(3) ?? '-'}; log loss ${logLoss.toFixed(4)}, of the base rate ${baseRateLogLoss.toFixed(4)}`,
		]),
		['AUC of all rows; who has left is easily told apart', withInterval(later.auc, 3)],
		['Log loss', `${later.logLoss.toFixed(4)}; of the base rate ${later.baseRateLogLoss.toFixed(4)}`],
		['Brier score', later.brier.toFixed(4)],
		['Predicted', percent(later.predicted)],
		['Observed', percent(later.observed)],
		['Calibration error', later.expectedCalibrationError.toFixed(4)],
	];
}

function table(rows: readonly (readonly string[])[]): Html | null {
	const body = rows.map(
		([head = '', ...cells]) => html`<tr><th>${head}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`,
	);
	return body.length > 0 ? html`<table>${body}</table>` : null;
}

export function laterFigures(later: LaterMeasures): Html {
	const roc = later.roc.map(({ falsePositives, truePositives }) => point(falsePositives, truePositives));
	const highest = Math.max(1, ...later.scoreHistogram);
	const bars = later.scoreHistogram.map((rows, bar) => {
		const [x, y] = placeIn(bar / 20, rows / highest);
		const width = (size - 2 * margin) / 20 - 1;
		return html`<rect x="${x}" y="${y}" width="${width.toFixed(1)}" height="${(size - margin - Number(y)).toFixed(1)}" fill="${blue}"><title>${rows} rows</title></rect>`;
	});
	const curve = html`<polyline points="${roc.join(' ')}" fill="none" stroke="${blue}" stroke-width="2"/>`;
	return html`<h3>On later rows</h3>
${figure('ROC', [diagonal(), curve], 'rows without a conversion', ['0', '1'])}
${calibrationFigure('Calibration', later.calibrationTable, 'rows')}
${figure('Scores', bars, 'score', ['0', '1'])}`;
}
