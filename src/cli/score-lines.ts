import { csvCell } from '../format/csv.ts';
import type { VisitorRef } from '../scoring/serve/batch-scores.ts';
import type { GoalScore } from '../scoring/serve/score-reference.ts';

type Line = VisitorRef & GoalScore & { readonly sid?: string; readonly at?: string };

/** Writes scores, one after another. */
export interface Printer {
	line(scored: Line): string;
	/** What comes after the last. */
	readonly end: string;
}

function ordered({
	visitor,
	vid,
	sid,
	at,
	goal,
	score: probability,
	lift,
	percentile,
	band,
	model,
	reasons,
}: Line) {
	return {
		...(visitor !== undefined && { visitor }),
		vid,
		...(sid !== undefined && { sid }),
		...(at !== undefined && { at }),
		goal,
		score: probability,
		...(lift !== undefined && { lift }),
		percentile,
		band,
		model,
		...(reasons !== undefined && { reasons }),
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

/** @param extra columns besides those that every score has, empty where there is nothing */
export function csvPrinter(extra: readonly ('visitor' | 'sid' | 'at' | 'lift' | 'reasons')[]): Printer {
	const own = ['vid', 'goal', 'score', 'percentile', 'band', 'model'] as const;
	const columns = [
		...extra.filter((column) => column === 'visitor'),
		...own,
		...extra.filter((column) => column !== 'visitor'),
	];
	const heading = `${columns.join(',')}\n`;
	let lines = 0;
	return {
		line: (scored) => {
			const fields = columns.map((column) => {
				const value = scored[column] ?? '';
				return csvCell(typeof value === 'object' ? value.join('; ') : value);
			});
			return `${lines++ === 0 ? heading : ''}${fields.join(',')}\n`;
		},
		get end() {
			return lines === 0 ? heading : '';
		},
	};
}
