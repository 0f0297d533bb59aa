import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Fault, FaultyDisk, noFaultyDisk } from '../../faulty-disk.ts';
import { assertRefused, caskadeProcess, ServeProcess, withinASecond } from '../../process.ts';
import { takesLong } from '../../quick.ts';
import { addClient, browserUserAgent, event, temporaryFolder } from '../../support.ts';
import { openStore } from '../../whole.ts';
import { storedEvents } from './engines.ts';
import { keepOpen } from './other-program.ts';

const skip = takesLong || noFaultyDisk();

const nothingStored = 'the store failed; nothing is stored, retrying is safe';
const unknown = 'outcome unknown; retrying is safe';

const logFails: Fault = { call: 'fsync', path: 'accounts/1.sqlite-wal', error: 'EIO' };

/** A data folder with two accounts on a disk that can be made to fail. */
async function start(t: TestContext) {
	const folder = temporaryFolder(t);
	const address = `sqlite:${folder}`;
	const store = await openStore(address);
	const client = await addClient(store);
	const other = await addClient(store, { client: 'globex' });
	await store.close();
	const disk = new FaultyDisk(temporaryFolder(t));
	disk.adopt(folder);
	const serve = () => ServeProcess.start(['--database', address], disk.environment);
	/** The outcome of an upload: its status, and the text of an error. */
	const upload = async (server: ServeProcess, tid: string, { aid, key } = client) => {
		const answer = await server.upload(key, { aid, data: [event({ tid })] });
		const { validationErrors } = (await answer.json()) as { validationErrors: string | null };
		return validationErrors ?? answer.status;
	};
	const stored = async () => {
		const reopened = await openStore(address);
		try {
			return (await storedEvents(reopened, 1)).map(({ tid }) => tid);
		} finally {
			await reopened.close();
		}
	};
	return { folder, disk, client, other, serve, upload, stored };
}

test('if a COMMIT cannot be made durable, no answer claims an outcome, and only that account is refused', {
	skip,
}, async (t) => {
	const { disk, other, serve, upload, stored } = await start(t);
	await using server = await serve();
	assert.equal(await upload(server, 'before'), 201);
	disk.fail(logFails);
	assert.equal(await upload(server, 'failed'), unknown);
	for (let again = 0; again < 3; again++)
		assert.equal(await upload(server, `refused-${again}`), nothingStored);
	assert.equal(await upload(server, 'other', other), 201);
	disk.heal();
	await withinASecond('it is stored again', async () => (await upload(server, 'after')) === 201);
	assert.equal(await upload(server, 'failed'), 201);
	await server.kill('SIGTERM');
	assert.deepEqual(await stored(), ['before', 'after', 'failed']);
});

test('if a failed COMMIT can be undone at once, the answer says that nothing is stored, and it stays so', {
	skip,
}, async (t) => {
	for (let attempt = 1; ; attempt++) {
		const { folder, disk, serve, upload, stored } = await start(t);
		await using server = await serve();
		assert.equal(await upload(server, 'before'), 201);
		disk.failOnce(logFails);
		const outcome = await upload(server, 'failed');
		// It cannot be undone while background work reads what came before.
		if (outcome === unknown && attempt < 20) continue;
		assert.equal(outcome, nothingStored);
		assert.equal(await upload(server, 'after'), 201);
		await server.kill();
		disk.cutPower(folder);
		assert.deepEqual(await stored(), ['before', 'after']);
		return;
	}
});

test('what is acknowledged after a failed COMMIT survives a kill and a power cut', {
	skip,
}, async (t) => {
	const { folder, disk, serve, upload, stored } = await start(t);
	await using server = await serve();
	assert.equal(await upload(server, 'before'), 201);
	disk.fail(logFails);
	assert.equal(await upload(server, 'failed'), unknown);
	await server.kill();
	disk.heal();
	// Reads the log anew, including what was not made durable, and keeps the database open, so that nobody is the last
	// to close it.
	await using _ = await keepOpen(join(folder, 'accounts/1.sqlite'));
	await using restarted = await serve();
	assert.equal(await upload(restarted, 'after'), 201);
	await restarted.kill();
	disk.cutPower(folder);
	const tids = await stored();
	assert.deepEqual(
		tids.filter((tid) => tid !== 'failed'),
		['before', 'after'],
	);
});

test('a hit whose COMMIT fails is not reported as lost', { skip }, async (t) => {
	const { disk, client, serve, upload } = await start(t);
	await using server = await serve();
	assert.equal(await upload(server, 'before'), 201);
	disk.fail(logFails);
	const answer = await fetch(`${server.url}/hit`, {
		method: 'POST',
		headers: { 'content-type': 'application/json', 'user-agent': browserUserAgent },
		body: JSON.stringify({ aid: client.aid, url: 'https://shop.example/' }),
	});
	assert.equal(answer.status, 500);
	assert.match(await answer.text(), /outcome unknown; the hit may be stored/);
});

test('a command whose COMMIT fails says why', { skip }, async (t) => {
	const { folder, disk } = await start(t);
	disk.fail({ call: 'fsync', path: 'control.sqlite-wal', error: 'EIO' });
	const args = ['key', 'issue', '--client', 'acme', '--database', `sqlite:${folder}`];
	assertRefused(await caskadeProcess(args, disk.environment), /disk I\/O error/);
});
