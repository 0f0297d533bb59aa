import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { openStore } from '../../src/store/open.ts';
import { check } from '../histories/checking.ts';
import { histories } from '../histories/history.ts';
import { Playing } from '../histories/playing.ts';
import { SpreadService } from '../histories/spread-service.ts';
import { StoredService } from '../histories/stored-service.ts';
import { everyContract } from '../store/contract/every-contract.ts';
import { addAccount, startWritingFor } from '../store/engines.ts';
import { clusterEngine, freshClusterDatabase, withoutCluster, workersOf } from '../store/real-cluster.ts';

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
