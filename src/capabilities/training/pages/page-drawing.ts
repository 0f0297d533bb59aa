import { type Html, type HtmlValue, html, htmlPage } from '../../../kit/format/html.ts';
import type { CalibrationBin } from '../fit/measure.ts';
import type { FigureRows } from './report-figures.ts';
import { percent } from './report-text.ts';

/** As pages of the console have it, which are dark at times. */
export const blue = 'var(--series-0, #0b63ce)';

/** The side of a drawing, and the width of its margins. */
export const size = 260;
export const margin = 36;

const style = `figure{display:inline-block;margin:0 1rem 1rem 0}figcaption{font-weight:600}
section{border-top:1px solid #ccc;margin-top:2rem}svg text{font-size:11px;fill:#555}`;

/** A page of drawings with a heading. */
export function page(title: string, body: Html): string {
	return htmlPage(
		title,
		style,
		html`<h1>${title}</h1>
${body}`,
	);
}

export function paragraphs(sentences: readonly string[]): Html[] {
	return sentences.map(
		(sentence) => html`<p>${sentence}</p>
`,
	);
}

export function table(rows: FigureRows): Html {
	const heading = Object.keys(rows[0] ?? {}).map((name) => html`<th>${name}</th>`);
	const body = rows.map(
		(row) => html`<tr>${Object.values(row).map((cell) => html`<td>${cell}</td>`)}</tr>
`,
	);
	return html`<table><tr>${heading}</tr>
${body}
</table>`;
}

/** A drawing with its axes. */
export function figure(
	caption: string,
	drawing: HtmlValue,
	across: string,
	[from, to]: readonly [string, string],
	up = '',
): Html {
	const bottom = size - margin + 16;
	return html`<figure><figcaption>${caption}</figcaption><svg width="${size}" height="${size}" role="img" aria-label="${caption}">
<path d="M${margin} ${margin}V${size - margin}H${size - margin}" fill="none" stroke="#888"/>${drawing}
<text x="${margin}" y="${bottom}">${from}</text><text x="${size - margin}" y="${bottom}" text-anchor="end">${to}</text><text x="${size / 2}" y="${bottom + 14}" text-anchor="middle">${across}</text><text x="${margin}" y="${margin - 6}">${up}</text></svg></figure>`;
}

export function placeIn(across: number, up: number): [string, string] {
	const length = size - 2 * margin;
	return [(margin + across * length).toFixed(1), (size - margin - up * length).toFixed(1)];
}

export function point(across: number, up: number): string {
	return placeIn(across, up).join(',');
}

/** The line of perfectly calibrated scores. */
export function diagonal(): Html {
	const [fromX, fromY] = placeIn(0, 0);
	const [toX, toY] = placeIn(1, 1);
	return html`<line x1="${fromX}" y1="${fromY}" x2="${toX}" y2="${toY}" stroke="#bbb" stroke-dasharray="4"/>`;
}

/** @param unit what a bin's `rows` counts */
export function calibrationFigure(
	caption: string,
	bins: readonly CalibrationBin[],
	unit: 'rows' | 'scores',
): Html {
	const highest = Math.max(0.01, ...bins.map(({ meanScore, rate }) => Math.max(meanScore, rate)));
	const dots = bins.map(({ meanScore, rate, rows }) => {
		const [x, y] = placeIn(meanScore / highest, rate / highest);
		return html`<circle cx="${x}" cy="${y}" r="4" fill="${blue}"><title>${rows} ${unit}: predicted ${percent(meanScore)}, observed ${percent(rate)}</title></circle>`;
	});
	return figure(caption, [diagonal(), dots], 'predicted (across), observed (up)', ['0', percent(highest)]);
}
