import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PostgresPool } from '../../../../../src/core/store/postgres/engine/postgres-connection.ts';
import { freshPostgresDatabase } from '../../postgres-server.ts';

test('a connection that has met a thousand statements is closed, since its server process keeps what it knows of their tables', async (t) => {
	const errors: Error[] = [];
	const pool = new PostgresPool(
		await freshPostgresDatabase(),
		{
			size: 1,
			connectTimeoutMs: 5000,
			statementTimeoutMs: 5000,
			idleInTransactionMs: 5000,
			prepares: true,
		},
		(error) => errors.push(error),
	);
	t.after(() => pool.end());
	const processes = new Map<number, number>();
	for (let statement = 0; statement < 1500; statement++) {
		// Most accounts come again and again.
		const text = `SELECT pg_backend_pid() AS pid, ${statement % 1200}`;
		const { rows } = await pool.queryAgain<{ pid: number }>(text, []);
		const [{ pid } = assert.fail()] = rows;
		processes.set(pid, (processes.get(pid) ?? 0) + 1);
	}
	assert.deepEqual([...processes.values()], [1000, 500]);
	assert.deepEqual(errors, []);
});
