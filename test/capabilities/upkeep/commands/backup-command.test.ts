import assert from 'node:assert/strict';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openStore } from '../../../../src/assembly/open-store.ts';
import { countRows } from '../../../../src/core/store/account/reading/rows.ts';
import { assertRefused, caskade, caskadeJson, TestProcess } from '../../../process.ts';
import { takesLong } from '../../../quick.ts';
import { serveHere } from '../../../serve-here.ts';
import { noSmallDisk, SmallDisk } from '../../../small-disk.ts';
import { addClient, event, temporaryFolder } from '../../../support.ts';

test('a backup of a running server can be served in its place', async (t) => {
	const [folder, elsewhere] = [temporaryFolder(t), temporaryFolder(t)];
	const store = await openStore(`sqlite:${folder}`);
	t.after(() => store.close());
	const { aid, key } = await addClient(store);
	await using server = await serveHere(['--database', `sqlite:${folder}`]);
	const data = [event(), event()];
	assert.equal((await server.upload(key, { aid, data })).status, 201);

	const dir = join(elsewhere, 'new', 'backup');
	const backup = (await caskadeJson(['backup', dir, '--database', `sqlite:${folder}`])) as {
		dir: string;
		databases: { database: string; bytes: number }[];
	};
	assert.equal(backup.dir, dir);
	assert.deepEqual(
		backup.databases.map(({ database, bytes }) => [database, bytes > 0]),
		[
			['control', true],
			[aid, true],
		],
	);
	assert.equal((await server.upload(key, { aid, data: [event()] })).status, 201, 'the server goes on');

	await using restored = await serveHere(['--database', `sqlite:${dir}`]);
	const answer = await restored.upload(key, { aid, data });
	assert.equal(answer.status, 201);
	assert.equal(answer.headers.get('x-events-duplicate'), '2');
	const events = (await caskadeJson(['events', aid, '--database', `sqlite:${dir}`])) as unknown[];
	assert.equal(events.length, 2);
});

test('a backup never overwrites anything, and a failed one leaves nothing', async (t) => {
	const folder = temporaryFolder(t);
	const at = ['--database', `sqlite:${join(folder, 'data')}`];
	await caskade(['account', 'create', 'c-a-x', '--client', 'x', ...at]);
	const done = await caskade(['backup', join(folder, 'backup'), ...at]);
	assert.match(done.stdout, /^control: \d+ bytes\nc-a-x: \d+ bytes\nBackup complete in .*backup\.\n$/);
	assertRefused(
		await caskade(['backup', join(folder, 'backup'), ...at]),
		/backup is not empty; name a new folder/,
	);

	writeFileSync(join(folder, 'data', 'accounts', '1.sqlite'), 'this is no database, whatever its name says');
	const failed = await caskade(['backup', join(folder, 'second'), ...at]);
	assert.equal(failed.code, 1);
	assert.match(failed.stderr, /^caskade: [^\n]+\n$/);
	assert.equal(existsSync(join(folder, 'second')), false);

	rmSync(join(folder, 'data', 'accounts', '1.sqlite'));
	const missing = await caskade(['backup', join(folder, 'second'), ...at]);
	assert.match(missing.stderr, /^caskade: the file of account c-a-x is missing\.\n$/);
	assert.equal(existsSync(join(folder, 'second')), false);
	assert.equal(
		existsSync(join(folder, 'data', 'accounts', '1.sqlite')),
		false,
		'no empty one took its place',
	);
});

test('a backup for which there is no room says so, and leaves nothing', {
	skip: noSmallDisk(),
}, async (t) => {
	const at = ['--database', `sqlite:${join(temporaryFolder(t), 'data')}`];
	await caskade(['account', 'create', 'c-a-x', '--client', 'x', ...at]);
	using disk = new SmallDisk();
	disk.fill();
	const refused = await caskade(['backup', join(disk.path, 'backup'), ...at]);
	assertRefused(refused, /^caskade: There is no room left for the backup in \S+\.$/m);
	assert.deepEqual(readdirSync(disk.path), ['filler']);
	disk.free();
	assert.equal((await caskade(['backup', join(disk.path, 'backup'), ...at])).code, 0);
});

test('a backup taken while accounts are added holds the database of every account it knows', {
	skip: takesLong,
}, async (t) => {
	const folder = temporaryFolder(t);
	const at = ['--database', `sqlite:${join(folder, 'data')}`];
	await caskade(['account', 'create', 'c-a-first', '--client', 'x', ...at]);
	const script = `
		const { openStore } = await import(process.argv[1]);
		const store = await openStore(process.argv[2]);
		for (let number = 1; number <= 80; number++)
			await store.control.createAccount({ aid: 'c-a-' + number, client: 'x', origins: [] }, (id) =>
				store.createAccountDatabase(id));
	`;
	const open = new URL('../../../../src/assembly/open-store.ts', import.meta.url).href;
	const flags = ['--input-type=module', '-e', script, open, `sqlite:${join(folder, 'data')}`];
	await using adding = new TestProcess(process.execPath, flags);
	let ended = false;
	adding.ended.then(() => {
		ended = true;
	});
	const store = await openStore(`sqlite:${join(folder, 'data')}`);
	t.after(() => store.close());
	let most = 0;
	for (let number = 0; !ended || number === 0; number++) {
		const target = join(folder, `backup-${number}`);
		await store.backup(target, () => {});
		const copy = await openStore(`sqlite:${target}`);
		const accounts = await copy.control.accounts();
		for (const { id, aid } of accounts)
			assert.equal(await copy.read(id, countRows('subscription_event')), 0, aid);
		most = accounts.length;
		await copy.close();
		await new Promise(setImmediate);
	}
	assert.equal((await adding.ended).stderr, '');
	assert.ok(most > 1, 'accounts were added meanwhile');
});
