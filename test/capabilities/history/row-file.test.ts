import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { csvCells } from '../../../src/capabilities/history/csv-rows.ts';
import type { FileRow } from '../../../src/capabilities/history/file-row.ts';
import { RowFile, type RowFileOptions } from '../../../src/capabilities/history/row-file.ts';
import { OperatorError } from '../../../src/core/errors.ts';
import { examples } from '../../quick.ts';

/** Reads a file that comes in chunks of so many bytes. */
function read(
	content: string | Buffer,
	chunkBytes = 1_000_000,
	options: Partial<RowFileOptions> = {},
): Omit<FileRow, 'text'>[] {
	const file = new RowFile({ name: 'the file', numbers: 'rvn', ...options });
	const bytes = Buffer.from(content);
	const records: FileRow[] = [];
	for (let from = 0; from < bytes.length; from += chunkBytes)
		records.push(...file.push(bytes.subarray(from, from + chunkBytes)));
	return [...records, ...file.end()].map(({ text: _, ...record }) => record);
}

const quote = (cell: string) => `"${cell.replaceAll('"', '""')}"`;
const cell = fc.string({ unit: fc.constantFrom('a', 'é', '🚀', ',', '"', '\n', ';', ' ', "'") });

test('JSON lines become numbered records; blank lines, a byte order mark and a missing line break do not matter', () => {
	assert.deepEqual(read('\ufeff{"a":1}\r\n\n  \n{"a":"ü"}'), [
		{ line: 1, fields: { a: 1 } },
		{ line: 4, fields: { a: 'ü' } },
	]);
	assert.deepEqual(read(''), []);
});

test('a line that is not JSON or not UTF-8 does not affect other lines', () => {
	const content = Buffer.concat([
		Buffer.from('{"a":1}\n{"secret\n'),
		Buffer.from([0x7b, 0xff, 0x0a]),
		Buffer.from('{"a":2}\n'),
	]);
	assert.deepEqual(read(content), [
		{ line: 1, fields: { a: 1 } },
		{ line: 2, problem: 'the line must be JSON' },
		{ line: 3, problem: 'the line must be UTF-8' },
		{ line: 4, fields: { a: 2 } },
	]);
});

test('a line that is too long does not affect other lines', () => {
	const long = `{"a":"${'x'.repeat(3_000_000)}"}`;
	for (const chunkBytes of [70_000, 10_000_000])
		assert.deepEqual(read(`{"a":1}\n${long}\n{"a":2}\n${long}`, chunkBytes), [
			{ line: 1, fields: { a: 1 } },
			{ line: 2, problem: 'the line must have at most 1 MiB' },
			{ line: 3, fields: { a: 2 } },
			{ line: 4, problem: 'the line must have at most 1 MiB' },
		]);
});

test('records do not depend on how the file is split into chunks', () => {
	fc.assert(
		fc.property(
			fc.array(fc.array(cell, { minLength: 3, maxLength: 3 })),
			fc.integer({ min: 1, max: 20 }),
			(rows, chunkBytes) => {
				const content = `type,a,b\n${rows.map((row) => row.map(quote).join(',')).join('\n')}`;
				assert.deepEqual(read(content, chunkBytes), read(content));
			},
		),
	);
});

