import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { migrationFiles } from '../../src/store/migrations.ts';
import { assertRefused, caskade, caskadeJson, caskadeWithin } from '../process.ts';
import { makeEarliest, setSchemaVersion } from '../store/damage.ts';
import { temporaryFolder } from '../support.ts';

const newest = {
	control: migrationFiles('sqlite', 'control').length,
	client: migrationFiles('sqlite', 'client').length,
};

test('migrate migrates every database to the newest schema, once', async (t) => {
	const folder = temporaryFolder(t);
	const at = ['--database', `sqlite:${folder}`];
	await caskade(['account', 'create', 'c-a-x', '--client', 'x', ...at]);
	await caskade(['account', 'create', 'c-a-y', '--client', 'x', ...at]);
	makeEarliest(join(folder, 'accounts', '2.sqlite'));
	assert.deepEqual(await caskadeJson(['migrate', ...at]), [
		{ database: 'c-a-x', migrations: 0 },
		{ database: 'c-a-y', migrations: newest.client - 1 },
	]);
	assert.deepEqual(await caskadeJson(['migrate', ...at]), [
		{ database: 'c-a-x', migrations: 0 },
		{ database: 'c-a-y', migrations: 0 },
	]);
	const { stdout, stderr } = await caskade(['migrate', ...at]);
	assert.equal(stdout, 'Every database has the newest schema; 0 of 2 were migrated.\n');
	assert.match(stderr, /^migrate: 1 of 2 databases\n(.*\n)?migrate: 2 of 2 databases.*\n$/);
});

test('every command refuses a database of a newer Caskade, and says what to do', async (t) => {
	const folder = temporaryFolder(t);
	const at = ['--database', `sqlite:${folder}`];
	await caskade(['account', 'create', 'c-a-x', '--client', 'x', ...at]);
	const newer = (path: string, version: number) => setSchemaVersion(join(folder, path), version);
	const refusal = /has schema 99, this Caskade knows schema \d+: it was last used by a newer Caskade/;
	newer('accounts/1.sqlite', 99);
	for (const args of [['migrate'], ['events', 'c-a-x'], ['serve', '--port', '0']])
		assertRefused(await caskadeWithin([...args, ...at]), refusal);
	newer('accounts/1.sqlite', newest.client);
	newer('control.sqlite', 99);
	for (const args of [['migrate'], ['account', 'list'], ['serve', '--port', '0']])
		assertRefused(await caskadeWithin([...args, ...at]), refusal);
	newer('control.sqlite', newest.control);
	assert.equal((await caskade(['migrate', ...at])).code, 0);
});
