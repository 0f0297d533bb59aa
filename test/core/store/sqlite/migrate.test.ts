import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { goalDefaults } from '../../../../src/core/domain/goal.ts';
import { migrationFiles, SchemaTooNewError } from '../../../../src/core/store/migrations.ts';
import { DataFolder } from '../../../../src/core/store/sqlite/engine/data-folder.ts';
import {
	latestSchema,
	migrate,
	schemaVersion,
} from '../../../../src/core/store/sqlite/engine/sqlite-migrate.ts';
import { SqliteStore } from '../../../../src/core/store/sqlite/sqlite-store.ts';
import { TestProcess } from '../../../process.ts';
import { takesLong } from '../../../quick.ts';
import { temporaryFolder } from '../../../support.ts';
import { openFor, rows, schemaOf } from './databases.ts';

test('a new database gets the newest schema, once', (t) => {
	for (const kind of ['control', 'client'] as const) {
		const database = openFor(t, join(temporaryFolder(t), 'fresh.sqlite'));
		assert.equal(schemaVersion(database), 0);
		assert.equal(migrate(database, kind), latestSchema(kind));
		assert.equal(schemaVersion(database), latestSchema(kind));
		const schema = schemaOf(database);
		assert.equal(migrate(database, kind), 0);
		assert.deepEqual(schemaOf(database), schema);
	}
});

test('of 8 processes that open a new folder at once, all succeed with one schema', {
	skip: takesLong,
}, async (t) => {
	const folder = join(temporaryFolder(t), 'data');
	const script = join(import.meta.dirname, 'open-together.ts');
	await using stack = new AsyncDisposableStack();
	const processes = Array.from({ length: 8 }, () =>
		stack.use(new TestProcess(process.execPath, [script, folder])),
	);
	await Promise.all(processes.map((each) => each.printed(/ready/)));
	for (const { child } of processes) child.stdin?.write('go\n');
	for (const { ended } of processes) {
		const { code, stdout, stderr } = await ended;
		assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: 'ready\nopened 1\n', stderr: '' });
	}
	const control = openFor(t, join(folder, 'control.sqlite'));
	assert.equal(schemaVersion(control), latestSchema('control'));
	assert.deepEqual(rows(control, 'SELECT * FROM revision'), [{ id: 1, number: 1 }]);
	const alone = openFor(t, join(temporaryFolder(t), 'control.sqlite'));
	migrate(alone, 'control');
	assert.deepEqual(schemaOf(control), schemaOf(alone));
});

test('a database of a newer version is refused and not changed', (t) => {
	for (const kind of ['control', 'client'] as const) {
		const path = join(temporaryFolder(t), 'newer.sqlite');
		const database = openFor(t, path);
		migrate(database, kind);
		const newest = latestSchema(kind);
		database.exec(`PRAGMA user_version = ${newest + 1}; CREATE TABLE of_the_future (id INTEGER)`);
		database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
		const before = readFileSync(path);
		assert.throws(() => migrate(database, kind), {
			name: 'SchemaTooNewError',
			message: `The ${kind} database has schema ${newest + 1}, this Caskade knows schema ${newest}: it was last used by a newer Caskade. Start that one, or restore a backup made before the upgrade.`,
		});
		database.close();
		assert.deepEqual(readFileSync(path), before);
	}
});

test('a folder of a newer version is refused before anything else happens', (t) => {
	const folder = temporaryFolder(t);
	mkdirSync(join(folder, 'accounts'));
	const control = openFor(t, join(folder, 'control.sqlite'));
	control.exec('PRAGMA user_version = 99');
	control.close();
	assert.throws(() => new SqliteStore(folder), SchemaTooNewError);
	assert.deepEqual(readdirSync(folder).sort(), ['accounts', 'control.sqlite']);
});

test('a failing migration leaves the database unchanged', (t) => {
	const database = openFor(t, join(temporaryFolder(t), 'odd.sqlite'));
	// Conflicts with the migration's last statement, so that the earlier ones have run.
	database.exec('CREATE TABLE odd (id INTEGER); CREATE INDEX subscription_event_tid ON odd (id)');
	const before = schemaOf(database);
	assert.throws(() => migrate(database, 'client'), /already/);
	assert.equal(database.isTransaction, false);
	assert.equal(schemaVersion(database), 0);
	assert.deepEqual(schemaOf(database), before);
	database.exec('DROP TABLE odd');
	assert.equal(migrate(database, 'client'), latestSchema('client'));
});

test('accounts older than goals and segments get the defaults of their time', async (t) => {
	const folder = new DataFolder(temporaryFolder(t));
	folder.create();
	const control = openFor(t, folder.controlPath);
	const [first] = migrationFiles('sqlite', 'control');
	control.exec(readFileSync(first as string, 'utf8'));
	control.exec(
		"PRAGMA user_version = 1; INSERT INTO client VALUES (1, 'x', 0); INSERT INTO account VALUES (1, 'c-a-x', 1, '[]', 0, NULL)",
	);
	const store = new SqliteStore(folder.path);
	t.after(() => store.close());
	const added = await store.control.createAccount({ aid: 'c-a-y', client: 'x', origins: [] }, async () => {});
	const { counts: _, ...rest } = goalDefaults;
	assert.deepEqual(await store.control.goals(1), [
		// As they counted before goals named what reaches them.
		{ name: 'subscription', evts: ['*'], counts: 'any', ...rest },
		{ name: 'return', evts: ['visit'], counts: 'any', ...rest },
	]);
	const segments = await store.control.segments(added.id);
	assert.deepEqual(
		await store.control.segments(1),
		segments
			.filter(({ id }) => id !== 'subscribed-before')
			// As it was before subscriptions could end.
			.map((one) => (one.id === 'subscriber' ? { ...one, rule: 'visitor.subscriptions > 0' } : one)),
	);
});

test('for signing keys older than sequence numbers, the one that was not rotated comes first, whatever the clock said', async (t) => {
	const folder = new DataFolder(temporaryFolder(t));
	folder.create();
	const control = openFor(t, folder.controlPath);
	for (const path of migrationFiles('sqlite', 'control').slice(0, 3))
		control.exec(readFileSync(path, 'utf8'));
	control.exec(
		"PRAGMA user_version = 3; INSERT INTO signing_key VALUES ('a', '', 5, NULL), ('b', '', 5, 90), ('c', '', 9, 80), ('d', '', 5, 70)",
	);
	const store = new SqliteStore(folder.path, { now: () => 60 });
	t.after(() => store.close());
	assert.deepEqual(
		(await store.control.signingKeys()).map(({ kid }) => kid),
		['a', 'b', 'c', 'd'],
	);
	await store.control.rotateSigningKeys();
	assert.equal((await store.control.signingKeys()).at(1)?.kid, 'a');
});
