/**
 * `npm run proof:disk [ROUNDS] [UPLOADS]` uploads to a data folder whose disk fails at random, with kills and power cuts.
 * Then it compares what clients were told with what is stored. `test/failing-disk.test.ts` is the short form.
 */
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '../../src/assembly/open-store.ts';
import { seededRandom } from '../../src/kit/random.ts';
import { storedEvents } from '../core/store/engines.ts';
import { type Fault, FaultyDisk } from '../faulty-disk.ts';
import { ServeProcess } from '../process.ts';
import { addClient } from '../support.ts';

const nothingStored = 'the store failed; nothing is stored, retrying is safe';
const unknown = 'outcome unknown; retrying is safe';

export interface ClientOutcomes {
	/** Uploads by what their clients were told. `nothing`: no answer, because the process ended. */
	readonly counts: Record<'stored' | 'not stored' | 'unknown' | 'nothing', number>;
	/** How many of the `unknown` and `nothing` uploads were stored. */
	storedUnacknowledged: number;
	/** How often a server ended by itself. */
	ended: number;
}

export async function failingDisk(options: {
	folder: string;
	rounds: number;
	/** Concurrent uploads in each step. */
	uploads: number;
	seed?: number;
	progress?: (round: number, total: ClientOutcomes) => void;
}): Promise<ClientOutcomes> {
	const random = seededRandom(options.seed ?? 1);
	const draw = <Choice>(choices: readonly Choice[]) =>
		choices[Math.floor(random() * choices.length)] as Choice;
	const folder = join(options.folder, 'data');
	const address = `sqlite:${folder}`;
	const store = await openStore(address);
	const { aid, key } = await addClient(store);
	await store.close();
	mkdirSync(join(options.folder, 'disk'));
	const disk = new FaultyDisk(join(options.folder, 'disk'));
	disk.adopt(folder);

	const total: ClientOutcomes = {
		counts: { stored: 0, 'not stored': 0, unknown: 0, nothing: 0 },
		storedUnacknowledged: 0,
		ended: 0,
	};
	const outcomes = new Map<string, keyof ClientOutcomes['counts']>();
	let sent = 0;
	const upload = async (server: ServeProcess) => {
		const name = `${sent++}-`;
		const data = Array.from({ length: 30 }, (_, row) => ({
			tid: `${name}${row}-`.padEnd(120, 'x'),
			subid: 's',
			evt: 'newsletter',
		}));
		const outcome = await server
			.upload(key, { aid, data })
			.then(async (answer) => {
				if (answer.status === 201) return 'stored';
				const { validationErrors } = (await answer.json()) as { validationErrors: string };
				assert.ok([nothingStored, unknown].includes(validationErrors), validationErrors);
				return validationErrors === unknown ? 'unknown' : 'not stored';
			})
			.catch((error) => {
				if (error instanceof assert.AssertionError) throw error;
				return 'nothing' as const;
			});
		outcomes.set(name, outcome);
		total.counts[outcome]++;
	};
	const breakSomething = () => {
		const fault: Fault = {
			call: draw(['fsync', 'fsync', 'write', 'truncate']),
			path: draw([
				'accounts/1.sqlite-wal',
				'accounts/1.sqlite-wal',
				'accounts/1.sqlite',
				'control.sqlite-wal',
			]),
			error: draw(['EIO', 'ENOSPC']),
		};
		if (draw([true, false])) disk.failOnce(fault);
		else disk.fail(fault);
	};
	const check = async () => {
		// Reads a copy, because opening a database changes its write-ahead log.
		const copy = join(options.folder, 'copy');
		cpSync(folder, copy, { recursive: true, filter: (path) => !path.endsWith('-shm') });
		const copied = await openStore(`sqlite:${copy}`);
		const rows = new Map<string, number>();
		for (const { tid } of await storedEvents(copied, 1)) {
			const name = tid.slice(0, tid.indexOf('-') + 1);
			rows.set(name, (rows.get(name) ?? 0) + 1);
		}
		await copied.close();
		rmSync(copy, { recursive: true });
		total.storedUnacknowledged = 0;
		for (const [name, outcome] of outcomes) {
			const stored = rows.get(name) ?? 0;
			assert.ok(stored === 0 || stored === 30, `upload ${name} is torn`);
			if (outcome === 'stored') assert.equal(stored, 30, `upload ${name} is lost`);
			else if (outcome === 'not stored') assert.equal(stored, 0, `upload ${name} is stored`);
			else if (stored > 0) total.storedUnacknowledged++;
		}
	};

	for (let round = 1; round <= options.rounds; round++) {
		if (draw([true, false, false])) breakSomething();
		let server = await ServeProcess.start(['--database', address], disk.environment).catch(() => undefined);
		if (!server) {
			disk.heal();
			server = await ServeProcess.start(['--database', address], disk.environment);
		}
		for (let step = 0; step < 6 && server.child.signalCode === null; step++) {
			await Promise.all(Array.from({ length: options.uploads }, () => upload(server)));
			if (draw([true, false])) breakSomething();
			else disk.heal();
		}
		if (server.child.signalCode !== null) total.ended++;
		await server.kill(draw(['SIGKILL', 'SIGTERM']));
		if (draw([true, false])) disk.cutPower(folder);
		await check();
		disk.heal();
		options.progress?.(round, total);
	}
	return total;
}

if (import.meta.main) {
	const [rounds = 50, uploads = 100] = process.argv.slice(2).map(Number);
	const folder = mkdtempSync(join(tmpdir(), 'caskade-proof-'));
	try {
		const total = await failingDisk({
			folder,
			rounds,
			uploads,
			seed: Date.now() & 0x7fff_ffff,
			progress: (round, { counts }) =>
				process.stderr.write(`round ${round} of ${rounds}: ${JSON.stringify(counts)}\n`),
		});
		console.log(JSON.stringify(total));
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}
