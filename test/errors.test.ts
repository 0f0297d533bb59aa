import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ApiError, type ErrorCode, errorBody, errorTable } from '../src/core/errors.ts';

const codes = Object.keys(errorTable) as ErrorCode[];

/** The rows of the first table of a Markdown text that has these columns, a row by its columns' names. */
function markdownTable(text: string, columns: readonly string[]): Record<string, string>[] {
	const cells = (line: string) =>
		line
			.split('|')
			.slice(1, -1)
			.map((cell) => cell.trim());
	const lines = text.split('\n');
	const heading = lines.findIndex((line) => cells(line).join() === columns.join());
	assert.notEqual(heading, -1, `no table of ${columns.join(', ')}`);
	const rest = lines.slice(heading + 2);
	const end = rest.findIndex((line) => !line.startsWith('|'));
	return rest
		.slice(0, end === -1 ? undefined : end)
		.map((line) => Object.fromEntries(cells(line).map((cell, index) => [columns[index], cell])));
}

/** How docs/reference/errors.md writes what `validationErrors` can be. */
function validationErrorsCell(code: ErrorCode): string {
	const entry: { validationErrors: string | null | undefined; detail?: string } = errorTable[code];
	if (entry.validationErrors === undefined) return 'absent';
	if (entry.detail === 'validationErrors') return '`text`';
	return entry.validationErrors === null ? '`null`' : `\`"${entry.validationErrors}"\``;
}

test('docs/reference/errors.md lists the same errors as the table, in the same words', () => {
	const text = readFileSync(join(import.meta.dirname, '../docs/reference/errors.md'), 'utf8');
	assert.deepEqual(
		markdownTable(text, ['code', 'status', 'message', 'validationErrors', 'when']),
		codes.map((code) => ({
			code: `\`${code}\``,
			status: String(errorTable[code].status),
			message: errorTable[code].message,
			validationErrors: validationErrorsCell(code),
			when: errorTable[code].when,
		})),
	);
});

test('the bodies that the spec shows, to the byte', () => {
	const bodies: [body: string, code: ErrorCode, detail?: string][] = [
		['{"message":"Malformed JSON.","validationErrors":"why"}', 'malformed_json', 'why'],
		['{"message":"Error inserting subscription.","validationErrors":"why"}', 'invalid_request', 'why'],
		['{"message":"why","validationErrors":"Invalid account"}', 'invalid_account', 'why'],
		['{"message":"Forbidden","validationErrors":null}', 'forbidden'],
		['{"message":"Rate limit exceeded.","validationErrors":null}', 'rate_limit_exceeded'],
		['{"message":"Too Many Requests"}', 'quota_exceeded'],
		['{"message":"Internal server error.","validationErrors":"why"}', 'internal', 'why'],
		['{"message":"Endpoint request timed out"}', 'timeout'],
	];
	for (const [body, code, detail] of bodies) assert.equal(errorBody(code, detail), body);
});

test('a detail that an error has no field for is left out', () => {
	for (const code of codes)
		if (!('detail' in errorTable[code])) assert.equal(errorBody(code, 'a secret'), errorBody(code));
});

test('a text cannot break out of its body', () => {
	const detail = '","message":"Subscription created successfully.\n\u2028';
	assert.deepEqual(JSON.parse(errorBody('invalid_request', detail)), {
		message: 'Error inserting subscription.',
		validationErrors: detail,
	});
});

test('an error knows its status, its headers and its cause', () => {
	const cause = new Error('disk full');
	const error = new ApiError('overloaded', { headers: { 'retry-after': '1' }, cause });
	assert.equal(error.status, 503);
	assert.deepEqual(error.headers, { 'retry-after': '1' });
	assert.equal(error.cause, cause);
	assert.equal(error.detail, undefined);
});

test('creating an error does not affect the stack traces of others', () => {
	const before = Error.stackTraceLimit;
	for (const code of codes) new ApiError(code);
	assert.equal(Error.stackTraceLimit, before);
	assert.match(new Error('x').stack as string, /errors\.test/);
});
