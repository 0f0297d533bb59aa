import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { addAccount, openFor } from '../engines.ts';
import { freshPostgresDatabase } from '../postgres-server.ts';
import { sessionOn } from './service.ts';

test('every table of an account can be replicated, as Citus does to move an account that is in use', async (t) => {
	const address = await freshPostgresDatabase();
	const store = await openFor(t, address);
	const accountId = await addAccount(store);
	const session = await sessionOn(t, address);
	const schema = `caskade_account_${accountId}`;
	await session.query(`CREATE PUBLICATION moving FOR TABLES IN SCHEMA ${schema}`);
	const { rows } = await session.query('SELECT tablename FROM pg_publication_tables');
	assert.ok(rows.some(({ tablename }) => tablename === 'counter'));
	for (const { tablename } of rows) await session.query(`DELETE FROM ${schema}.${tablename}`);
});

test('an account is created after another change of the control schema, however long that takes', async (t) => {
	const address = await freshPostgresDatabase();
	const store = await openFor(t, address);
	const session = await sessionOn(t, address);
	await session.query('BEGIN; UPDATE caskade_control.revision SET number = number + 1');
	const created = addAccount(store);
	// Longer than the time limit of a statement.
	await delay(4000);
	assert.deepEqual(await store.control.accounts(), []);
	await session.query('COMMIT');
	assert.equal(await created, 1);
});
