import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openStore } from '../../src/assembly/open-store.ts';
import { PostgresProxy } from '../core/store/postgres/proxy.ts';
import { startProxiedService } from '../core/store/postgres/service.ts';
import { freshPostgresDatabase } from '../core/store/postgres-server.ts';
import { caskade } from '../process.ts';
import { addClient, browserUserAgent, temporaryFolder } from '../support.ts';

/** What a command needs before it stores anything, and to fold what it has stored. */
const besides = 60;

// Batches of 100, 100, at least 25, 200, 200, 800 and so on, of nine round trips each at most: three are of background
// work, which is not queued twice.
const most = besides + 8 * 9;

for (const type of ['subscription', 'hit'])
	test(`an import of ${type}s from afar takes as few round trips as its batches allow`, async (t) => {
		const line = (n: number) => ({
			type,
			at: new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString(),
			...(type === 'hit'
				? { visitor: `user-${n % 700}` }
				: { tid: `T-${n}`, subid: `S-${n}`, evt: 'newsletter' }),
		});
		const path = join(temporaryFolder(t), 'history.ndjson');
		writeFileSync(path, Array.from({ length: 3000 }, (_, n) => JSON.stringify(line(n))).join('\n'));
		// The least of three: where another program takes the processor for a second, batches become smaller.
		const counts: number[] = [];
		do counts.push(await roundTripsOfImport(path));
		while (Math.min(...counts) > most && counts.length < 3);
		t.diagnostic(`${counts.join(', ')} round trips`);
		assert.ok(Math.min(...counts) <= most, `${counts.join(', ')} round trips`);
	});

async function roundTripsOfImport(path: string): Promise<number> {
	const address = await freshPostgresDatabase();
	const store = await openStore(address);
	const { aid } = await addClient(store);
	await store.close();
	await using proxy = await PostgresProxy.start(address);
	proxy.roundTripMs = 20;
	const { code, stderr } = await caskade(['import', aid, path, '--database', proxy.address]);
	assert.equal(code, 0, stderr);
	return proxy.roundTrips;
}

test('hits and uploads take few round trips', async (t) => {
	const { proxy, server, upload, acme } = await startProxiedService(t, await freshPostgresDatabase(), {});
	const roundTripsOf = async (what: string, send: () => Promise<unknown>) => {
		await send();
		// The least of five: polls for changes pass by, too.
		const counts: number[] = [];
		for (let n = 0; n < 5; n++) {
			proxy.roundTrips = 0;
			await send();
			counts.push(proxy.roundTrips);
		}
		t.diagnostic(`${what}: ${counts.join(', ')} round trips`);
		return Math.min(...counts);
	};
	let visitor = {};
	const hit = async () => {
		const answer = await fetch(`${server.url}/hit`, {
			method: 'POST',
			headers: { 'content-type': 'application/json', 'user-agent': browserUserAgent },
			body: JSON.stringify({ aid: acme.aid, ...visitor }),
		});
		assert.equal(answer.status, 200);
		visitor = (await answer.json()) as object;
	};
	assert.ok((await roundTripsOf('a hit', hit)) <= 4);
	const firstHit = () => {
		visitor = { seed: randomBytes(16).toString('hex') };
		return hit();
	};
	assert.ok((await roundTripsOf('the first hit of a seed', firstHit)) <= 4);
	let tid = 0;
	// The tokens of its key, its events, and COMMIT.
	assert.ok((await roundTripsOf('an upload', () => upload([`T-${tid++}`]))) <= 3);
});
