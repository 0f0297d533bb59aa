import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Balancer } from '../balancer.ts';
import { UploadLoad } from '../load.ts';
import { freePort, ServeProcess } from '../process.ts';
import { openFor } from '../store/engines.ts';
import { becomes } from '../store/postgres/service.ts';
import { freshPostgresDatabase } from '../store/postgres-server.ts';
import { addClient } from '../support.ts';

/** Several times as long as the balancer needs to find out, as an operator sets it. */
const drainDelayMs = 500;
const askEveryMs = 100;

test('two servers are restarted in turn under load: every request is answered 201, and stored once', async (t) => {
	const address = await freshPostgresDatabase();
	const store = await openFor(t, address);
	const { aid, key } = await addClient(store);
	const start = (port: number) =>
		ServeProcess.start([
			...['--database', address, '--port', String(port)],
			...['--drain-delay-ms', String(drainDelayMs)],
		]);
	const ports = [await freePort(), await freePort()];
	const servers = await Promise.all(ports.map(start));
	t.after(() => Promise.all(servers.map((server) => server.kill())));
	const urls = servers.map(({ url }) => url);
	await using balancer = await Balancer.start(urls, { askEveryMs });
	const allReady = () => urls.every((url) => balancer.isReady(url));
	await becomes('both are ready', 5000, allReady);

	const load = new UploadLoad({ url: balancer.url, key, aid, connections: 8, events: () => 2, pauseMs: 5 });
	await load.answered(50);
	for (const [number, server] of servers.entries()) {
		const [url, other] = [urls[number], urls[1 - number]] as [string, string];
		const beganMs = performance.now();
		assert.equal((await server.kill('SIGTERM')).code, 0);
		t.diagnostic(`server ${number} stopped in ${Math.round(performance.now() - beganMs)} ms`);
		assert.equal(balancer.isReady(url), false, 'the balancer had found out');
		const byOther = balancer.forwarded(other);
		await becomes('the other goes on alone', 5000, () => balancer.forwarded(other) > byOther + 20);
		servers[number] = await start(ports[number] as number);
		await becomes('both are ready again', 5000, allReady);
		const byNew = balancer.forwarded(url);
		await becomes('the new one has its share', 5000, () => balancer.forwarded(url) > byNew + 20);
	}
	await load.stop();

	assert.deepEqual(
		load.sent.filter(({ status, whole }) => status !== 201 || !whole),
		[],
		'no request failed',
	);
	t.diagnostic(`${load.sent.length} uploads`);
	const { id } = await store.control.account(aid);
	const stored = await store.read(id, (reader) => Array.fromAsync(reader.subscriptionEvents()));
	assert.deepEqual(stored.map(({ tid }) => tid).sort(), load.sent.flatMap(({ tids }) => tids).sort());
});
