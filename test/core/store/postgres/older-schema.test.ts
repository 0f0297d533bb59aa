import { test } from 'node:test';
import { newestSchemas } from '../../../../src/core/store/migrations.ts';
import { assertRefused, caskadeWithin } from '../../../process.ts';
import { addAccount, openFor } from '../engines.ts';
import { installedPostgresDatabase } from '../postgres-server.ts';
import { sessionOn } from './service.ts';

test('on PostgreSQL, too, a command neither migrates a schema nor reads an older one', async (t) => {
	const address = await installedPostgresDatabase();
	await addAccount(await openFor(t, address), 'c-a-x');
	const session = await sessionOn(t, address);
	const { control, accounts } = newestSchemas('postgres');
	for (const [schema, newest] of [
		['caskade_control', control],
		['caskade_account_1', accounts],
	] as const) {
		await session.query(`UPDATE ${schema}.schema_version SET version = ${newest - 1}`);
		assertRefused(
			await caskadeWithin(['events', 'c-a-x', '--database', address]),
			new RegExp(
				`${schema} has schema ${newest - 1}, and this Caskade needs schema ${newest}: .*'caskade migrate'`,
			),
		);
		await session.query(`UPDATE ${schema}.schema_version SET version = ${newest}`);
	}
});
