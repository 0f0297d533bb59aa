/**
 * `npm run proof:mixed [SECONDS]` simulates visitors who log in, look at pages and check out while their sales are uploaded,
 * on each engine. Then it compares all answers with what is stored. `test/mixed.test.ts` is the short form.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { percentile } from '../../bench/percentile.ts';
import { openStore } from '../../src/assembly/open-store.ts';
import { createDatabase, startPostgres } from '../core/store/postgres/server.ts';
import { MixedLoad } from '../mixed-load.ts';
import { ServeProcess } from '../process.ts';
import { addClient } from '../support.ts';

export interface MixedShape {
	readonly address: string;
	readonly workers: number;
	readonly visitors: number;
	readonly withOthers?: boolean;
	/** Duration of the load; alternatively, `sessions` per visitor. */
	readonly seconds?: number;
	readonly sessions?: number;
}

/** Runs one load on an empty database. @throws AssertionError if an answer was an error or was wrong */
export async function mixedLoad(shape: MixedShape): Promise<{ load: MixedLoad; seconds: number }> {
	const { address, workers } = shape;
	const store = await openStore(address);
	try {
		const { aid, key } = await addClient(store);
		const { id: accountId } = await store.control.account(aid);
		const free = ['--hits-per-address', '1000000', '--hits-per-visitor', '1000000'];
		const many = workers > 1 ? ['--workers', String(workers)] : [];
		await using server = await ServeProcess.start(['--database', address, ...free, ...many]);
		const { url } = server;
		const load = new MixedLoad({ url, aid, key, store, accountId, ...shape });
		const beganMs = performance.now();
		const over = load.run(shape.sessions);
		if (shape.seconds !== undefined) {
			await delay(shape.seconds * 1000);
			load.stop();
		}
		await over;
		const seconds = (performance.now() - beganMs) / 1000;
		await server.kill('SIGTERM');
		await load.check();
		return { load, seconds };
	} finally {
		await store.close();
	}
}

/** Number of deadlocks that PostgreSQL has resolved in a database. */
export async function deadlocksOf(address: string): Promise<number> {
	const client = new pg.Client({ connectionString: address });
	await client.connect();
	try {
		const { rows } = await client.query(
			'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
		);
		return Number(rows[0].deadlocks);
	} finally {
		await client.end();
	}
}

async function print(name: string, shape: MixedShape): Promise<void> {
	const { load, seconds } = await mixedLoad(shape);
	const deadlocks = shape.address.startsWith('postgres')
		? `, ${await deadlocksOf(shape.address)} deadlocks`
		: '';
	const { hits, uploads, reads, imports, erasures, hitLatenciesMs, uploadLatenciesMs } = load;
	const withOthers = shape.withOthers ? `, ${reads} reads, ${imports} imports, ${erasures} erasures` : '';
	console.log(
		`${name}: ${Math.round(hits / seconds)} hits/s (p50 ${percentile(hitLatenciesMs, 0.5).toFixed(0)} ms, p99 ${percentile(hitLatenciesMs, 0.99).toFixed(0)} ms), ` +
			`${Math.round(uploads / seconds)} uploads/s (p50 ${percentile(uploadLatenciesMs, 0.5).toFixed(0)} ms, p99 ${percentile(uploadLatenciesMs, 0.99).toFixed(0)} ms)` +
			`${withOthers}${deadlocks}; all answered with success, and stored as answered`,
	);
}

if (import.meta.main) {
	const seconds = Number(process.argv[2] ?? 15);
	const server = await startPostgres();
	const folder = mkdtempSync(join(tmpdir(), 'caskade-mixed-'));
	try {
		const addresses = {
			sqlite: async () => `sqlite:${mkdtempSync(join(folder, 'data-'))}`,
			postgres: () => createDatabase(server),
		};
		for (const [engine, fresh] of Object.entries(addresses)) {
			await print(`${engine}, 4 visitors`, { address: await fresh(), workers: 1, visitors: 4, seconds });
			const all = { workers: 1, visitors: 4, withOthers: true, seconds };
			await print(`${engine}, 4 visitors and all else`, { address: await fresh(), ...all });
		}
		for (const withOthers of [false, true]) {
			const address = await addresses.postgres();
			const name = `postgres, 128 visitors, 4 workers${withOthers ? ' and all else' : ''}`;
			await print(name, { address, workers: 4, visitors: 128, withOthers, seconds });
		}
	} finally {
		await server.stop();
		rmSync(folder, { recursive: true });
	}
}
