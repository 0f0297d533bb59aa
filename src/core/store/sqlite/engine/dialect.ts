import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { Kysely, SqliteDialect, type SqliteStatement } from 'kysely';

const nothing: SqliteStatement = {
	reader: false,
	all: () => [],
	run: () => ({ changes: 0, lastInsertRowid: 0 }),
	iterate: () => [][Symbol.iterator](),
};

/** Kysely over `node:sqlite`. Kysely supports better-sqlite3, which takes parameters as an array. */
export function kyselyOver<Tables>(database: DatabaseSync): Kysely<Tables> {
	return new Kysely<Tables>({
		dialect: new SqliteDialect({
			database: {
				close: () => database.close(),
				prepare(sql) {
					// A failed COMMIT may have ended the transaction. Kysely's rollback must not hide why.
					if (sql === 'rollback' && !database.isTransaction) return nothing;
					const statement = database.prepare(sql);
					const values = (parameters: readonly unknown[]) => parameters as SQLInputValue[];
					return {
						reader: statement.columns().length > 0,
						all: (parameters) => statement.all(...values(parameters)),
						run: (parameters) => statement.run(...values(parameters)),
						iterate: (parameters) => statement.iterate(...values(parameters)),
					};
				},
			},
		}),
	});
}
