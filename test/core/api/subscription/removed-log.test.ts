import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually } from '../../../eventually.ts';
import { ServeProcess } from '../../../process.ts';
import { takesLong } from '../../../quick.ts';
import { addClient, event, temporaryFolder } from '../../../support.ts';
import { openStore } from '../../../whole.ts';
import { storedEvents } from '../../store/engines.ts';

test('a write-ahead log that is removed under a server loses nothing, and the operator is told', {
	skip: takesLong,
}, async (t) => {
	const folder = temporaryFolder(t);
	const address = `sqlite:${folder}`;
	const store = await openStore(address);
	const { aid, key } = await addClient(store);
	await store.close();
	const acknowledged: string[] = [];
	let sent = 0;
	await using server = await ServeProcess.start(['--database', address]);
	const upload = async () => {
		const tid = `t${sent++}`;
		const { status } = await server.upload(key, { aid, data: [event({ tid })] });
		if (status === 201) acknowledged.push(tid);
		return status;
	};
	assert.equal(await upload(), 201);
	rmSync(join(folder, 'accounts/1.sqlite-wal'));
	await eventually('stored again', async () => (await upload()) === 201);
	assert.match(server.stderr, /the write-ahead log was removed while it was open; its content is saved/);
	assert.equal(await upload(), 201);
	await server.kill();
	const after = await openStore(address);
	t.after(() => after.close());
	const stored = new Set((await storedEvents(after, 1)).map(({ tid }) => tid));
	assert.deepEqual(
		acknowledged.filter((tid) => !stored.has(tid)),
		[],
	);
});

test("without the control database's log, the server says that it is not ready", {
	skip: takesLong,
}, async (t) => {
	const folder = temporaryFolder(t);
	await using server = await ServeProcess.start(['--database', `sqlite:${folder}`]);
	rmSync(join(folder, 'control.sqlite-wal'));
	await eventually('not ready', async () => (await fetch(`${server.url}/readyz`)).status === 503);
	assert.match(server.stderr, /the write-ahead log was removed while it was open; restart the server/);
});
