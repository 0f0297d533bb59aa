import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dialects, type Shape, SqlTexts } from '../../../src/core/store/dialects.ts';

/** The text of a query for each engine; `·` marks the schema's name. */
function written(sql: string, shape: Shape): Record<string, string> {
	return Object.fromEntries(
		Object.entries(dialects).map(([name, dialect]) => [
			name,
			new SqlTexts(dialect).of(sql, '', () => shape).join('·'),
		]),
	);
}

test('lists of one element and of more are written differently', () => {
	const sql = 'SELECT vid FROM @visitor WHERE vid IN ?list AND sid IN ?list AND at < ? FOR UPDATE';
	const postgres =
		'SELECT vid FROM ·visitor WHERE vid = ANY($1::text[]) AND sid = ANY($2::text[]) AND at < $3 FOR UPDATE';
	assert.deepEqual(written(sql, { singles: [true, false, false] }), {
		sqlite: 'SELECT vid FROM visitor WHERE vid = ? AND sid IN (SELECT value FROM json_each(?)) AND at < ?',
		postgres,
		postgresWithValues: postgres,
	});
});

test('a list is written as a table', () => {
	assert.deepEqual(written('SELECT key FROM ?each AS list', { singles: [false] }), {
		sqlite: 'SELECT key FROM (SELECT value AS key FROM json_each(?)) AS list',
		postgres: 'SELECT key FROM (SELECT key FROM unnest($1::text[]) AS list (key)) AS list',
		postgresWithValues: 'SELECT key FROM (SELECT key FROM unnest($1::text[]) AS list (key)) AS list',
	});
});

test('rows follow a value', () => {
	const shape: Shape = { singles: [false], rows: 2, columns: ['text', 'bigint'] };
	assert.deepEqual(written('WITH n AS (SELECT ?) INSERT INTO @hit (vid, at) ?rows', shape), {
		sqlite: 'WITH n AS (SELECT ?) INSERT INTO hit (vid, at) VALUES (?, ?), (?, ?)',
		postgres:
			'WITH n AS (SELECT $1) INSERT INTO ·hit (vid, at) SELECT unnest($2::text[]) AS column1, unnest($3::bigint[]) AS column2',
		postgresWithValues:
			'WITH n AS (SELECT $1) INSERT INTO ·hit (vid, at) VALUES ($2::text, $3::bigint), ($4, $5)',
	});
});

test('a text is compiled once for each shape', () => {
	const texts = new SqlTexts(dialects.sqlite);
	const write = (rows: number) =>
		texts.of('INSERT INTO @hit ?rows', rows, () => ({ rows, columns: ['text'] }));
	assert.equal(write(2), write(2));
	assert.notEqual(write(2), write(3));
});
