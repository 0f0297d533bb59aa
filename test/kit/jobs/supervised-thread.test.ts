import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { startBackground } from '../../../src/assembly/jobs/start-background.ts';
import { openStore } from '../../../src/assembly/open-store.ts';
import { takeControlAway } from '../../core/store/damage.ts';
import { enginesAboveContract } from '../../core/store/engines.ts';
import { eventually } from '../../eventually.ts';
import { collectLog } from '../../support.ts';

for (const engine of enginesAboveContract)
	test(`a thread that dies is restarted and logged: ${engine.name}`, async (t) => {
		const address = await engine.freshAddress(t);
		const store = await openStore(address);
		// Whoever works on this account says so, since its database is missing.
		await store.control.createAccount({ aid: 'c-a-lost', client: 'x', origins: [] }, async () => {});
		await store.close();
		const giveBack = await takeControlAway(t, address);
		const logged: string[] = [];
		const log = collectLog(logged);
		const work = { followsLog: true, keepsScores: true, trainEveryMs: 60_000, keepHitsDays: 1 };
		const background = startBackground({ database: address }, work, log);
		t.after(() => background.stop());
		const said = (text: string) => logged.some((line) => line.includes(text));
		await eventually('it has died', () => said('"msg":"background work failed, starting again"'));
		await giveBack();
		for (const name of ['retention', 'training'])
			await eventually(`${name} goes on`, () => said(`"msg":"${name} failed"`), 4000);
	});

test('background work that waits for a vanished database is cut off when it is stopped', async (t) => {
	const silent = createServer().listen(0, '127.0.0.1');
	t.after(() => silent.close());
	await once(silent, 'listening');
	const { port } = silent.address() as { port: number };
	const place = { database: `postgres://user:password@127.0.0.1:${port}/caskade` };
	const background = startBackground(place, { followsLog: true, keepsScores: false }, collectLog([]), {
		endWithinMs: 100,
	});
	background.fold(1);
	const [socket] = (await once(silent, 'connection')) as [Socket];
	// Logs everybody in, is ready, and answers no query.
	const ready = Buffer.from('5200000008000000005a0000000549', 'hex');
	await once(socket, 'data');
	socket.write(ready);
	await once(socket, 'data');
	const beganMs = performance.now();
	const stopped = background.stop();
	assert.equal(background.stop(), stopped);
	await stopped;
	assert.ok(performance.now() - beganMs < 10_000, 'less than without `endWithinMs`');
	socket.destroy();
});
