/**
 * `npm run proof:crash [ROUNDS [WORKERS]]` uploads on many connections, kills the server with SIGKILL at a random moment,
 * restarts it and counts what is stored. All rounds use the same data folder. `test/crash.test.ts` is the short form.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openStore } from '../../src/assembly/open-store.ts';
import { subscriptionEvents } from '../../src/core/store/account/reading/stored-events.ts';
import type { OpenStore } from '../../src/core/store/store.ts';
import { type SentUpload, UploadLoad } from '../load.ts';
import { ServeProcess, withinASecond } from '../process.ts';
import { addClient, event } from '../support.ts';

/** Maximum number of requests of a quota that a crash may forfeit. */
const maxForfeited = 100;

export interface CrashRound {
	readonly acknowledged: number;
	/** Uploads in flight when the server was killed. */
	readonly unanswered: number;
	/** How many of the unanswered uploads were stored. */
	readonly storedUnanswered: number;
	/** Requests that the crash forfeited from quotas. */
	readonly forfeited: number;
}

interface Client {
	readonly client: string;
	readonly aid: string;
	readonly key: string;
}

async function storedTids(store: OpenStore, aid: string): Promise<Set<string>> {
	const { id } = await store.control.account(aid);
	const tids = await Array.fromAsync(subscriptionEvents(store, id), ({ tid }) => tid);
	assert.equal(new Set(tids).size, tids.length, 'no tid is stored twice');
	return new Set(tids);
}

/** Checks that each upload is stored completely or not at all, and completely if it was acknowledged. */
function checkUploads(
	sent: readonly SentUpload[],
	stored: ReadonlySet<string>,
): { storedUnanswered: number } {
	let storedUnanswered = 0;
	for (const { status, tids } of sent) {
		const found = tids.filter((tid) => stored.has(tid)).length;
		if (status === 201) assert.equal(found, tids.length, `${tids[0]} was acknowledged`);
		else if (status === undefined) assert.ok(found === 0 || found === tids.length, `${tids[0]} is torn`);
		else assert.equal(found, 0, `${tids[0]} was answered with ${status}`);
		if (status === undefined && found > 0) storedUnanswered++;
	}
	return { storedUnanswered };
}

/** Minimum and maximum number of admitted requests. Whether an unanswered one was admitted is unknown. */
const admittedBounds = (sent: readonly SentUpload[]) => ({
	min: sent.filter(({ status }) => status === 201).length,
	max: sent.filter(({ status }) => status !== 429).length,
});

async function usageOf(store: OpenStore, client: string): Promise<{ used: number; forfeited: number }> {
	const [usage] = await store.control.usage(client);
	return { used: usage?.used ?? 0, forfeited: usage?.forfeited ?? 0 };
}

