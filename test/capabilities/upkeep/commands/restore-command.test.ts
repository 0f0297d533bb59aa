import assert from 'node:assert/strict';
import {
	cpSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openStore } from '../../../../src/assembly/open-store.ts';
import { enginesAboveContract } from '../../../core/store/engines.ts';
import { eventually } from '../../../eventually.ts';
import { assertRefused, caskade, caskadeJson } from '../../../process.ts';
import { serveHere } from '../../../serve-here.ts';
import { addClient, browserUserAgent, event, temporaryFolder } from '../../../support.ts';

/** A data folder with a visitor and a customer, and a backup of it from before both were erased. */
async function erasedAfterBackup(t: TestContext) {
	const elsewhere = temporaryFolder(t);
	const [folder, backup] = [join(elsewhere, 'data'), join(elsewhere, 'backup')];
	const at = ['--database', `sqlite:${folder}`];
	const store = await openStore(`sqlite:${folder}`);
	const { aid, key } = await addClient(store);
	await store.close();
	const vids: string[] = [];
	{
		await using server = await serveHere(at);
		for (const name of ['alone', 'gone', 'stays']) {
			const events = [{ name: 'order', tid: `T-${name}` }];
			const answer = await fetch(`${server.url}/hit`, {
				method: 'POST',
				headers: { 'content-type': 'application/json', 'user-agent': browserUserAgent },
				body: JSON.stringify({ aid, url: 'https://shop.test/', cid: `C-${name}`, events }),
			});
			vids.push(((await answer.json()) as { vid: string }).vid);
		}
		const data = ['alone', 'gone', 'stays'].map((name) => ({ ...event(), tid: `T-${name}` }));
		assert.equal((await server.upload(key, { aid, data })).status, 201);
	}
	const [alone, gone, stays] = vids as [string, string, string];
	assert.equal((await caskade(['backup', backup, ...at])).code, 0);
	assert.equal((await caskade(['visitor', 'erase', aid, alone, '--yes', ...at])).code, 0);
	assert.equal((await caskade(['visitor', 'erase', aid, '--cid', 'C-gone', '--yes', ...at])).code, 0);
	return { folder, backup, at, aid, key, alone, gone, stays };
}

async function ownersOf(aid: string, at: readonly string[], tids: readonly string[]) {
	return Promise.all(
		tids.map(async (tid) => {
			const found = (await caskadeJson(['visitor', 'find', aid, '--tid', tid, ...at])) as { vid: string }[];
			return found.map(({ vid }) => vid);
		}),
	);
}

test('a restore says what is to be erased again, and erasing again leaves nobody who was erased', async (t) => {
	const { folder, backup, at, aid, key, alone, gone, stays } = await erasedAfterBackup(t);
	const tids = ['T-alone', 'T-gone', 'T-stays'];
	assert.deepEqual(await ownersOf(aid, at, tids), [[], [], [stays]]);

	const restored = await caskade(['restore', backup, ...at]);
	assert.match(
		restored.stdout,
		/^1 account restored from .*backup\.\nWhat was there is in (.*data\/replaced-\S+): delete that .*\nThe list has 3 erasures that the backup does not know\. Before you start the server, erase again: caskade visitor erase-again\n$/,
	);
	assert.deepEqual(await ownersOf(aid, at, tids), [[alone], [gone], [stays]]);
	const doctor = await caskade(['doctor', ...at]);
	assert.equal(doctor.code, 1);
	assert.match(
		doctor.stdout,
		/^CARE {2}erasures: listed, but not erased in this database: 3 of c-a-\S+\. .*Run 'caskade visitor erase-again'$/m,
	);
	const status = (await caskade(['status', ...at])).stdout;
	assert.match(status, /^erasuresMissing +3 \(run 'caskade visitor erase-again'\)$/m);

	const again = ['visitor', 'erase-again'];
	const found = { aid, visitors: 2, customers: 1, absent: 0 };
	assert.deepEqual(await caskadeJson([...again, '--dry-run', ...at]), [found]);
	assert.deepEqual(await ownersOf(aid, at, tids), [[alone], [gone], [stays]]);
	assertRefused(await caskade([...again, ...at]), /cannot be undone.*--yes, or --dry-run/);

	// Whoever has not waited: what arrives after the erasure stays, with its customer.
	{
		await using server = await serveHere(at);
		await eventually('the log says so', () =>
			server.logged.some((line) => line.includes("erasures are missing: run 'caskade visitor erase-again'")),
		);
		const later = { ...event(), tid: 'T-later', cid: 'C-gone' };
		assert.equal((await server.upload(key, { aid, data: [later] })).status, 201);
		assert.deepEqual(await caskadeJson([...again, aid, '--yes', ...at]), [
			{ ...found, hits: 2, visits: 2, events: 2, links: 4 },
		]);
	}
	assert.deepEqual(await ownersOf(aid, at, [...tids, 'T-later']), [[], [], [stays], []]);
	const events = (await caskadeJson(['events', aid, ...at])) as { tid: string; cid: string | null }[];
	assert.deepEqual(new Map(events.map(({ tid, cid }) => [tid, cid])).get('T-later'), 'C-gone');
	assert.match(
		(await caskade(['doctor', ...at])).stdout,
		/^ok {4}erasures: all 3 in the list are erased in this database$/m,
	);
	assert.equal((await caskade([...again, '--yes', ...at])).stdout, 'Nothing is to be erased again.\n');

	// What was replaced is a data folder, which undoes the restore.
	const [replaced = ''] = readdirSync(folder).filter((name) => name.startsWith('replaced-'));
	assert.equal((await caskade(['restore', join(folder, replaced), ...at])).code, 0);
	assert.deepEqual(await ownersOf(aid, at, tids), [[], [], [stays]]);
});

