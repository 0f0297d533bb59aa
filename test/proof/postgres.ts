/**
 * `npm run proof:postgres [ROUNDS]` uploads on many connections while the network to PostgreSQL fails in one way after
 * another, or sessions are terminated. Then it compares the answers with what is stored.
 * `postgres-honesty.test.ts` is the short form.
 */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { openStore } from '../../src/assembly/open-store.ts';
import { subscriptionEvents } from '../../src/core/store/account/reading/stored-events.ts';
import { type CommitFault, PostgresProxy } from '../core/store/postgres/proxy.ts';
import { createDatabase, startPostgres } from '../core/store/postgres/server.ts';
import { patience } from '../eventually.ts';
import { UploadLoad } from '../load.ts';
import { ServeProcess } from '../process.ts';
import { addClient } from '../support.ts';

const commitFaults: readonly CommitFault[] = [
	'cut before',
	'cut after',
	'half-open before',
	'half-open after',
];
const faults = ['cut', 'stall', 'stall answers', 'vanish', 'refuse', 'terminate', ...commitFaults] as const;
type Fault = (typeof faults)[number];

export interface OutageRound {
	readonly fault: Fault;
	/** Uploads answered with 201, and so stored. */
	readonly stored: number;
	/** Uploads answered with 500, 503 or 504, and so not stored. */
	readonly failed: number;
	/** Time from the end of the outage to the answer of the first successful upload sent after it. */
	readonly recoveredAfterMs: number;
}

/** A silent connection is trusted for 2 s. All other faults are over as soon as the database is back. */
const recoveryMs = (fault: Fault) =>
	(fault === 'vanish' || fault.startsWith('half-open') ? 4000 : 1000) * patience;

async function breakFor(fault: Fault, proxy: PostgresProxy, admin: pg.Client, ms: number): Promise<void> {
	if (fault === 'cut') proxy.cut();
	else if (fault === 'stall') proxy.stall();
	else if (fault === 'stall answers') proxy.stall('answers');
	else if (fault === 'vanish') proxy.vanish();
	else if (fault === 'refuse') proxy.refuse();
	else if (fault === 'terminate')
		await admin.query(
			'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
		);
	else proxy.commitFault = fault;
	await delay(ms);
	proxy.restore();
}

/** Runs the rounds on an empty database. @throws AssertionError if an answer was wrong */
export async function outages(options: {
	address: string;
	rounds: number;
	onRound?: (round: OutageRound, number: number) => void;
}): Promise<OutageRound[]> {
	const store = await openStore(options.address);
	const { aid, key } = await addClient(store, { plan: { timeoutMs: 1000 } });
	const { id } = await store.control.account(aid);
	const proxy = await PostgresProxy.start(options.address);
	const admin = new pg.Client({ connectionString: options.address });
	const server = await ServeProcess.start(['--database', proxy.address]);
	const rounds: OutageRound[] = [];
	const first = Math.floor(Math.random() * faults.length);
	try {
		await admin.connect();
		for (let number = 0; number < options.rounds; number++) {
			const fault = faults[(first + number) % faults.length] as Fault;
			const load = new UploadLoad({ url: server.url, aid, key, connections: 12, pauseMs: 2 });
			await load.answered(20);
			await breakFor(fault, proxy, admin, 200 + Math.random() * 1000);
			const restoredMs = performance.now();
			for (let n = 0; ; n++) {
				const { status } = await server.upload(key, {
					aid,
					data: [{ tid: `R${number}-${n}`, subid: 's', evt: 'e' }],
				});
				if (status === 201) break;
				assert.ok(performance.now() - restoredMs < recoveryMs(fault), `${fault}: still ${status}`);
				await delay(20);
			}
			const recoveredAfterMs = Math.round(performance.now() - restoredMs);
			await load.stop();
			const found = new Set(await Array.fromAsync(subscriptionEvents(store, id), ({ tid }) => tid));
			for (const { status, tids } of load.sent) {
				const stored = tids.filter((tid) => found.has(tid)).length;
				assert.ok(
					[201, 500, 503, 504].includes(status ?? 0),
					`${fault}: ${tids[0]} was answered with ${status}`,
				);
				assert.equal(stored, status === 201 ? tids.length : 0, `${fault}: ${tids[0]}, ${status}`);
			}
			const stored = load.withStatus(201).length;
			const round = { fault, stored, failed: load.sent.length - stored, recoveredAfterMs };
			rounds.push(round);
			options.onRound?.(round, number);
		}
		assert.equal((await server.kill('SIGTERM')).code, 0);
	} finally {
		await server.kill();
		await admin.end();
		await proxy[Symbol.asyncDispose]();
		await store.close();
	}
	return rounds;
}

if (import.meta.main) {
	const server = await startPostgres();
	try {
		const rounds = await outages({
			address: await createDatabase(server),
			rounds: Number(process.argv[2] ?? 60),
			onRound: (round, number) => console.log(`round ${number + 1}: ${JSON.stringify(round)}`),
		});
		const sum = (name: 'stored' | 'failed') => rounds.reduce((total, round) => total + round[name], 0);
		const longestMs = Math.max(...rounds.map(({ recoveredAfterMs }) => recoveredAfterMs));
		console.log(
			`${rounds.length} outages under load: ${sum('stored')} uploads answered 201 and stored, ${sum('failed')} ` +
				`answered otherwise and not stored; the slowest recovery took ${longestMs} ms.`,
		);
	} finally {
		await server.stop();
	}
}
