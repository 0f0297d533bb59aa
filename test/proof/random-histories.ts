/**
 * `npm run proof:histories [SECONDS [SEED]]` plays random histories on each engine, for SECONDS (60) each, and compares what is
 * stored with what was sent, and everything that is derived with a model that is made anew from the log. Then it does the same
 * on a server in another process that is killed now and then. A failure is printed with its seed and as a short script; the
 * seed plays it again. `test/histories/histories.test.ts` is the short form.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { openStore } from '../../src/assembly/open-store.ts';
import { seededRandom } from '../../src/kit/random.ts';
import { ignoreEvents } from '../core/store/ignore-events.ts';
import { createDatabase, startPostgres } from '../core/store/postgres/server.ts';
import { type Compared, check } from '../histories/checking.ts';
import { type History, histories } from '../histories/history.ts';
import { KilledService } from '../histories/killed-service.ts';
import { Playing } from '../histories/playing.ts';
import type { Service } from '../histories/service.ts';
import { StoredService } from '../histories/stored-service.ts';

/** Histories of one seed. */
const perSeed = 10;
/** A failure is made shorter for so long. */
const shrinkMs = 60_000;

class Tally {
	histories = 0;
	kills = 0;
	readonly #compared: Compared = { hits: 0, events: 0, profiles: 0, figures: 0 };

	async play(history: History, service: Service): Promise<void> {
		const playing = new Playing(service);
		await playing.play(history);
		const compared = await check(service, playing);
		for (const name of ['hits', 'events', 'profiles', 'figures'] as const)
			this.#compared[name] += compared[name];
		this.histories++;
	}

	toString(): string {
		const { hits, events, profiles, figures } = this.#compared;
		return `${this.histories} histories, ${hits} hits, ${events} events and their owners, ${profiles} profiles, ${figures} figures of reports`;
	}
}

async function playInProcess(address: string, firstSeed: number, seconds: number): Promise<Tally> {
	const tally = new Tally();
	const store = await openStore(address);
	const writer = await store.startWriting(ignoreEvents);
	const untilMs = performance.now() + seconds * 1000;
	let number = 0;
	try {
		for (let seed = firstSeed; performance.now() < untilMs; seed++)
			await fc.assert(
				fc.asyncProperty(histories, async (history) => {
					const account = { aid: `c-a-proof-${number++}`, client: 'proof', origins: [] };
					const { id } = await store.control.createAccount(account, (made) =>
						store.createAccountDatabase(made),
					);
					await tally.play(history, new StoredService({ store, writer, accountId: id }));
				}),
				{ seed, numRuns: perSeed, interruptAfterTimeLimit: shrinkMs },
			);
	} finally {
		await writer.stop();
		await store.close();
	}
	return tally;
}

async function playWithKills(
	freshAddress: () => Promise<string>,
	seed: number,
	seconds: number,
): Promise<Tally> {
	const tally = new Tally();
	const random = seededRandom(seed);
	const untilMs = performance.now() + seconds * 1000;
	for (const history of fc.sample(histories, { seed, numRuns: 1000 })) {
		if (performance.now() > untilMs) break;
		await using service = await KilledService.start(await freshAddress(), random);
		try {
			await tally.play(history, service);
		} catch (error) {
			console.log(`after ${service.kills} kills:\n${fc.stringify(history)}`);
			throw error;
		}
		tally.kills += service.kills;
	}
	return tally;
}

const seconds = Number(process.argv[2] ?? 60);
const seed = Number(process.argv[3] ?? Date.now() % 1_000_000);
const server = await startPostgres();
const folder = mkdtempSync(join(tmpdir(), 'caskade-histories-'));
try {
	const engines = {
		sqlite: async () => `sqlite:${mkdtempSync(join(folder, 'data-'))}`,
		postgres: () => createDatabase(server),
	};
	for (const [engine, freshAddress] of Object.entries(engines)) {
		const played = await playInProcess(await freshAddress(), seed, seconds);
		console.log(`${engine}, from seed ${seed}: ${played}: all as the model says`);
		const killed = await playWithKills(freshAddress, seed, seconds);
		console.log(`${engine}, ${killed.kills} times kill -9: ${killed}: all as the model says`);
	}
} finally {
	await server.stop();
	rmSync(folder, { recursive: true });
}
