import { subscriptionEvents } from '../../src/core/store/account/reading/stored-events.ts';
/**
 * `npm run proof:restart [ROUNDS]` runs two servers on one PostgreSQL behind a real HAProxy, which must be installed, with
 * the configuration of `deploy/compose/`. Each round restarts both in turn under load. Every request must be answered with
 * 201 and stored once. `rolling-restart.test.ts` is the short form, with a simple balancer.
 */

import assert from 'node:assert/strict';
import { openStore } from '../../src/assembly/open-store.ts';
import { Balancer, type LoadBalancer } from '../balancer.ts';
import { createDatabase, startPostgres } from '../core/store/postgres/server.ts';
import { becomes } from '../core/store/postgres/service.ts';
import { freePort } from '../free-port.ts';
import { Haproxy } from '../haproxy.ts';
import { UploadLoad } from '../load.ts';
import { ServeProcess } from '../process.ts';
import { addClient } from '../support.ts';

const withinMs = 15_000;

/** The balancers to test with. */
export const balancers = {
	'checking 10 times a second': (urls: readonly string[]) => Balancer.start(urls, { pollEveryMs: 100 }),
	HAProxy: (urls: readonly string[]) => Haproxy.start(urls),
} satisfies Record<string, (urls: readonly string[]) => Promise<LoadBalancer>>;

/**
 * Restarts the servers in turn under load.
 * @returns the number of uploads
 * @throws AssertionError if a request failed or is not stored exactly once
 */
export async function rollingRestarts(options: {
	address: string;
	balancer: keyof typeof balancers;
	/** Several times as long as the balancer needs to notice that a server is not ready. */
	drainDelayMs: number;
	rounds: number;
	onRestart?: (server: number, stoppedInMs: number) => void;
}): Promise<{ uploads: number }> {
	const { address, drainDelayMs } = options;
	await using atEnd = new AsyncDisposableStack();
	const store = await openStore(address);
	atEnd.defer(() => store.close());
	const { aid, key } = await addClient(store);
	const start = async (port: number) => {
		const delay = ['--drain-delay-ms', String(drainDelayMs)];
		return atEnd.use(await ServeProcess.start(['--database', address, '--port', String(port), ...delay]));
	};
	const ports = [await freePort(), await freePort()];
	const servers = await Promise.all(ports.map(start));
	const urls = servers.map(({ url }) => url);
	const balancer = atEnd.use(await balancers[options.balancer](urls));
	const bothReady = () => urls.every((url) => balancer.isReady(url));
	await becomes('both are ready', withinMs, bothReady);

	const load = new UploadLoad({ url: balancer.url, key, aid, connections: 6, events: () => 2, pauseMs: 20 });
	atEnd.defer(() => load.stop());
	await load.answered(50);
	for (let restart = 0; restart < 2 * options.rounds; restart++) {
		const number = restart % 2;
		const [url, other] = [urls[number], urls[1 - number]] as [string, string];
		const beganMs = performance.now();
		assert.equal((await (servers[number] as ServeProcess).kill('SIGTERM')).code, 0);
		options.onRestart?.(number, Math.round(performance.now() - beganMs));
		assert.equal(balancer.isReady(url), false, 'the balancer noticed in time');
		const byOther = balancer.forwarded(other);
		await becomes(
			'the other server takes all requests',
			withinMs,
			() => balancer.forwarded(other) > byOther + 20,
		);
		servers[number] = await start(ports[number] as number);
		await becomes('both are ready again', withinMs, bothReady);
		const byNew = balancer.forwarded(url);
		await becomes('the new server gets requests', withinMs, () => balancer.forwarded(url) > byNew + 20);
	}
	await load.stop();

	const failed = load.sent.filter(({ status, whole }) => status !== 201 || !whole);
	assert.deepEqual(failed, [], 'no request failed');
	const { id } = await store.control.account(aid);
	const stored = await Array.fromAsync(subscriptionEvents(store, id));
	assert.deepEqual(stored.map(({ tid }) => tid).sort(), load.sent.flatMap(({ tids }) => tids).sort());
	return { uploads: load.sent.length };
}

if (import.meta.main) {
	const rounds = Number(process.argv[2] ?? 3);
	const server = await startPostgres();
	try {
		const { uploads } = await rollingRestarts({
			address: await createDatabase(server),
			balancer: 'HAProxy',
			drainDelayMs: 5000,
			rounds,
			onRestart: (number, stoppedInMs) => console.log(`server ${number + 1} stopped in ${stoppedInMs} ms`),
		});
		console.log(`${2 * rounds} restarts under load: ${uploads} uploads, each answered 201 and stored once.`);
	} finally {
		await server.stop();
	}
}