test('a new data folder takes the list of the backup, and another folder’s list is not touched', async (t) => {
	const { folder, backup, at } = await erasedAfterBackup(t);
	const second = `${backup}-2`;
	assert.equal((await caskade(['backup', second, ...at])).code, 0);
	assert(existsSync(join(second, 'erasures.jsonl')));
	rmSync(folder, { recursive: true });
	const { stdout } = await caskade(['restore', second, ...at]);
	assert.equal(stdout, `1 account restored from ${second}.\n`);
	assert.equal(statSync(join(folder, 'erasures.jsonl')).mode & 0o777, 0o600);
	// The first backup is older than the list.
	assert.match((await caskade(['restore', backup, ...at])).stdout, /\nThe list has 3 erasures that /);
});

test('a restore changes nothing where it is refused', async (t) => {
	const { folder, backup, at, aid } = await erasedAfterBackup(t);
	const before = readdirSync(folder);
	assertRefused(await caskade(['restore', join(backup, 'accounts'), ...at]), /is no backup/);
	assertRefused(await caskade(['restore', folder, ...at]), /is the data folder itself/);
	{
		await using _ = await serveHere(at);
		assertRefused(await caskade(['restore', backup, ...at]), /A server runs on the data folder/);
	}
	const damaged = `${backup}-damaged`;
	cpSync(backup, damaged, { recursive: true });
	writeFileSync(join(damaged, 'accounts', '1.sqlite'), 'this is no database, whatever its name says');
	assertRefused(await caskade(['restore', damaged, ...at]), /1\.sqlite is damaged; restore another backup/);
	assert.deepEqual(readdirSync(folder), before);
	assert.equal((await caskade(['events', aid, ...at])).code, 0);
	assertRefused(
		await caskade(['restore', backup, '--database', 'postgres://nobody@127.0.0.1:1/none']),
		/on PostgreSQL restore with pg_restore/,
	);
});

test('a restore that was killed in between is completed by another, and nothing begins anew meanwhile', async (t) => {
	const { folder, backup, at, aid, stays } = await erasedAfterBackup(t);
	// As after each step of moving.
	for (const moved of [['control.sqlite'], ['control.sqlite', 'accounts']]) {
		mkdirSync(join(folder, 'restoring', 'accounts'), { recursive: true });
		const away = join(folder, `moved-${moved.length}`);
		mkdirSync(away);
		for (const name of moved) renameSync(join(folder, name), join(away, name));
		assertRefused(
			await caskade(['account', 'create', 'c-a-x', '--client', 'x', ...at]),
			/was interrupted; run 'caskade restore' again/,
		);
		assert.equal((await caskade(['restore', backup, ...at])).code, 0);
		assert.deepEqual(await ownersOf(aid, at, ['T-stays']), [[stays]]);
		assert(!existsSync(join(folder, 'restoring')));
	}
});

for (const engine of enginesAboveContract)
	test(`the list is where --erasure-list says, on ${engine.name}`, async (t) => {
		const list = join(temporaryFolder(t), 'erased.jsonl');
		const address = await engine.installedAddress(t);
		const at = ['--database', address];
		const store = await openStore(address);
		const { aid } = await addClient(store);
		await store.close();
		const named = [...at, '--erasure-list', list];
		const vid = '0'.repeat(32);
		assert.equal((await caskade(['visitor', 'erase', aid, vid, '--yes', ...named])).code, 0);
		assert.equal(readFileSync(list, 'utf8').trim().split('\n').length, 1);
		assert.match((await caskade(['doctor', ...named])).stdout, /erasures: all 1 in the list are erased/);
		assert.equal(
			(await caskade(['visitor', 'erase-again', '--yes', ...named])).stdout,
			'Nothing is to be erased again.\n',
		);
		assertRefused(
			await caskade(['visitor', 'erase-again', '--yes', ...at]),
			engine.isFolder ? /There is no list of erasures/ : /No list of erasures is kept: name its file/,
		);
	});
