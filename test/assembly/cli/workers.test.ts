import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { openStore } from '../../../src/assembly/open-store.ts';
import type { UsagePlan } from '../../../src/core/domain/usage-plan.ts';
import { countRows } from '../../../src/core/store/account/reading/rows.ts';
import { subscriptionEvents } from '../../../src/core/store/account/reading/stored-events.ts';
import type { OpenStore } from '../../../src/core/store/store.ts';
import { installedPostgresDatabase } from '../../core/store/postgres-server.ts';
import { eventually } from '../../eventually.ts';
import { freePort } from '../../free-port.ts';
import { UploadLoad } from '../../load.ts';
import { assertRefused, caskade, ServeProcess } from '../../process.ts';
import { takesLong } from '../../quick.ts';
import { addClient, event, temporaryFolder } from '../../support.ts';

interface Place {
	readonly address: string;
	readonly store: OpenStore;
	readonly aid: string;
	readonly key: string;
}

/** A database with a client `acme`. */
async function placeWithClient(t: TestContext, plan: Partial<UsagePlan> = {}): Promise<Place> {
	const address = await installedPostgresDatabase();
	const store = await openStore(address);
	t.after(() => store.close());
	const { aid, key } = await addClient(store, { plan });
	return { address, store, aid, key };
}

function startTwo(address: string, ...args: string[]): Promise<ServeProcess> {
	return ServeProcess.start(['--workers', '2', '--log-level', 'debug', '--database', address, ...args]);
}

interface LogLine {
	readonly worker?: number;
	readonly msg: string;
	readonly pid?: number;
}

function logOf(server: ServeProcess): LogLine[] {
	const whole = server.stderr.slice(0, server.stderr.lastIndexOf('\n') + 1);
	return whole
		.split('\n')
		.filter(Boolean)
		.map((line) => JSON.parse(line));
}

/** The workers that have logged this. */
function workersThat(server: ServeProcess, message: string): Set<number | undefined> {
	return new Set(logOf(server).flatMap(({ worker, msg }) => (msg === message ? [worker] : [])));
}

/** Sends on a connection of its own, so that every request may get to another worker. */
async function uploadOnce({ url }: ServeProcess, key: string, aid: string): Promise<number> {
	const answer = await fetch(`${url}/subscription`, {
		method: 'POST',
		headers: { 'content-type': 'application/json', 'x-api-key': key, connection: 'close' },
		body: JSON.stringify({ aid, data: [event()] }),
	});
	await answer.arrayBuffer();
	return answer.status;
}

test('two workers share a port and the rate of a key, and one scrape has the numbers of both', {
	skip: takesLong,
}, async (t) => {
	const { address, store, aid, key } = await placeWithClient(t);
	const limited = await addClient(store, { client: 'globex', plan: { ratePerSecond: 10, burst: 1 } });
	const metricsPort = await freePort();
	await using server = await startTwo(address, '--metrics-port', String(metricsPort));
	for (let n = 0; n < 20; n++) assert.equal(await uploadOnce(server, key, aid), 201);
	await eventually('both have answered', () => workersThat(server, 'answered').size === 2);
	const answer = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
	assert.match(answer.headers.get('content-type') ?? '', /^text\/plain/);
	const text = await answer.text();
	assert.match(text, /^caskade_http_requests_total\{operation="uploadSubscription",status="201"\} 20$/m);
	assert.match(text, /^caskade_events_stored_total 20$/m);
	assert.match(text, /^caskade_store_group_size_sum 20$/m);
	assert.match(text, /^process_resident_memory_bytes \d+$/m);
	await holdsRate(server, limited);
	const { code, stdout, stderr } = await server.kill('SIGTERM');
	assert.equal(code, 0);
	assert.match(
		stdout,
		/^Caskade serves at \S+ \(documentation: \S+\) with 2 workers\. Stop it with Ctrl\+C\.\n$/,
	);
	assert.match(stderr, /"msg":"stopped"\}\n$/);
	assert.equal(workersThat(server, 'stopped').size, 3, 'both workers and the primary');
});

