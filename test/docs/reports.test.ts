import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { allReports } from '../reports.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/reference/reports.md'), 'utf8');
const inOneLine = (text: string) => text.replaceAll(/\s+/g, ' ');

test('docs/reference/reports.md has a section for each report, with its definition', () => {
	const sections = page.split(/^## /m).map(inOneLine);
	const kinds = allReports.map(({ kind }) => kind);
	const headings = sections.map((section) => section.split(' ')[0] as string);
	assert.deepEqual(headings.filter((heading) => kinds.includes(heading)).sort(), kinds.toSorted());
	for (const { kind, definition } of allReports)
		assert.ok(sections[headings.indexOf(kind)]?.includes(inOneLine(definition)), `${kind}: ${definition}`);
});
