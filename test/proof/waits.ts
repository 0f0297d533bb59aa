/**
 * `npm run proof:waits [LINES]` measures how long uploads wait beside other work in the same account: none; forty hits at
 * once for a visitor with 60,000 hits, after the clock was set back; the import of a shuffled file; the rebuild of that
 * visitor's profile; its erasure. The figures depend on the machine and on what else runs there.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { percentile } from '../../bench/percentile.ts';
import { openStore } from '../../src/assembly/open-store.ts';
import { dayMs } from '../../src/core/durations.ts';
import { seededRandom } from '../../src/kit/random.ts';
import { addLongLog, longLogVid } from '../core/store/long-log.ts';
import { createDatabase, startPostgres } from '../core/store/postgres/server.ts';
import { mainPath, ServeProcess, TestProcess } from '../process.ts';
import { addClient, browserUserAgent, event } from '../support.ts';

const lines = Number(process.argv[2] ?? 100_000);
const longHits = 60_000;

/** A shuffled history. A quarter of the hits is of one visitor; the others are spread over many visitors. */
function historyFile(folder: string): string {
	const random = seededRandom(1);
	const startMs = Date.now() - 90 * dayMs;
	const all = Array.from({ length: lines }, (_, index) => {
		const visitor = index % 4 === 0 ? 'busy' : `user-${Math.floor(index / 5)}`;
		const at = new Date(startMs + index * 1000 + (index % 5) * 600_000).toISOString();
		return [
			random(),
			JSON.stringify({ type: 'hit', at, visitor, url: `https://shop.example/${index % 50}` }),
		] as const;
	});
	const path = join(folder, 'history.ndjson');
	writeFileSync(
		path,
		all
			.sort(([a], [b]) => a - b)
			.map(([, line]) => line)
			.join('\n'),
	);
	return path;
}

async function measure(name: string, address: string, folder: string): Promise<void> {
	const store = await openStore(address);
	const { aid, key } = await addClient(store);
	const { id } = await store.control.account(aid);
	await addLongLog(store, id, longHits, Date.now() + 600_000);
	await using server = await ServeProcess.start(['--database', address, '--hits-per-visitor', '1000']);
	const during = async (what: string, work: () => Promise<unknown>) => {
		const waits: number[] = [];
		let isOver = false;
		const over = work().finally(() => {
			isOver = true;
		});
		const beganMs = performance.now();
		while (!isOver) {
			const sentMs = performance.now();
			const { status } = await server.upload(key, { aid, data: [event()] });
			waits.push(performance.now() - sentMs);
			if (status !== 201) process.stdout.write(`${name}, ${what}: an upload got ${status}\n`);
			await delay(2);
		}
		const seconds = ((performance.now() - beganMs) / 1000).toFixed(1);
		await over;
		const at = (share: number) => percentile(waits, share).toFixed(1);
		process.stdout.write(
			`${name}, ${what}: ${waits.length} uploads in ${seconds} s waited p50 ${at(0.5)}, p99 ${at(0.99)}, at most ${at(1)} ms\n`,
		);
	};
	const command = (...args: string[]) =>
		new TestProcess(process.execPath, [mainPath, ...args, '--database', address]).ended.then(
			({ code, stderr }) => {
				if (code !== 0) throw new Error(stderr);
			},
		);
	const fire = () =>
		fetch(`${server.url}/hit`, {
			method: 'POST',
			headers: { 'content-type': 'application/json', 'user-agent': browserUserAgent },
			body: JSON.stringify({ aid, vid: longLogVid }),
		});
	await during('nothing else', () => delay(3000));
	await during('forty hits at once, until they are folded', async () => {
		await Promise.all(Array.from({ length: 40 }, fire));
		while ((await store.waiting(id)) > 0) await delay(20);
	});
	await during(`an import of ${lines} lines`, () => command('import', aid, historyFile(folder)));
	await during('visitor rebuild', () => command('visitor', 'rebuild', aid));
	await during('visitor erase', () => command('visitor', 'erase', aid, longLogVid, '--yes'));
	await store.close();
}

const folder = mkdtempSync(join(tmpdir(), 'caskade-waits-'));
try {
	await measure('sqlite', `sqlite:${join(folder, 'data')}`, folder);
	const postgres = await startPostgres();
	try {
		await measure('postgres', await createDatabase(postgres), folder);
	} finally {
		await postgres.stop();
	}
} finally {
	rmSync(folder, { recursive: true, force: true });
}