async function holdsRate(server: ServeProcess, { key, aid }: { key: string; aid: string }): Promise<void> {
	const began = performance.now();
	const statuses: number[] = [];
	const admitted = () => statuses.filter((status) => status === 201).length;
	const client = async () => {
		while (performance.now() - began < 500 || admitted() < 3)
			statuses.push(await uploadOnce(server, key, aid));
	};
	await Promise.all(Array.from({ length: 4 }, client));
	const seconds = (performance.now() - began) / 1000;
	assert.ok(admitted() <= 10 * seconds + 1, `${admitted()} in ${seconds} s`);
	assert.ok(statuses.every((status) => status === 201 || status === 429));
}

test('a killed worker is replaced, and the quota is not exceeded', { skip: takesLong }, async (t) => {
	const quotaPerMonth = 400;
	const { address, store, aid, key } = await placeWithClient(t, { quotaPerMonth });
	await using server = await startTwo(address);
	const load = new UploadLoad({ url: server.url, key, aid, connections: 4, events: () => 1 });
	await load.answered(100);
	const pids = workerPids(server);
	assert.equal(pids.length, 2);
	process.kill(pids[0] as number, 'SIGKILL');
	await eventually(
		'the end is logged',
		() => workersThat(server, 'worker ended, starting another').size === 1,
	);
	await eventually('a third listens', () => workersThat(server, 'listening').has(3));
	const more = new UploadLoad({ url: server.url, key, aid, connections: 8, events: () => 1 });
	while (more.withStatus(429).length < 50) await new Promise((resolve) => setTimeout(resolve, 20));
	await Promise.all([load.stop(), more.stop()]);
	const { id } = await store.control.account(aid);
	const stored = await store.read(id, countRows('subscription_event'));
	const admitted = load.withStatus(201).length + more.withStatus(201).length;
	assert.ok(admitted <= stored && stored <= quotaPerMonth, `${admitted} answered, ${stored} stored`);
	assert.ok(stored >= quotaPerMonth - 100, `${stored} stored; a crash forfeits 99 at most`);
	assert.equal((await server.kill('SIGTERM')).code, 0);
});

function workerPids(server: ServeProcess): number[] {
	const pids = logOf(server).flatMap(({ worker, msg, pid }) => (msg === 'listening' && worker ? [pid] : []));
	return pids.filter((pid) => pid !== undefined);
}

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
	test(`${signal} under load: every answer of every worker arrives, and exactly those are stored`, {
		skip: takesLong,
	}, async (t) => {
		const { address, store, aid, key } = await placeWithClient(t);
		await using server = await startTwo(address);
		const load = new UploadLoad({ url: server.url, key, aid, connections: 16 });
		await load.answered(200);
		// As a terminal or a supervisor does, which signals every process.
		for (const pid of workerPids(server)) process.kill(pid, signal);
		const { code } = await server.kill(signal);
		await load.over();
		assert.equal(code, 0);
		const acknowledged = load.withStatus(201);
		assert.ok(
			acknowledged.every(({ whole }) => whole),
			'no answer is cut off',
		);
		assert.equal(load.withStatus(undefined).length + acknowledged.length, load.sent.length);
		const { id } = await store.control.account(aid);
		const stored = await Array.fromAsync(subscriptionEvents(store, id));
		assert.deepEqual(stored.map(({ tid }) => tid).sort(), acknowledged.flatMap(({ tids }) => tids).sort());
	});

test('a data folder has one process', { skip: takesLong }, async (t) => {
	const refused = await caskade(['serve', '--workers', '2', '--database', `sqlite:${temporaryFolder(t)}`]);
	assertRefused(refused, /--workers needs PostgreSQL: one process serves a data folder\./);
});

test('the reason why workers cannot start is printed once', { skip: takesLong }, async (t) => {
	const { address } = await placeWithClient(t);
	const start = (...args: string[]) => caskade(['serve', '--workers', '3', '--database', address, ...args]);
	await using other = await ServeProcess.start(['--database', `sqlite:${temporaryFolder(t)}`]);
	assertRefused(
		await start('--port', new URL(other.url).port),
		/Port \d+ on 127\.0\.0\.1 is in use; choose another with --port\./,
	);
	assertRefused(
		await start('--port', '0', '--ignore-networks', '/no/such/file'),
		/--ignore-networks \/no\/such\/file cannot be used/,
	);
	assertRefused(
		await start('--host', '0.0.0.0', '--log-level', 'error'),
		/would accept API keys without TLS/,
	);
});
