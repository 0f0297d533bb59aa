import { type Html, html } from '../../../kit/format/html.ts';
import type { TrainedGoal } from '../judge/account-training.ts';
import type { LaterMeasures } from '../judge/training-report.ts';
import {
	blue,
	calibrationFigure,
	diagonal,
	figure,
	margin,
	page,
	paragraphs,
	placeIn,
	point,
	size,
	table,
} from './page-drawing.ts';
import { figuresOf, tablesOf } from './report-figures.ts';
import { choiceSentences, formerSentences, headingOf, historySentences, verdictOf } from './report-text.ts';

/** The training of an account's goals. */
export interface PrintedTraining {
	readonly aid: string;
	/** ISO 8601, UTC. */
	readonly asOf: string;
	readonly trained: readonly TrainedGoal[];
}

/** A training as one self-contained HTML page. */
export function trainingPage({ aid, asOf, trained }: PrintedTraining): string {
	const [first] = trained;
	return page(
		`Scores of ${aid} as of ${asOf}`,
		html`${first && paragraphs(Object.values(historySentences(first.report)).flat())}
${trained.map(section)}`,
	);
}

function section(trained: TrainedGoal): Html {
	const { report } = trained;
	const figures = Object.entries(figuresOf(report));
	return html`<section><h2>${headingOf(report)}</h2>
${paragraphs([...verdictOf(trained), ...formerSentences(trained)])}
<table>${figures.map(([name, value]) => html`<tr><th>${name}</th><td>${value}</td></tr>`)}</table>
<h3>What was chosen, and why</h3>
<ul>${choiceSentences(report).map((sentence) => html`<li>${sentence}</li>`)}</ul>
${report.later && laterFigures(report.later)}
${tablesOf(report).map(({ title, rows }) => html`<h3>${title}</h3>${table(rows)}`)}
</section>
`;
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
${figure('ROC', [diagonal(), curve], 'visitors without a conversion', ['0', '1'])}
${calibrationFigure('Calibration', later.calibrationTable, 'rows')}
${figure('Scores', bars, 'score', ['0', '1'])}`;
}
