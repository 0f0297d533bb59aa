import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FaultyDisk, noFaultyDisk } from '../../../faulty-disk.ts';
import { TestProcess } from '../../../process.ts';
import { takesLong } from '../../../quick.ts';
import { temporaryFolder } from '../../../support.ts';
import { accountDatabase, openFor, rows } from './databases.ts';

const skip = takesLong || noFaultyDisk();

/** A process that keeps a database open, and obeys its standard input. */
async function start(t: TestContext) {
	const { database, path } = accountDatabase(t);
	database.close();
	const folder = join(path, '..');
	const disk = new FaultyDisk(temporaryFolder(t));
	disk.adopt(folder);
	const script = join(import.meta.dirname, 'checkpoints.ts');
	const writer = new TestProcess(process.execPath, [script, path], disk.environment);
	let told = 0;
	const tell = async (command: string) => {
		writer.child.stdin?.write(`${command}\n`);
		return (await writer.printed(new RegExp(`^${++told} (.*)$`, 'm')))[1];
	};
	/** The number stored under each name; in a sound database. */
	const stored = () => {
		const database = openFor(t, path);
		assert.deepEqual(rows(database, 'PRAGMA integrity_check'), [{ integrity_check: 'ok' }]);
		const names = rows(
			database,
			'SELECT substr(tid, 1, 1) AS name, count(*) AS events FROM subscription_event GROUP BY 1',
		);
		return Object.fromEntries(names.map(({ name, events }) => [name, events]));
	};
	return { folder, disk, writer, tell, stored };
}

test('a checkpoint that cannot be made durable is repeated in full, and acknowledged data survives', {
	skip,
}, async (t) => {
	const { folder, disk, writer, tell, stored } = await start(t);
	await using _ = writer;
	await tell('store A');
	disk.failOnce({ call: 'fsync', path: 'account.sqlite', error: 'EIO' });
	assert.equal(await tell('checkpoint'), 'disk I/O error');
	assert.equal(await tell('checkpoint'), 'done');
	await tell('store B');
	await writer.kill();
	disk.cutPower(folder);
	assert.deepEqual(stored(), { A: 100, B: 100 });
});

test('if a part had been copied before, the process ends at once, and nothing is lost', {
	skip,
}, async (t) => {
	const { folder, disk, writer, tell, stored } = await start(t);
	await using _ = writer;
	await tell('store A');
	await tell('read');
	await tell('store B');
	// Copies up to what the reader sees, without a sync.
	assert.equal(await tell('checkpoint'), 'done');
	await tell('stop reading');
	disk.failOnce({ call: 'fsync', path: 'account.sqlite', error: 'EIO' });
	writer.child.stdin?.write('checkpoint\n');
	const { signal, stderr } = await writer.ended;
	assert.equal(signal, 'SIGKILL');
	assert.match(stderr, /^\{"level":"fatal",[^\n]+an fsync failed[^\n]+\}\n$/);

	const restarted = new TestProcess(
		writer.child.spawnfile,
		writer.child.spawnargs.slice(1),
		disk.environment,
	);
	await using _restarted = restarted;
	restarted.child.stdin?.write('store C\n');
	await restarted.printed(/1 done/);
	restarted.child.stdin?.end();
	await restarted.ended;
	disk.cutPower(folder);
	assert.deepEqual(stored(), { A: 100, B: 100, C: 100 });
});

test('what a process has met ends the others that have the database open, and nothing is lost', {
	skip,
}, async (t) => {
	const { folder, disk, writer, tell, stored } = await start(t);
	await using _ = writer;
	const args = writer.child.spawnargs.slice(1);
	await using beside = new TestProcess(writer.child.spawnfile, args, disk.environment);
	beside.child.stdin?.write('nothing\n');
	await beside.printed(/1 done/);
	await tell('store A');
	await tell('read');
	await tell('store B');
	assert.equal(await tell('checkpoint'), 'done');
	await tell('stop reading');
	disk.failOnce({ call: 'fsync', path: 'account.sqlite', error: 'EIO' });
	beside.child.stdin?.write('checkpoint\n');
	assert.equal((await beside.ended).signal, 'SIGKILL');
	writer.child.stdin?.write('checkpoint\n');
	const { signal, stderr } = await Promise.race([writer.ended, tell('nothing').then(() => writer.kill())]);
	assert.equal(signal, 'SIGKILL');
	assert.match(stderr, /an fsync failed/);
	disk.cutPower(folder);
	assert.deepEqual(stored(), { A: 100, B: 100 });
});
