import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { capabilities } from '../../../src/assembly/capabilities.ts';
import { coreTables } from '../../../src/core/store/control/control-tables.ts';
import { newestSchemaFile } from '../../../src/core/store/migrations.ts';
import { changing, having, inserting, raw, select, sql } from '../../../src/core/store/steps.ts';

const tables = [...coreTables, ...capabilities.flatMap(({ nouns }) => nouns?.tables ?? [])];
const control = readFileSync(newestSchemaFile('postgres', 'control'), 'utf8');
const created = [...control.matchAll(/^CREATE TABLE "?(\w+)"? \(\n((?:\t.*\n)*)\)/gm)].map(
	([, name = '', body = '']) => ({ name, body }),
);

test('every table with a column of an account says what becomes of its rows, and names columns that there are', () => {
	const columns = new Set(
		created.flatMap(({ name, body }) =>
			[...body.matchAll(/^\t"?(\w+)/gm)]
				.map(([, column]) => `${name}.${column}`)
				.filter((each) => !each.endsWith('.CONSTRAINT')),
		),
	);
	assert.ok(columns.size > 100);
	const ofAccounts = [...columns].flatMap(
		(column) => /^(\w+)\.(?:account_id|aid)$/.exec(column as string)?.[1] ?? [],
	);
	const declared = new Set(tables.filter(({ account }) => account).map(({ name }) => name));
	assert.deepEqual([...new Set(ofAccounts).difference(declared)], []);
	for (const { name, account, forgets } of tables)
		for (const column of [account, forgets])
			if (column) assert.ok(columns.has(`${name}.${column}`), `${name}.${column}`);
	assert.equal(new Set(tables.map(({ name }) => name)).size, tables.length);
});

test('a table comes after those that its rows refer to', () => {
	const references = created.flatMap(({ name, body }) =>
		[...body.matchAll(/FOREIGN KEY .* REFERENCES "?(\w+)"?\(/g)].map(([text, to = '']) => ({
			text,
			from: name,
			to,
		})),
	);
	assert.ok(references.length > 10);
	const places = tables.map(({ name }) => name);
	const against = references.filter(({ from, to }) => {
		const [place, before] = [places.indexOf(from), places.indexOf(to)];
		return place >= 0 && !(before >= 0 && before < place);
	});
	assert.deepEqual(
		against.map(({ from, text }) => `${from} ${text}`),
		[],
	);
});

test('columns are written into statements with their values in order', () => {
	const { sql: text, values } =
		sql`UPDATE @goal SET ${changing({ a: 1, b: undefined, c: null })} WHERE ${having({ d: 'x', e: null, f: undefined })} AND g > ${2}`;
	assert.equal(text, 'UPDATE @goal SET a = ?, c = ? WHERE d = ? AND e IS NULL AND g > ?');
	assert.deepEqual(values, [1, null, 'x', 2]);
	assert.equal(select`* FROM @goal WHERE ${having({})}`.sql, 'SELECT * FROM @goal WHERE TRUE');
	const added = sql`INSERT INTO @goal ${inserting({ a: 0.5, b: undefined, c: null })} ${raw('RETURNING a')}`;
	assert.equal(added.sql, 'INSERT INTO @goal (a, c) VALUES (?, ?) RETURNING a');
	assert.deepEqual(added.values, [0.5, null]);
});
