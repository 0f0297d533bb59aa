import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import pg from 'pg';
import { openStore } from '../../src/assembly/open-store.ts';
import { subscriptionEvents } from '../../src/core/store/account/reading/stored-events.ts';
import { checkServedWebhook } from '../capabilities/webhooks/served.ts';
import { everyContract } from '../core/store/contract/every-contract.ts';
import { addAccount, startWritingFor } from '../core/store/engines.ts';
import {
	clusterEngine,
	freshClusterDatabase,
	withoutCluster,
	workersOf,
} from '../core/store/real-cluster.ts';
import { eventually } from '../eventually.ts';
import { check } from '../histories/checking.ts';
import { histories } from '../histories/history.ts';
import { Playing } from '../histories/playing.ts';
import { SpreadService } from '../histories/spread-service.ts';
import { StoredService } from '../histories/stored-service.ts';
import { UploadLoad } from '../load.ts';
import { ServeProcess } from '../process.ts';
import { addClient, type Client } from '../support.ts';

// `CASKADE_TEST_CLUSTER=postgres://… npm run proof:cluster` runs these on a Citus cluster.
if (withoutCluster) test('the contract on a real cluster', { skip: withoutCluster }, () => {});
else everyContract(clusterEngine);

/** Nobody listens there. */
const nowhere = '127.0.0.1:1';
const playMs = Number(process.env.PLAY_SECONDS ?? 60) * 1000;

test('servers whose maps differ, and accounts that move meanwhile: owners, profiles and reports are those of a model', {
	skip: withoutCluster,
	timeout: playMs * 10 + 300_000,
}, async (t) => {
	const address = await freshClusterDatabase();
	const workers = await workersOf(address);
	const names = workers.map((worker) => new URL(worker.address).host);
	const errors: string[] = [];
	const open = async (nodeAddress: Readonly<Record<string, string>>) => {
		const store = await openStore(address, { nodeAddress });
		const onError = (database: string, reason: string) => errors.push(`${database}: ${reason}`);
		const writer = await startWritingFor(t, store, { onError });
		t.after(() => store.close());
		return { store, writer };
	};
	// Each looks at another time where accounts lie; the last asks the coordinator.
	const servers = [await open({})];
	await delay(1500);
	servers.push(await open({}), await open(Object.fromEntries(names.map((name) => [name, nowhere]))));
	let [played, moves] = [0, 0];
	const untilMs = performance.now() + playMs;
	for (const history of fc.sample(histories, 1000)) {
		if (performance.now() > untilMs) break;
		const accountId = await addAccount(servers[0]?.store as (typeof servers)[0]['store']);
		const [first, ...others] = servers.map((server) => new StoredService({ ...server, accountId }));
		const service = new SpreadService([first as StoredService, ...others], Math.random);
		const playing = new Playing(service);
		let isPlaying = true;
		const moving = (async () => {
			for (let next = 0; isPlaying; next++) {
				await workers[next % workers.length]?.move(accountId).then(
					() => moves++,
					(error) => errors.push(String(error)),
				);
				await delay(200);
			}
		})();
		try {
			await playing.play(history);
		} finally {
			isPlaying = false;
			await moving;
		}
		await check(service, playing);
		played++;
	}
	t.diagnostic(`${played} histories, ${moves} moves; ${[...new Set(errors)].join(' | ')}`);
	assert.ok(played > 0 && moves > 0);
});

test('on a cluster, webhooks are told of hits, goals and conflicts', { skip: withoutCluster }, async () =>
	checkServedWebhook(await freshClusterDatabase()),
);

/** Kills a process of a node as a crash does: the node ends all others and recovers from its log. */
async function crashNode(address: string): Promise<void> {
	const session = new pg.Client({ connectionString: address });
	session.on('error', () => {});
	await session.connect();
	await session.query("COPY (SELECT) TO PROGRAM 'kill -KILL $PPID'").catch(() => {});
	await session.end().catch(() => {});
}

const kills = Number(process.env.KILLS ?? 12);

test('servers and nodes are killed under load: what was acknowledged is stored, and no upload is torn', {
	skip: withoutCluster,
	timeout: kills * 60_000 + 120_000,
}, async (t) => {
	const address = await freshClusterDatabase();
	const workers = await workersOf(address);
	const store = await openStore(address);
	t.after(() => store.close());
	const clients: Client[] = [];
	for (const client of ['a', 'b', 'c', 'd']) clients.push(await addClient(store, { client }));
	const start = () => ServeProcess.start(['--database', address]);
	const servers = [await start(), await start()];
	t.after(() => Promise.all(servers.map((server) => server.kill())));
	const loads = new Map(clients.map((client) => [client, [] as UploadLoad[]]));
	const killed: string[] = [];
	for (let round = 0; round < kills; round++) {
		const now = servers.flatMap(({ url }, at) =>
			clients.map((client) => ({ at, client, load: new UploadLoad({ url, ...client, connections: 2 }) })),
		);
		for (const { client, load } of now) loads.get(client)?.push(load);
		await Promise.all(now.map(({ load }) => load.answered(3)));
		await delay(Math.random() * 500);
		const which = round % (2 + workers.length);
		if (which === 0) {
			killed.push('server');
			await servers[0]?.kill('SIGKILL');
			servers[0] = await start();
		} else {
			killed.push(which === 1 ? 'coordinator' : `worker ${which - 1}`);
			await crashNode(which === 1 ? address : String(workers[which - 2]?.address));
			await delay(1000);
		}
		await Promise.all(now.map(({ load }) => load.stop()));
		for (const [at, server] of servers.entries())
			for (const { aid, key, client } of clients)
				await eventually(
					'uploads are stored again',
					async () => {
						const data = [{ tid: `R-${round}-${at}-${client}`, subid: 's', evt: 'e' }];
						return (await server.upload(key, { aid, data })).status === 201;
					},
					20_000,
				);
		for (const [{ aid }, sent] of loads) {
			const { id } = await store.control.account(aid);
			const stored = new Set(await Array.fromAsync(subscriptionEvents(store, id), ({ tid }) => tid));
			for (const { status, tids } of sent.flatMap((load) => load.sent)) {
				const found = tids.filter((tid) => stored.has(tid)).length;
				if (status === 201) assert.equal(found, tids.length, `${tids[0]} was acknowledged`);
				else assert.ok(found === 0 || found === tids.length, `${tids[0]} is torn`);
			}
		}
	}
	const all = [...loads.values()].flat().flatMap((load) => load.sent);
	const counts = Object.entries(Object.groupBy(all, ({ status }) => String(status)));
	t.diagnostic(
		`${killed}; uploads by status: ${counts.map(([status, some]) => `${status} ${some?.length}`)}`,
	);
});
