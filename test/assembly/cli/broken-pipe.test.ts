import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { openStore } from '../../../src/assembly/open-store.ts';
import { engines } from '../../core/store/engines.ts';
import { eventually } from '../../eventually.ts';
import { freePort } from '../../free-port.ts';
import { mainPath, ServeProcess, TestProcess } from '../../process.ts';
import { takesLong } from '../../quick.ts';
import { addClient, event } from '../../support.ts';

const hasFullDevice = existsSync('/dev/full');

/** A command with its output on a disk that is full. */
function intoFull(redirection: string, args: readonly string[]): TestProcess {
	return new TestProcess('/bin/sh', [
		'-c',
		`exec "$0" "$@" ${redirection}`,
		process.execPath,
		mainPath,
		...args,
	]);
}

/** Whether a process is there. */
function isAlive(pid: number): boolean {
	try {
		return process.kill(pid, 0);
	} catch {
		return false;
	}
}

for (const engine of engines)
	for (const args of engine.isFolder ? [[]] : [[], ['--workers', '2']])
		test(`a server keeps running when the reader of its output exits, and still stops on a signal: ${engine.name} ${args.join(' ')}`, {
			skip: takesLong,
		}, async (t) => {
			const address = await engine.installedAddress(t);
			const store = await openStore(address);
			const { aid, key } = await addClient(store);
			await store.close();
			await using first = await ServeProcess.start(['--database', address, ...args]);
			first.child.stdout?.destroy();
			first.child.stderr?.destroy();
			// What is refused is logged.
			assert.equal((await first.upload(key, { aid, data: [] })).status, 400);
			assert.equal((await first.upload(key, { aid, data: [event()] })).status, 201);
			first.child.kill('SIGTERM');
			assert.equal((await first.endsWithin(5000)).code, 0);
			// The first line that nobody reads is the one that says that it stops.
			await using second = await ServeProcess.start(['--database', address, ...args]);
			second.child.stderr?.destroy();
			second.child.kill('SIGTERM');
			assert.equal((await second.endsWithin(5000)).code, 0);
		});

test('workers exit when their primary, and with it the reader of their log, is killed', {
	skip: takesLong,
}, async (t) => {
	const address = (await engines[1]?.installedAddress(t)) as string;
	await using server = await ServeProcess.start(['--database', address, '--workers', '2']);
	const pids = [...server.stderr.matchAll(/"worker":\d,.*"pid":(\d+)/g)].map(([, pid]) => Number(pid));
	assert.equal(pids.length, 2);
	server.child.stderr?.destroy();
	await server.kill('SIGKILL');
	await eventually('both end', () => !pids.some(isAlive));
});

test('a server keeps running when nothing of its output can be written', {
	skip: !hasFullDevice,
}, async (t) => {
	const address = (await engines[0]?.installedAddress(t)) as string;
	const store = await openStore(address);
	const { aid, key } = await addClient(store);
	await store.close();
	const port = await freePort();
	const serve = ['serve', '--database', address, '--port', String(port), '--console-port', '0'];
	await using server = intoFull('>/dev/full 2>/dev/full', serve);
	const upload = (data: unknown[]) =>
		fetch(`http://127.0.0.1:${port}/subscription`, {
			method: 'POST',
			headers: { 'content-type': 'application/json', 'x-api-key': key },
			body: JSON.stringify({ aid, data }),
		}).then(
			({ status }) => status,
			() => 0,
		);
	await eventually('it serves', async () => (await upload([event()])) === 201);
	// What is refused is logged.
	for (let count = 0; count < 3; count++) assert.equal(await upload([]), 400);
	assert.equal(await upload([event()]), 201);
	server.child.kill('SIGTERM');
	assert.equal((await server.endsWithin(5000)).code, 0);
});

test('a command whose output cannot be written says so, and exits with 1', {
	skip: !hasFullDevice,
}, async (t) => {
	const address = (await engines[0]?.installedAddress(t)) as string;
	await using command = intoFull('>/dev/full', ['plan', 'list', '--database', address]);
	const { code, stderr } = await command.endsWithin(5000);
	assert.equal(stderr, 'caskade: Standard output cannot be written (ENOSPC).\n');
	assert.equal(code, 1);
});

test('a failing command exits with its code, even if nobody reads its error', async () => {
	await using command = new TestProcess(process.execPath, [mainPath, 'key', 'list', '--database', 'sqlite:']);
	command.child.stderr?.destroy();
	assert.equal((await command.endsWithin(5000)).code, 1);
});
