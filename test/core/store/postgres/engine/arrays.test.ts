import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { numberArray, textArray } from '../../../../../src/core/store/postgres/engine/arrays.ts';
import { examples } from '../../../../quick.ts';
import { freshPostgresDatabase } from '../../postgres-server.ts';
import { sessionOn } from '../service.ts';

/** PostgreSQL accepts any text without U+0000 and lone surrogates. */
const text = fc.string({ unit: 'grapheme' }).map((any) => any.replaceAll('\0', ''));

test('PostgreSQL reads arrays as written', async (t) => {
	const session = await sessionOn(t, await freshPostgresDatabase());
	const read = async (type: string, array: unknown) => {
		const { rows } = await session.query(`SELECT to_json($1::${type}[])::text AS json`, [array]);
		return JSON.parse(rows[0].json);
	};
	await fc.assert(
		fc.asyncProperty(fc.array(fc.option(text)), async (values) => {
			assert.deepEqual(await read('text', textArray(values)), values);
		}),
		{ numRuns: examples(50) },
	);
	await fc.assert(
		fc.asyncProperty(fc.array(fc.option(fc.maxSafeInteger())), async (values) => {
			assert.deepEqual(await read('bigint', numberArray(values)), values);
		}),
		{ numRuns: examples(20) },
	);
});
