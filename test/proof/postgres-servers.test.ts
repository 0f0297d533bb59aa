import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { UsagePlan } from '../../src/core/domain/usage-plan.ts';
import { countRows } from '../../src/core/store/account/reading/rows.ts';
import type { OpenStore } from '../../src/core/store/store.ts';
import { openFor } from '../core/store/engines.ts';
import { PostgresProxy } from '../core/store/postgres/proxy.ts';
import { type Answer, becomes, type ClientOfService, uploadTids } from '../core/store/postgres/service.ts';
import { installedPostgresDatabase } from '../core/store/postgres-server.ts';
import { ServeProcess } from '../process.ts';
import { addClient } from '../support.ts';

interface Cluster {
	readonly store: OpenStore;
	readonly proxy: PostgresProxy;
	readonly servers: readonly ServeProcess[];
	/** One for each plan. */
	readonly clients: readonly ClientOfService[];
}

/** Four servers on one database. */
async function startCluster(t: TestContext, plans: readonly Partial<UsagePlan>[]): Promise<Cluster> {
	const address = await installedPostgresDatabase();
	const store = await openFor(t, address);
	const clients: ClientOfService[] = [];
	for (const [number, plan] of plans.entries())
		clients.push(await addClient(store, { client: `client-${number}`, plan }));
	const proxy = await PostgresProxy.start(address);
	const servers: ServeProcess[] = [];
	t.after(async () => {
		await Promise.all(servers.map((server) => server.kill()));
		await proxy[Symbol.asyncDispose]();
	});
	const starting = Array.from({ length: 4 }, () => ServeProcess.start(['--database', proxy.address]));
	for (const started of await Promise.allSettled(starting))
		if (started.status === 'fulfilled') servers.push(started.value);
	assert.equal(servers.length, starting.length);
	return { store, proxy, servers, clients };
}

let tidNumber = 0;

/** Uploads from three clients per server as fast as they are answered, until stopped or the server is gone. */
async function hammer(
	servers: readonly ServeProcess[],
	client: ClientOfService,
	isOver: () => boolean,
): Promise<{ answers: Answer[]; unanswered: number; tookMs: number }> {
	const answers: Answer[] = [];
	let unanswered = 0;
	const beganMs = performance.now();
	const hammering = servers.flatMap(({ url }) =>
		Array.from({ length: 3 }, async () => {
			while (!isOver()) {
				const answer = await uploadTids(url, client, [`T-${tidNumber++}`]).catch(() => undefined);
				if (!answer) {
					unanswered++;
					return;
				}
				answers.push(answer);
			}
		}),
	);
	await Promise.all(hammering);
	return { answers, unanswered, tookMs: performance.now() - beganMs };
}

const withStatus = (answers: readonly Answer[], status: number) =>
	answers.filter((answer) => answer.status === status).length;

const ratePlans = [
	{ ratePerSecond: 10, burst: 1 },
	{ ratePerSecond: 50, burst: 20 },
];
const quotaPerMonth = 200;

test('four servers share one database', async (t) => {
	const cluster = await startCluster(t, [...ratePlans, { quotaPerMonth }]);
	await t.test(
		'under excess load of one key they admit rate × time + burst, and refuse without a query',
		(t) => holdsRate(t, cluster),
	);
	await t.test('a small quota is never exceeded, even if a server is killed', () => holdsQuota(cluster));
});

async function holdsRate(t: TestContext, { servers, clients, proxy }: Cluster): Promise<void> {
	for (const [number, { ratePerSecond, burst }] of ratePlans.entries()) {
		const askedBefore = proxy.sent('/* take tokens */');
		const untilMs = performance.now() + 600;
		const isOver = () => performance.now() > untilMs;
		const { answers, unanswered, tookMs } = await hammer(servers, clients[number] as ClientOfService, isOver);
		const [admitted, refused] = [withStatus(answers, 201), withStatus(answers, 429)];
		const allowed = (ratePerSecond * tookMs) / 1000 + burst;
		t.diagnostic(`${ratePerSecond}/s: ${admitted} of ${Math.floor(allowed)} admitted, ${refused} refused`);
		assert.equal(admitted + refused, answers.length);
		assert.equal(unanswered, 0);
		assert.ok(admitted <= allowed, `${admitted} admitted, ${allowed} allowed`);
		assert.ok(admitted > 1, `only ${admitted} admitted of ${allowed}`);
		// A busy machine may be too slow to exceed a larger burst: clients of every server ask for one token at once.
		if (burst === 1) assert.ok(refused > 0, 'it was not hammered');
		// Each server asks for each token at most once, and learns when the next one is available.
		const asked = proxy.sent('/* take tokens */') - askedBefore;
		t.diagnostic(`${asked} questions for ${answers.length} requests`);
		assert.ok(asked > 0 && asked <= servers.length * (allowed + 1), `${asked} questions`);
	}
}

async function holdsQuota({ servers, clients, store }: Cluster): Promise<void> {
	const client = clients[ratePlans.length] as ClientOfService;
	const { id } = await store.control.account(client.aid);
	const stored = () => store.read(id, countRows('subscription_event'));
	const usedUp = '{"message":"Too Many Requests"}';
	const alive = servers.slice(1);
	let isOver = false;
	let begun = 0;
	const hammering = hammer(servers, client, () => {
		begun++;
		return isOver;
	});
	await becomes('a part of the quota is used', 5000, () => begun > 40);
	const atKill = await stored();
	await servers[0]?.kill('SIGKILL');
	assert.ok(atKill < quotaPerMonth, 'killed in the middle');
	await becomes('the quota is used up', 5000, async () => {
		const answers = await Promise.all(alive.map(({ url }) => uploadTids(url, client, [`T-${tidNumber++}`])));
		return answers.every(({ body }) => body === usedUp);
	});
	isOver = true;
	const { answers } = await hammering;
	for (const { status, body } of answers) assert.ok(status === 201 || body === usedUp, body);
	// Each admitted request stores one event.
	const admitted = await stored();
	assert.ok(admitted <= quotaPerMonth, `${admitted} admitted`);
	assert.ok(admitted >= quotaPerMonth - 100, `${admitted} admitted: a crash forfeits 100 at most`);
	for (const server of alive) assert.equal((await server.kill('SIGTERM')).code, 0);
	const [usage] = await store.control.usage(`client-${ratePlans.length}`);
	const used = usage?.used ?? 0;
	assert.ok(used <= admitted, `${used} used, ${admitted} admitted`);
	assert.ok(
		used >= admitted - atKill,
		`${used} used, ${admitted} admitted: only the killed server's may be missing`,
	);
}
