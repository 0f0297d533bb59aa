import type { VisitorRef } from '../scoring/batch-scores.ts';
import type { GoalScore } from '../scoring/score-reference.ts';

/** A visitor's score of one goal. */
export type Line = VisitorRef & GoalScore;

/** Writes scores, one after another. */
export interface Printer {
	line(scored: Line): string;
	/** What comes after the last. */
	readonly end: string;
}

function ordered({ visitor, vid, goal, score: probability, percentile, band, model }: Line) {
	return {
		...(visitor !== undefined && { visitor }),
		vid,
		goal,
		score: probability,
		percentile,
		band,
		model,
	};
}

/** An object a line. */
export function ndjsonPrinter(): Printer {
	return { line: (scored) => `${JSON.stringify(ordered(scored))}\n`, end: '' };
}

/** One array. */
export function jsonPrinter(): Printer {
	let lines = 0;
	return {
		line: (scored) => `${lines++ === 0 ? '[' : ','}\n${JSON.stringify(ordered(scored))}`,
		get end() {
			return lines === 0 ? '[]\n' : '\n]\n';
		},
	};
}

/** @param withVisitor a column of names elsewhere, empty where there is none */
export function csvPrinter(withVisitor: boolean): Printer {
	const columns = ['vid', 'goal', 'score', 'percentile', 'band', 'model'] as const;
	const heading = `${withVisitor ? 'visitor,' : ''}${columns.join(',')}\n`;
	let lines = 0;
	return {
		line: (scored) => {
			const values = columns.map((column) => scored[column]);
			const fields = withVisitor ? [scored.visitor ?? '', ...values] : values;
			return `${lines++ === 0 ? heading : ''}${fields.map(csvField).join(',')}\n`;
		},
		get end() {
			return lines === 0 ? heading : '';
		},
	};
}

function csvField(value: string | number): string {
	const text = String(value);
	return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
