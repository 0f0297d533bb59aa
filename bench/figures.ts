import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Row } from './table.ts';

const page = join(import.meta.dirname, 'README.md');
const begin = '<!-- figures, written by npm run bench -- --write -->';
const end = '<!-- end of figures -->';

/**
 * Replaces the table of figures in `bench/README.md`.
 * @param about sentences on when, where and how the figures were measured
 * @throws Error if the page lacks the two markers around the figures
 */
export function writeFigures(rows: readonly Row[], about: readonly string[]): void {
	const text = readFileSync(page, 'utf8');
	const [from, to] = [text.indexOf(begin), text.indexOf(end)];
	if (from < 0 || to < from) throw new Error(`bench/README.md needs the lines ${begin} and ${end}.`);
	const table = [
		'| measured | Caskade | baseline | compared with | ratio (single runs) | aim | |',
		'|---|---:|---:|---|---|---|---|',
		...rows.map(
			({ measure, caskade, baseline, comparedWith, ratio, aim, result }) =>
				`| ${[measure, caskade, baseline, comparedWith, ratio, aim, result].join(' | ')} |`,
		),
	];
	const section = [begin, '', ...about.map((line) => `${line}  `), '', ...table, '', end].join('\n');
	writeFileSync(page, text.slice(0, from) + section + text.slice(to + end.length));
}
