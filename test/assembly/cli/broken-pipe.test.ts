import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openStore } from '../../../src/assembly/open-store.ts';
import { engines } from '../../core/store/engines.ts';
import { eventually } from '../../eventually.ts';
import { mainPath, ServeProcess, TestProcess } from '../../process.ts';
import { takesLong } from '../../quick.ts';
import { addClient, event } from '../../support.ts';

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
			skip: !engine.isFolder && takesLong,
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

test('a failing command exits with its code, even if nobody reads its error', async () => {
	await using command = new TestProcess(process.execPath, [mainPath, 'key', 'list', '--database', 'sqlite:']);
	command.child.stderr?.destroy();
	assert.equal((await command.endsWithin(5000)).code, 1);
});