/** Runs the rounds in a new folder. @throws AssertionError if an acknowledged upload is lost, torn or miscounted */
export async function crash(options: {
	folder: string;
	rounds: number;
	onRound?: (round: CrashRound, number: number) => void;
}): Promise<CrashRound[]> {
	const { folder, rounds: count, onRound } = options;
	const address = `sqlite:${join(folder, 'data')}`;
	const store = await openStore(address);
	const quotaPerMonth = 100 * count;
	const roomy: Client = await addClient(store);
	const small: Client = await addClient(store, { client: 'small', plan: { quotaPerMonth } });
	const rounds: CrashRound[] = [];
	const sentOf = new Map<Client, SentUpload[]>([roomy, small].map((client) => [client, []]));
	const start = () => ServeProcess.start(['--database', address]);
	let server = await start();
	try {
		for (let number = 1; number <= count; number++) {
			const { url } = server;
			const loads = new Map([
				[roomy, new UploadLoad({ url, ...roomy, connections: 24 })],
				[small, new UploadLoad({ url, ...small, connections: 2, pauseMs: 5 })],
			]);
			const before = new Map<Client, Awaited<ReturnType<typeof usageOf>>>();
			for (const client of loads.keys()) before.set(client, await usageOf(store, client.client));
			await loads.get(roomy)?.answered(50);
			await delay(Math.random() * 500);
			await server.kill('SIGKILL');
			await Promise.all(loads.values().map((load) => load.over()));

			// Nothing is repaired by hand: the next start must be enough.
			server = await start();
			const failedChecks = (await Array.fromAsync(store.runChecks())).filter(({ ok }) => !ok);
			assert.deepEqual(failedChecks, []);
			let [acknowledged, unanswered, storedUnanswered, forfeited] = [0, 0, 0, 0];
			for (const [client, load] of loads) {
				const sent = sentOf.get(client) as SentUpload[];
				sent.push(...load.sent);
				const stored = await storedTids(store, client.aid);
				storedUnanswered += checkUploads(load.sent, stored).storedUnanswered;
				checkUploads(sent, stored);
				const known = new Set(sent.flatMap(({ tids }) => tids));
				assert.equal(stored.difference(known).size, 0, 'nothing is stored that was not sent');
				acknowledged += load.withStatus(201).length;
				unanswered += load.withStatus(undefined).length;

				const { min, max } = admittedBounds(load.sent);
				const [now, then] = [await usageOf(store, client.client), before.get(client)];
				const used = now.used - (then?.used ?? 0);
				const lost = now.forfeited - (then?.forfeited ?? 0);
				assert.ok(used <= max, `${client.client}: ${used} are counted as used, but only ${max} were sent`);
				assert.ok(
					used + lost >= min,
					`${client.client}: ${used} used and ${lost} forfeited, but ${min} acknowledged`,
				);
				assert.ok(lost <= maxForfeited, `${client.client}: ${lost} forfeited`);
				forfeited += lost;
			}
			const round = { acknowledged, unanswered, storedUnanswered, forfeited };
			rounds.push(round);
			onRound?.(round, number);
		}
		await checkQuota(server, small, sentOf.get(small) as SentUpload[], quotaPerMonth, count);
		await withinASecond('all of the quota is used or forfeited', async () => {
			const { used, forfeited } = await usageOf(store, small.client);
			return used + forfeited === quotaPerMonth;
		});
	} finally {
		await server.kill();
		await store.close();
	}
	return rounds;
}

/** Uses up the rest of the quota. Checks that it was never exceeded, and that the crashes did not forfeit too much. */
async function checkQuota(
	server: ServeProcess,
	{ aid, key }: Client,
	sent: readonly SentUpload[],
	quota: number,
	crashes: number,
): Promise<void> {
	const { min, max } = admittedBounds(sent);
	const unknown = max - min;
	let admitted = min;
	for (;;) {
		const answer = await server.upload(key, { aid, data: [event()] });
		if (answer.status === 429) {
			assert.equal(await answer.text(), '{"message":"Too Many Requests"}');
			break;
		}
		assert.equal(answer.status, 201);
		admitted++;
	}
	assert.ok(admitted <= quota, `${admitted} were admitted of ${quota}`);
	assert.ok(
		admitted + unknown + maxForfeited * crashes >= quota,
		`only ${admitted} were admitted of ${quota}`,
	);
}

if (import.meta.main) {
	const folder = mkdtempSync(join(tmpdir(), 'caskade-crash-'));
	const began = performance.now();
	try {
		const rounds = await crash({
			folder,
			rounds: Number(process.argv[2] ?? 20),
			onRound: (round, number) => console.log(`round ${number}: ${JSON.stringify(round)}`),
		});
		const sum = (name: keyof CrashRound) => rounds.reduce((total, round) => total + round[name], 0);
		console.log(
			`${rounds.length} times kill -9 under load in ${Math.round((performance.now() - began) / 1000)} s: ` +
				`${sum('acknowledged')} uploads acknowledged, none lost, none torn; ` +
				`${sum('unanswered')} in flight, ${sum('storedUnanswered')} of them stored, all whole; quotas held.`,
		);
	} finally {
		rmSync(folder, { recursive: true });
	}
}
