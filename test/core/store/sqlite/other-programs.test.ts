import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ServeProcess } from '../../../process.ts';
import { takesLong } from '../../../quick.ts';
import { addClient, browserUserAgent, event, temporaryFolder } from '../../../support.ts';
import { openStore } from '../../../whole.ts';
import { storedEvents } from '../engines.ts';

/** A server that has stored an upload and a hit, and read the answer to the hit. */
async function startUsed(t: TestContext) {
	const folder = temporaryFolder(t);
	const address = `sqlite:${folder}`;
	const store = await openStore(address);
	const { aid, key } = await addClient(store);
	await store.close();
	const server = await ServeProcess.start(['--database', address]);
	const upload = async (tid: string) => {
		const answer = await server.upload(key, { aid, data: [event({ tid })] });
		assert.equal(answer.status, 201);
	};
	await upload('before');
	const hit = await fetch(`${server.url}/hit?include=scores,segments`, {
		method: 'POST',
		headers: { 'content-type': 'application/json', 'user-agent': browserUserAgent },
		body: JSON.stringify({ aid, url: 'https://shop.example/' }),
	});
	assert.equal(hit.status, 200);
	return { address, server, upload, path: join(folder, 'accounts/1.sqlite') };
}

/** Another program that opens the file, reads and closes it. */
function lookAt(path: string): void {
	execFileSync('sqlite3', [path, 'SELECT count(*) FROM subscription_event']);
}

function noSqlite3(): string | false {
	try {
		execFileSync('sqlite3', ['--version']);
		return false;
	} catch {
		return "there is no 'sqlite3' command here";
	}
}

test('an older SQLite that reads a live database loses nothing', {
	skip: takesLong || noSqlite3(),
}, async (t) => {
	const { address, server, upload, path } = await startUsed(t);
	await using _ = server;
	lookAt(path);
	assert.ok(existsSync(`${path}-wal`), 'the write-ahead log is still there');
	await upload('after');
	await server.kill();
	const store = await openStore(address);
	t.after(() => store.close());
	assert.deepEqual(
		(await storedEvents(store, 1)).map(({ tid }) => tid),
		['before', 'after'],
	);
});

test('a server keeps its locks on open databases', {
	skip: existsSync('/proc/locks') ? false : 'locks are read in /proc/locks',
}, async (t) => {
	const { server, path } = await startUsed(t);
	await using _ = server;
	const locked = readFileSync('/proc/locks', 'utf8')
		.split('\n')
		.filter((line) => line.includes(` ${server.child.pid} `))
		.map((line) => Number(/:(\d+) \d+ \S+$/.exec(line)?.[1]));
	for (const file of [path, join(path, '../../control.sqlite')])
		assert.ok(locked.includes(statSync(file).ino), `there is a lock on ${file}`);
});