test('quoted CSV cells are read back unchanged', () => {
	fc.assert(
		fc.property(
			fc.array(cell, { minLength: 1 }),
			fc.array(fc.boolean(), { minLength: 1 }),
			(cells, mustQuote) => {
				const row = cells.map((one, index) =>
					/[",\n]/.test(one) || mustQuote[index % mustQuote.length] ? quote(one) : one,
				);
				assert.deepEqual(csvCells(row.join(',')), cells);
			},
		),
	);
	for (const row of ['"a', 'a"b', '"a"b', '"a" ,b', 'a,"']) assert.equal(csvCells(row), null, row);
});

test('the separator is what divides the header into most columns, or what is named', () => {
	fc.assert(
		fc.property(
			fc.constantFrom(',', ';', '\t'),
			fc.array(fc.array(cell, { minLength: 3, maxLength: 3 }), { minLength: 1 }),
			(separator, rows) => {
				const text = [['a', '"b,;"', 'c'], ...rows.map((row) => row.map(quote))].map((row) =>
					row.join(separator),
				);
				const fields = rows.map((row) =>
					Object.fromEntries(
						['a', 'b,;', 'c'].map((name, index) => [name, row[index]]).filter(([, one]) => one !== ''),
					),
				);
				assert.deepEqual(
					read(text.join('\n')).map((row) => row.fields),
					fields,
				);
			},
		),
	);
	const withCommas = 'a;b;c,d,e,f\n1;2;3,4,5,6\n';
	assert.deepEqual(read(withCommas, 100, { columns: ['a', 'b'] }), [
		{ line: 2, fields: { a: '1', b: '2', 'c,d,e,f': '3,4,5,6' } },
	]);
	assert.deepEqual(read('a,b;c;d;e\n1,2;3;4;5\n', 100, { columns: ['a'] }), [
		{ line: 2, fields: { a: '1', 'b;c;d;e': '2;3;4;5' } },
	]);
	assert.deepEqual(read('a;b|c;d\n1;2|3;4\n', 100, { separator: '|' }), [
		{ line: 2, fields: { 'a;b': '1;2', 'c;d': '3;4' } },
	]);
});

test('a CSV row may span several lines and has the number of the first; empty cells are absent', () => {
	assert.deepEqual(read('type,title,rvn,cid\nhit,"two\n\nlines",,\n\nhit,,-5,"007"\nhit,,x,\n'), [
		{ line: 2, fields: { type: 'hit', title: 'two\n\nlines' } },
		{ line: 6, fields: { type: 'hit', rvn: -5, cid: '007' } },
		{ line: 7, fields: { type: 'hit', rvn: 'x' } },
	]);
});

test('an unclosed quote does not affect other rows', () => {
	const rows = Array.from({ length: 150 }, (_, index) => `hit,${index}`);
	rows[3] = 'hit,"3';
	const records = read(`type,n\n${rows.join('\n')}\n`);
	assert.equal(records.length, 150);
	assert.deepEqual(
		records.filter(({ problem }) => problem),
		[{ line: 5, problem: 'its quotes are not valid CSV' }],
	);
	assert.deepEqual(read('type,n\nhit,1\nhit,"2\nhit,3'), [
		{ line: 2, fields: { type: 'hit', n: '1' } },
		{ line: 3, problem: 'its quotes are not valid CSV' },
		{ line: 4, fields: { type: 'hit', n: '3' } },
	]);
});

test('a row that is longer or shorter than the header is invalid', () => {
	assert.deepEqual(read('type,a\nhit\nhit,1,2\n'), [
		{ line: 2, problem: 'it has 1 cell, but the header has 2' },
		{ line: 3, problem: 'it has 3 cells, but the header has 2: a cell with a comma in it needs quotes' },
	]);
});

test('a header with an unclosed quote is not taken for a row', () => {
	const content = `tid,"subid,evt\n${'a,b,c\n'.repeat(200)}`;
	assert.throws(
		() => read(content, 1000, { columns: ['tid', 'evt'] }),
		/the file has no column tid and evt; its header reads "tid,\\"subid,evt"/,
	);
});

test('whatever a file has in it, it is read or refused in one sentence', () => {
	const piece = fc.oneof(
		fc.constantFrom('tid', ',', ';', '\t', '"', '\n', '\r\n', '{', '}', '[', '{"tid":"a"}', '\ufeff', ' '),
		fc.string(),
	);
	const content = fc.oneof(
		fc.array(piece).map((pieces) => Buffer.from(pieces.join(''))),
		fc.uint8Array().map((bytes) => Buffer.from(bytes)),
	);
	fc.assert(
		fc.property(
			content,
			fc.integer({ min: 1, max: 20 }),
			fc.constantFrom(undefined, '|'),
			(bytes, chunkBytes, separator) => {
				try {
					for (const { fields, problem } of read(bytes, chunkBytes, { columns: ['tid'], separator }))
						assert.ok(problem === undefined || fields === undefined);
				} catch (error) {
					assert.ok(error instanceof OperatorError, String(error));
					assert.match(error.message, /^the file .*\.$/s);
				}
			},
		),
		{ numRuns: examples(1000) },
	);
});
