import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { migrationFiles } from '../../../../src/core/store/migrations.ts';
import { makeEarliest, OlderServer, setSchemaVersion } from '../../../core/store/damage.ts';
import { assertRefused, caskade, caskadeJson, caskadeWithin, ServeProcess } from '../../../process.ts';
import { temporaryFolder } from '../../../support.ts';

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

test('a command neither migrates a database nor reads an older one', async (t) => {
	const { folder, at } = await olderFolder(t);
	for (const path of ['control.sqlite', 'accounts/1.sqlite']) {
		const version = path === 'control.sqlite' ? newest.control - 1 : newest.client - 1;
		setSchemaVersion(join(folder, path), version);
		for (const args of [
			['events', 'c-a-x'],
			['export', 'c-a-x'],
			['visitor', 'find', 'c-a-x', '--cid', 'x'],
		])
			assertRefused(
				await caskadeWithin([...args, ...at]),
				new RegExp(
					`has schema ${version}, and this Caskade needs schema ${version + 1}: .*'caskade migrate'`,
				),
			);
		assert.equal(setSchemaVersion(join(folder, path), version + 1), version);
	}
	assert.equal((await caskade(['events', 'c-a-x', ...at])).code, 0);
});

test('a backup takes an older folder as it is', async (t) => {
	const { folder, at } = await olderFolder(t);
	setSchemaVersion(join(folder, 'control.sqlite'), newest.control - 1);
	const target = join(temporaryFolder(t), 'backup');
	assert.equal((await caskade(['backup', target, ...at])).code, 0);
	for (const place of [folder, target])
		assert.equal(setSchemaVersion(join(place, 'control.sqlite'), newest.control), newest.control - 1);
});

test('nothing migrates a folder that a server of an older version serves', async (t) => {
	const { folder, at } = await olderFolder(t);
	await using server = new OlderServer(folder);
	const refusal =
		/A server of an older version runs on the data folder .*, at http:\/\/127\.0\.0\.1:1, .*: stop it first, then run 'caskade migrate'/;
	setSchemaVersion(join(folder, 'control.sqlite'), newest.control - 1);
	for (const args of [['migrate'], ['status'], ['doctor'], ['events', 'c-a-x'], ['serve', '--port', '0']])
		assertRefused(await caskadeWithin([...args, ...at]), refusal);
	assert.equal(setSchemaVersion(join(folder, 'control.sqlite'), newest.control), newest.control - 1);
	setSchemaVersion(join(folder, 'accounts/1.sqlite'), newest.client - 1);
	assertRefused(await caskadeWithin(['migrate', ...at]), refusal);
	assert.equal(setSchemaVersion(join(folder, 'accounts/1.sqlite'), newest.client - 1), newest.client - 1);
	server.stop();
	// The schema itself is the newest, so that running its last migration again fails; that it is tried is enough.
	assert.doesNotMatch((await caskadeWithin(['migrate', ...at])).stderr, refusal);
});

test('beside a server of this version, an account that it has not used yet is migrated', async (t) => {
	const { folder, at } = await olderFolder(t);
	await caskade(['account', 'create', 'c-a-y', '--client', 'x', ...at]);
	await using server = await ServeProcess.start(at);
	makeEarliest(join(folder, 'accounts', '2.sqlite'));
	const ended = await caskadeWithin(['migrate', ...at]);
	assert.deepEqual({ code: ended.code, served: server.child.exitCode }, { code: 0, served: null });
});

async function olderFolder(t: TestContext) {
	const folder = temporaryFolder(t);
	const at = ['--database', `sqlite:${folder}`];
	await caskade(['account', 'create', 'c-a-x', '--client', 'x', ...at]);
	return { folder, at };
}
