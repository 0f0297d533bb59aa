import { test } from 'node:test';
import { assertRefused, type Ended, mainPath, TestProcess } from '../../../process.ts';
import { openStore } from '../../../whole.ts';
import { freshPostgresDatabase, installedPostgresDatabase } from '../postgres-server.ts';
import { sessionOn } from './service.ts';

async function serve(address: string, ...args: string[]): Promise<Ended> {
	const flags = ['--port', '0', '--database', address, ...args];
	await using command = new TestProcess(process.execPath, [mainPath, 'serve', ...flags]);
	return await command.endsWithin(5000);
}

test('the refusal of a PostgreSQL server is quoted in one sentence', async (t) => {
	const address = await installedPostgresDatabase();
	const session = await sessionOn(t, address);
	await (await openStore(address)).close();
	await session.query('BEGIN');
	await session.query('LOCK TABLE caskade_control.schema_version');
	assertRefused(await serve(address), /The PostgreSQL server at \S+ says: canceling statement/);
	await session.query('ROLLBACK');
	await session.query('ALTER TABLE caskade_control.probe RENAME TO lost');
	await session.query('ALTER TABLE caskade_control.revision RENAME TO lost_too');
	assertRefused(await serve(address, '--workers', '2'), /relation .* does not exist/);
});

test('a role that may not make schemas, or not use them, is told what it needs', async (t) => {
	const address = await freshPostgresDatabase();
	const session = await sessionOn(t, address);
	const database = new URL(address).pathname.slice(1);
	const role = `weak_${database}`;
	await session.query(`CREATE ROLE ${role} LOGIN PASSWORD 'weak'`);
	const weak = new URL(address);
	Object.assign(weak, { username: role, password: 'weak' });
	const needs =
		/says: permission denied for \S+ \S+\. Name the role that made Caskade's schemas, and let it own the database or GRANT CREATE ON DATABASE\.$/m;
	assertRefused(await serve(weak.href), needs);
	await (await openStore(address)).close();
	assertRefused(await serve(weak.href), needs);
	await session.query(`DROP ROLE ${role}`);
});
