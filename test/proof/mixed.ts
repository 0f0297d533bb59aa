/**
 * `npm run proof:mixed [SECONDS]`: visitors who log in, look at pages and check out while the uploads of their sales
 * arrive, on each engine; then everything that was answered is compared with what is stored. `test/mixed.test.ts` has the
 * short form.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { openStore } from '../../src/store/open.ts';
import { MixedLoad } from '../mixed-load.ts';
import { ServeProcess } from '../process.ts';
import { createDatabase, startPostgres } from '../store/postgres/server.ts';
import { addClient } from '../support.ts';

export interface MixedShape {
	readonly address: string;
	readonly workers: number;
	readonly visitors: number;
	readonly besides?: boolean;
	/** How long it goes on, or how many sessions each visitor has. */
	readonly seconds?: number;
	readonly sessions?: number;
}

/** Runs one load on an empty database. @throws AssertionError where an answer was an error, or not the truth */
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

/** Transactions that the server has ended because they waited for each other. */
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

function percentile(times: number[], share: number): number {
	return Math.round(times.sort((a, b) => a - b)[Math.floor(times.length * share)] ?? 0);
}

async function print(name: string, shape: MixedShape): Promise<void> {
	const { load, seconds } = await mixedLoad(shape);
	const deadlocks = shape.address.startsWith('postgres')
		? `, ${await deadlocksOf(shape.address)} deadlocks`
		: '';
	const { hits, uploads, reads, imports, erasures, hitTimes, uploadTimes } = load;
	const besides = shape.besides ? `, ${reads} reads, ${imports} imports, ${erasures} erasures` : '';
	console.log(
		`${name}: ${Math.round(hits / seconds)} hits/s (p50 ${percentile(hitTimes, 0.5)} ms, p99 ${percentile(hitTimes, 0.99)} ms), ` +
			`${Math.round(uploads / seconds)} uploads/s (p50 ${percentile(uploadTimes, 0.5)} ms, p99 ${percentile(uploadTimes, 0.99)} ms)` +
			`${besides}${deadlocks}; all answered with success, and stored as answered`,
	);
}

if (import.meta.main) {
	const seconds = Number(process.argv[2] ?? 15);
	const server = await startPostgres();
	const folder = mkdtempSync(join(tmpdir(), 'caskade-mixed-'));
	try {
		const places = {
			sqlite: async () => `sqlite:${mkdtempSync(join(folder, 'data-'))}`,
			postgres: () => createDatabase(server),
		};
		for (const [engine, fresh] of Object.entries(places)) {
			await print(`${engine}, 4 visitors`, { address: await fresh(), workers: 1, visitors: 4, seconds });
			const all = { workers: 1, visitors: 4, besides: true, seconds };
			await print(`${engine}, 4 visitors and all else`, { address: await fresh(), ...all });
		}
		for (const besides of [false, true]) {
			const address = await places.postgres();
			const name = `postgres, 128 visitors, 4 workers${besides ? ' and all else' : ''}`;
			await print(name, { address, workers: 4, visitors: 128, besides, seconds });
		}
	} finally {
		await server.stop();
		rmSync(folder, { recursive: true });
	}
}
