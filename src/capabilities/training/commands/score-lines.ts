import type { GoalScore } from '../../../core/scoring/serve/score-reference.ts';
import { csvCell } from '../../../kit/format/csv.ts';
import type { VisitorRef } from '../serve/batch-scores.ts';

type Line = VisitorRef & GoalScore & { readonly sid?: string; readonly at?: string };

/** Properties in the order of JSON. */
const properties = [
	'visitor',
	'vid',
	'sid',
	'at',
	'goal',
	'score',
	'lift',
	'percentile',
	'band',
	'model',
	'reasons',
];
/** Columns that CSV always has. */
const usual = ['vid', 'goal', 'score', 'percentile', 'band', 'model'] as const;

/** Writes scores, one after another: in JSON as one array, in NDJSON as an object a line. */
export class ScoreWriter {
	readonly #format: 'csv' | 'json' | 'ndjson';
	readonly #columns: readonly (keyof Line)[];
	#isBegun = false;

	/** @param extra columns of CSV besides the usual ones, empty where there is nothing */
	constructor(format: 'csv' | 'json' | 'ndjson', extra: readonly (keyof Line)[]) {
		this.#format = format;
		const isVisitor = (column: keyof Line) => column === 'visitor';
		this.#columns = [...extra.filter(isVisitor), ...usual, ...extra.filter((column) => !isVisitor(column))];
	}

	line(scored: Line): string {
		const between = this.#format === 'json' ? ',\n' : '';
		const before = this.#isBegun ? between : this.#beginning;
		this.#isBegun = true;
		if (this.#format === 'csv')
			return `${before}${this.#columns.map((column) => cellOf(scored[column])).join(',')}\n`;
		return `${before}${JSON.stringify(scored, properties)}${this.#format === 'json' ? '' : '\n'}`;
	}

	get #beginning(): string {
		if (this.#format === 'json') return '[\n';
		return this.#format === 'csv' ? `${this.#columns.join(',')}\n` : '';
	}

	/** What comes after the last. */
	get end(): string {
		if (this.#format === 'json') return this.#isBegun ? '\n]\n' : '[]\n';
		return this.#isBegun ? '' : this.#beginning;
	}
}

function cellOf(value: Line[keyof Line]): string {
	return csvCell(typeof value === 'object' ? value.join('; ') : value);
}
