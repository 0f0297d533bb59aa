import assert from 'node:assert/strict';
import type { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import type { Profile } from '../../../../src/core/domain/profile.ts';
import { SqliteReader } from '../../../../src/core/store/sqlite/queue/sqlite-serving-reader.ts';
import { dataFolder, openFor } from './databases.ts';

/** A reader of some accounts, and how another connection writes visitors. Only the number of hits of a profile matters. */
function startReading(t: TestContext, accounts = 1) {
	const folder = dataFolder(t, accounts);
	const reader = new SqliteReader(folder);
	t.after(() => reader.close());
	const database = openFor(t, folder.accountPath(1));
	const save = (vid: string, hits: number, writing: DatabaseSync = database) =>
		writing
			.prepare(
				'INSERT INTO visitor (vid, profile) VALUES (?, ?) ON CONFLICT DO UPDATE SET profile = excluded.profile',
			)
			.run(vid, JSON.stringify({ hits }));
	const hitsOf = (vid: string, accountId = 1) =>
		(reader.visitor(accountId, vid) as Pick<Profile, 'hits'> | null)?.hits;
	return { folder, reader, database, save, hitsOf };
}

test('reads in one go show one state, with all that was stored before', async (t) => {
	const { reader, save, hitsOf } = startReading(t);
	save('a', 1);
	assert.equal(hitsOf('a'), 1);
	save('a', 2);
	reader.inOneState(() => {
		assert.equal(hitsOf('a'), 2);
		save('a', 3);
		save('b', 1);
		assert.equal(hitsOf('a'), 2);
		assert.equal(hitsOf('b'), undefined);
	});
	assert.equal(hitsOf('a'), 3);
	reader.inOneState(() => assert.equal(hitsOf('b'), 1));
});

test('an error while reading in one go does not keep the state', async (t) => {
	const { reader, save, hitsOf } = startReading(t);
	save('a', 1);
	assert.throws(
		() =>
			reader.inOneState(() => {
				assert.equal(hitsOf('a'), 1);
				throw new Error('handler failed');
			}),
		/handler failed/,
	);
	save('a', 2);
	assert.equal(hitsOf('a'), 2);
});

test('a read that fails does not harm the next, in one go or not', async (t) => {
	const { reader, database, save, hitsOf } = startReading(t);
	save('a', 1);
	reader.inOneState(() => {
		assert.equal(hitsOf('a'), 1);
		database.exec('ALTER TABLE visitor RENAME TO elsewhere');
		assert.equal(hitsOf('a'), 1);
	});
	reader.inOneState(() => {
		assert.throws(() => hitsOf('a'), /no such table/);
		database.exec('ALTER TABLE elsewhere RENAME TO visitor');
		assert.equal(hitsOf('a'), 1);
		save('a', 2);
		assert.equal(hitsOf('a'), 1);
	});
	assert.equal(hitsOf('a'), 2);
});

test('reads in one go may be of more accounts than there are open files', async (t) => {
	const accounts = 70;
	const { folder, reader, save, hitsOf } = startReading(t, accounts);
	const ids = Array.from({ length: accounts }, (_, index) => index + 1);
	const saveAll = (more: number) => {
		for (const id of ids) {
			const writing = openFor(t, folder.accountPath(id));
			save('a', id + more, writing);
			writing.close();
		}
	};
	for (const more of [0, 1000]) {
		saveAll(more);
		reader.inOneState(() => {
			for (const id of [...ids, ...ids]) assert.equal(hitsOf('a', id), id + more);
		});
	}
});
