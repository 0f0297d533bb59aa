import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { addAccount, engines, openFor } from './engines.ts';

// `npm run schema:dump` writes what the migrations make to migrations/ENGINE/schema.txt, where a change of the schema can be
// read as a whole, and these tests compare it.
const writes = process.env.WRITE_SCHEMA === '1';

const pathOf = (engine: string) => join(import.meta.dirname, '../../../migrations', engine, 'schema.txt');

const dumps: Readonly<Record<string, (address: string) => Promise<string>>> = {
	async sqlite(address) {
		const folder = address.slice('sqlite:'.length);
		const parts = { 'control.sqlite': 'control', 'accounts/1.sqlite': 'an account' };
		return Object.entries(parts)
			.map(([file, title]) => {
				const database = new DatabaseSync(join(folder, file), { readOnly: true });
				const statements = database.prepare(
					'SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name',
				);
				const lines = statements.all().map(({ sql }) => `${sql};`);
				database.close();
				return [`-- ${title}`, ...lines].join('\n');
			})
			.join('\n\n');
	},
	async postgres(address) {
		const client = new pg.Client({ connectionString: address });
		await client.connect();
		const list = async (schema: string, sql: string) =>
			(await client.query({ text: sql, values: [schema], rowMode: 'array' })).rows.map(([text]) =>
				String(text),
			);
		const parts = { caskade_control: 'control', caskade_account_1: 'an account' };
		const texts: string[] = [];
		for (const [schema, title] of Object.entries(parts)) {
			const columns = await list(
				schema,
				`SELECT table_name || '.' || column_name || ' ' || data_type || CASE is_nullable WHEN 'NO' THEN ' NOT NULL' ELSE '' END || coalesce(' DEFAULT ' || column_default, '') || CASE is_identity WHEN 'YES' THEN ' IDENTITY' ELSE '' END
				FROM information_schema.columns WHERE table_schema = $1 ORDER BY table_name, ordinal_position`,
			);
			const constraints = await list(
				schema,
				`SELECT conrelid::regclass || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
				WHERE connamespace = $1::regnamespace AND contype <> 'n' ORDER BY 1`,
			);
			const indexes = await list(
				schema,
				'SELECT indexdef FROM pg_indexes WHERE schemaname = $1 ORDER BY indexname',
			);
			const lines = [...columns, ...constraints, ...indexes].map((line) => line.replaceAll(`${schema}.`, ''));
			texts.push([`-- ${title}`, ...lines].join('\n'));
		}
		await client.end();
		return texts.join('\n\n');
	},
};

for (const engine of engines)
	test(`${engine.name}: migrations make the schema that migrations/${engine.name}/schema.txt shows`, async (t: TestContext) => {
		const address = await engine.installedAddress(t);
		const store = await openFor(t, address);
		assert.equal(await addAccount(store), 1);
		const dump = `${await dumps[engine.name]?.(address)}\n`;
		if (writes) writeFileSync(pathOf(engine.name), dump);
		assert.equal(dump, readFileSync(pathOf(engine.name), 'utf8'), 'npm run schema:dump writes it anew');
	});
