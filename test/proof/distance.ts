/**
 * `npm run proof:distance [ROWS] [imports|requests]` measures how Caskade copes with a PostgreSQL server that is a network away: imports of
 * subscriptions and of hits at round trips of 1, 5 and 50 ms, uploads of 30 events over 64 connections at 5 ms, and hits
 * and reads one at a time. `distance.test.ts` is the short form, which counts round trips.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { percentile } from '../../bench/percentile.ts';
import { openStore } from '../../src/assembly/open-store.ts';
import { hourMs } from '../../src/core/durations.ts';
import { PostgresProxy } from '../core/store/postgres/proxy.ts';
import { createDatabase, startPostgres } from '../core/store/postgres/server.ts';
import { UploadLoad } from '../load.ts';
import { mainPath, ServeProcess, TestProcess } from '../process.ts';
import { addClient, browserUserAgent } from '../support.ts';

const rows = Number(process.argv[2] ?? 20_000);
const only = process.argv[3];
/** Round trips in milliseconds, and the rows a second that an import should reach. */
const distances = [
	[1, 4000],
	[5, 3000],
	[50, 1500],
] as const;
const eventsPerUpload = 30;
const folder = mkdtempSync(join(tmpdir(), 'caskade-distance-'));

function fileOf(name: string, line: (index: number) => object): string {
	const path = join(folder, name);
	const startMs = Date.now() - 2000 * hourMs;
	const lines = Array.from({ length: rows }, (_, index) =>
		JSON.stringify({ at: new Date(startMs + index * 1000).toISOString(), ...line(index) }),
	);
	writeFileSync(path, lines.join('\n'));
	return path;
}

const files = {
	subscriptions: fileOf('subscriptions.ndjson', (index) => ({
		type: 'subscription',
		tid: `T-${index}`,
		subid: `S-${index % 5000}`,
		evt: 'newsletter',
		rvn: 499,
	})),
	hits: fileOf('hits.ndjson', (index) => ({
		type: 'hit',
		visitor: `user-${Math.floor(index / 5)}`,
		url: `https://shop.example/${index % 50}`,
	})),
};

async function measureImports(address: string): Promise<void> {
	await using proxy = await PostgresProxy.start(address);
	for (const [roundTripMs, aim] of distances) {
		const store = await openStore(address);
		const { aid } = await addClient(store, { client: `far-${roundTripMs}` });
		await store.close();
		for (const [what, file] of Object.entries(files)) {
			proxy.roundTripMs = roundTripMs;
			proxy.roundTrips = 0;
			const beganMs = performance.now();
			const args = [mainPath, 'import', aid, file, '--database', proxy.address];
			const { code, stderr } = await new TestProcess(process.execPath, args).ended;
			if (code !== 0) throw new Error(stderr);
			const seconds = (performance.now() - beganMs) / 1000;
			process.stdout.write(
				`import of ${rows} ${what} at ${roundTripMs} ms: ${(rows / seconds).toFixed(0)} a second (aim ${aim}), ${seconds.toFixed(1)} s, ${proxy.roundTrips} round trips\n`,
			);
		}
	}
}

async function measureRequests(address: string): Promise<void> {
	await using proxy = await PostgresProxy.start(address);
	const store = await openStore(address);
	const { aid, key } = await addClient(store);
	await store.close();
	await using server = await ServeProcess.start([
		'--database',
		proxy.address,
		'--hits-per-visitor',
		'100000',
	]);
	for (const [roundTripMs] of distances) {
		proxy.roundTripMs = roundTripMs;
		const load = new UploadLoad({
			url: server.url,
			key,
			aid,
			connections: 64,
			events: () => eventsPerUpload,
		});
		const before = performance.now();
		await delay(5000);
		await load.stop();
		const seconds = (performance.now() - before) / 1000;
		const stored = load.withStatus(201).length;
		process.stdout.write(
			`uploads of ${eventsPerUpload} at ${roundTripMs} ms, 64 connections: ${(stored / seconds).toFixed(0)} requests a second, ${((stored * eventsPerUpload) / seconds).toFixed(0)} events a second, ${load.sent.length - stored} not stored\n`,
		);
		let visitor: { vid?: string; sid?: string; cask?: string } = {};
		for (const kind of ['first hit', 'later hit', 'read'] as const) {
			const tookMs: number[] = [];
			for (let n = 0; n < 60; n++) {
				const sentMs = performance.now();
				const answer =
					kind === 'read'
						? await fetch(`${server.url}/visscores?cask=${visitor.cask}`)
						: await fetch(`${server.url}/hit`, {
								method: 'POST',
								headers: { 'content-type': 'application/json', 'user-agent': browserUserAgent },
								body: JSON.stringify({ aid, vid: visitor.vid, sid: visitor.sid }),
							});
				const body = await answer.text();
				tookMs.push(performance.now() - sentMs);
				if (kind === 'read') continue;
				if (answer.status !== 200) throw new Error(body);
				if (kind === 'later hit') visitor = JSON.parse(body);
			}
			const p50 = percentile(tookMs, 0.5);
			process.stdout.write(
				`${kind} at ${roundTripMs} ms: p50 ${p50.toFixed(1)} ms, ${(p50 / roundTripMs).toFixed(1)} round trips\n`,
			);
		}
	}
}

const postgres = await startPostgres();
try {
	if (only !== 'requests') await measureImports(await createDatabase(postgres));
	if (only !== 'imports') await measureRequests(await createDatabase(postgres));
} finally {
	await postgres.stop();
	rmSync(folder, { recursive: true, force: true });
}
