import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Row } from './table.ts';

const page = join(import.meta.dirname, 'README.md');
const begin = '<!-- figures, written by npm run bench -- --write -->';
const end = '<!-- end of figures -->';

/**
 * Puts a table of figures into `bench/README.md`, in place of the one that is there.
 * @param about sentences on when, where and how they were taken
 * @throws Error where the page has lost the marks between which they stand
 */
export function writeFigures(rows: readonly Row[], about: readonly string[]): void {
	const text = readFileSync(page, 'utf8');
	const [from, to] = [text.indexOf(begin), text.indexOf(end)];
	if (from < 0 || to < from) throw new Error(`bench/README.md needs the lines ${begin} and ${end}.`);
	const table = [
		'| measured | Caskade | ceiling | what the ceiling is | ratio (single runs) | aim | |',
		'|---|---:|---:|---|---|---|---|',
		...rows.map(
			({ measure, caskade, ceiling, of, ratio, aim, result }) =>
				`| ${[measure, caskade, ceiling, of, ratio, aim, result].join(' | ')} |`,
		),
	];
	const section = [begin, '', ...about.map((line) => `${line}  `), '', ...table, '', end].join('\n');
	writeFileSync(page, text.slice(0, from) + section + text.slice(to + end.length));
}
