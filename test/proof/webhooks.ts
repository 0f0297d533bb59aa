/**
 * `npm run proof:webhooks [KILLS]` kills servers at random while visitors arrive and the receiver fails, stalls and asks for
 * pauses. Every stored change must then have been received once and in order. It runs on a data folder, and with two
 * processes on PostgreSQL. It also measures the cost and speed of webhooks. `webhooks-killed.test.ts` is the short form.
 */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { percentile } from '../../bench/percentile.ts';
import { openStore } from '../../src/assembly/open-store.ts';
import { insertMessages } from '../../src/capabilities/webhooks/store/outbox.ts';
import type { Row, Steps } from '../../src/core/store/steps.ts';
import type { OpenStore } from '../../src/core/store/store.ts';
import { seededRandom } from '../../src/kit/random.ts';
import { Receiver } from '../capabilities/webhooks/receiver.ts';
import { ServeProcess } from '../process.ts';

const aid = 'c-a-acme-uk';
const events = ['segment.entered', 'segment.left', 'goal.reached'] as const;
/** Rules with the numbers of hits for which they hold. */
const segments = [
	{
		id: 'some',
		name: 'Some',
		rule: 'visitor.hits >= 2 && visitor.hits < 4',
		holds: (n: number) => n >= 2 && n < 4,
	},
	{ id: 'many', name: 'Many', rule: 'visitor.hits >= 4', holds: (n: number) => n >= 4 },
];

export interface KilledWebhooks {
	readonly kills: number;
	readonly visitors: number;
	readonly transitions: number;
	/** Deliveries, including repeated ones. */
	readonly deliveries: number;
}

function* rowsOf(sql: string): Steps<readonly Row[]> {
	const [rows = []] = yield [{ sql }];
	return rows;
}

function* makeDue(): Steps<void> {
	yield [{ sql: 'UPDATE @outbox SET due_at = 0 WHERE due_at IS NOT NULL' }];
}

/** Creates an account with these segments and, unless `url` is empty, a webhook. @returns its id */
async function createAccount(store: OpenStore, url: string): Promise<number> {
	const { control } = store;
	const { id } = await control.createAccount({ aid, client: 'acme', origins: [] }, (number) =>
		store.createAccountDatabase(number),
	);
	for (const { id: segment } of await control.segments(id)) await control.deleteSegment(id, segment);
	for (const { holds: _, ...segment } of segments) await control.createSegment(id, segment);
	if (url !== '') await control.createWebhook(id, { url, events, withCid: false, allowPrivate: true });
	return id;
}

class Visitors {
	readonly #agent = new Agent({ keepAlive: true, maxSockets: 8 });
	/** Number of requests that were answered. */
	answered = 0;

	/** Sends a hit. @returns the visitor's `vid`, or null if there was no successful answer */
	async hit(url: string, vid?: string): Promise<string | null> {
		const body = JSON.stringify({ aid, url: 'https://shop.example/pricing', ...(vid && { vid }) });
		return new Promise((resolve) => {
			const sent = request(
				`${url}/hit`,
				{
					method: 'POST',
					agent: this.#agent,
					headers: { 'content-type': 'application/json', 'user-agent': 'Mozilla/5.0 Firefox/140.0' },
				},
				(response) => {
					let text = '';
					response.setEncoding('utf8').on('data', (chunk) => {
						text += chunk;
					});
					response.on('end', () => {
						this.answered++;
						resolve(response.statusCode === 200 ? JSON.parse(text).vid : null);
					});
					response.on('error', () => resolve(null));
				},
			);
			sent.on('error', () => resolve(null));
			sent.end(body);
		});
	}

	close(): void {
		this.#agent.destroy();
	}
}

/** Kills servers while visitors arrive. @throws AssertionError if a change is lost, repeated or out of order */
export async function webhooksKilled(options: {
	address: string;
	processes: number;
	kills: number;
	/** Mean time between two kills. */
	lifeMs: number;
	seed: number;
}): Promise<KilledWebhooks> {
	const { address, processes, kills, lifeMs, seed } = options;
	const random = seededRandom(seed);
	await using closing = new AsyncDisposableStack();
	const receiver = await Receiver.start({ closing });
	const store = await openStore(address);
	closing.defer(() => store.close());
	const accountId = await createAccount(store, receiver.url);
	const [{ id = '' } = {}] = await store.control.webhooks(accountId);
	receiver.secret = (await store.control.webhook(accountId, id)).secret;
	let misbehaves = true;
	receiver.answer = () => {
		const chance = misbehaves ? random() : 1;
		if (chance < 0.1) return 500;
		if (chance < 0.13) return () => {};
		if (chance < 0.16) return (response) => response.writeHead(429, { 'retry-after': '1' }).end();
		if (chance < 0.2) return (response) => response.destroy();
		return 204;
	};
	const start = () =>
		ServeProcess.start(['--database', address, '--hits-per-address', '10000', '--hits-per-visitor', '1000']);
	const servers = await Promise.all(Array.from({ length: processes }, start));
	closing.defer(async () => {
		await Promise.all(servers.map((server) => server.kill()));
	});
	const visitors = new Visitors();
	closing.defer(() => visitors.close());
	let isOver = false;
	const walk = async () => {
		while (!isOver) {
			let vid: string | null = null;
			for (let hits = 1 + Math.floor(random() * 6); hits > 0 && !isOver; hits--) {
				const { url = '' } = servers[Math.floor(random() * servers.length)] ?? {};
				vid = await visitors.hit(url, vid ?? undefined);
				if (vid === null) break;
				await delay(random() * 300);
			}
			await delay(20);
		}
	};
	// Waits for the first message, because visitors from before webhooks are only counted.
	while (receiver.received.length === 0) await delay(20);
	const walking = Array.from({ length: 12 }, walk);
	for (let kill = 0; kill < kills; kill++) {
		await delay(lifeMs * (0.5 + random()));
		const index = Math.floor(random() * servers.length);
		await servers[index]?.kill('SIGKILL');
		servers[index] = await start();
	}
	await delay(lifeMs);
	isOver = true;
	await Promise.all(walking);
	misbehaves = false;
	await drain(store, accountId);
	assert.deepEqual(receiver.problems, [], 'all deliveries are signed');
	return verify(store, accountId, receiver, kills);
}

/** Waits until everything is evaluated and delivered. Makes waiting retries due at once. */
async function drain(store: OpenStore, accountId: number): Promise<void> {
	for (let quiet = 0, before = -1; quiet < 2; ) {
		await store.transact(accountId, () => makeDue());
		await store.control.announceWebhooks();
		await delay(1200);
		const rows = await store.transact(accountId, () => rowsOf('SELECT due_at FROM @outbox'));
		const isQuiet = rows.length === before && rows.every(({ due_at }) => due_at === null);
		quiet = isQuiet ? quiet + 1 : 0;
		before = rows.length;
	}
}

async function verify(
	store: OpenStore,
	accountId: number,
	{ received }: Receiver,
	kills: number,
): Promise<KilledWebhooks> {
	const select = (sql: string) => store.transact(accountId, () => rowsOf(sql));
	const seen = new Set(received.map(({ id }) => id));
	const stored = await select('SELECT webhook, sequence, type FROM @outbox');
	for (const { webhook, sequence } of stored)
		assert.ok(seen.has(`msg_${String(webhook).slice(3)}_${sequence}`), 'every message was received');
	assert.equal(seen.size, stored.length, 'nothing else was received');
	const memberships = await select('SELECT vid, segment, sequence FROM @membership');
	const members = new Map(
		memberships.map(({ vid, segment, sequence }) => [`${vid} ${segment}`, Number(sequence)]),
	);
	const profiles = await select('SELECT vid, profile FROM @visitor');
	for (const { vid, profile } of profiles)
		for (const { id, holds } of segments)
			assert.equal(members.has(`${vid} ${id}`), holds(JSON.parse(String(profile)).hits), 'no change is lost');
	const told = received
		.map(({ message }) => message)
		.filter(({ type }) => type.startsWith('segment.'))
		.sort((a, b) => a.data.sequence - b.data.sequence);
	const bySubject = Map.groupBy(told, ({ data }) => `${data.vid} ${data.segment}`);
	let transitions = 0;
	for (const [subject, messages] of bySubject) {
		const once = [...new Map(messages.map((message) => [message.data.sequence, message])).values()];
		transitions += once.length;
		once.forEach(({ type }, index) => {
			assert.equal(type, index % 2 === 0 ? 'segment.entered' : 'segment.left', 'no change is sent twice');
		});
		const last = once.at(-1);
		assert.equal(members.get(subject), last?.type === 'segment.entered' ? last.data.sequence : undefined);
	}
	for (const subject of members.keys()) assert.ok(bySubject.has(subject), 'every membership was sent');
	return { kills, visitors: profiles.length, transitions, deliveries: received.length };
}

/** CPU time that a process has used so far. */
function cpuSeconds(pid: number | undefined): number {
	const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
		.replace(/^.*\) /, '')
		.split(' ');
	return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Measures how fast one process delivers waiting messages. */
export async function deliveryRate(
	address: string,
	messages: number,
): Promise<{ perSecond: number; cpuMs: number }> {
	await using closing = new AsyncDisposableStack();
	const receiver = await Receiver.start({ closing });
	const store = await openStore(address);
	closing.defer(() => store.close());
	const accountId = await createAccount(store, receiver.url);
	const [{ id: webhook = '' } = {}] = await store.control.webhooks(accountId);
	const server = await ServeProcess.start(['--database', address]);
	closing.defer(async () => {
		await server.kill();
	});
	while (receiver.received.length === 0) await delay(50);
	const nowMs = Date.now();
	const made = Array.from({ length: messages }, (_, index) => {
		const sequence = nowMs * 1000 + index;
		const data = { aid, vid: randomBytes(16).toString('hex'), sequence, segment: 'some', name: 'Some' };
		const body = JSON.stringify({ type: 'segment.entered', timestamp: new Date().toISOString(), data });
		return { webhook, sequence, type: 'segment.entered', vid: data.vid, body } as const;
	});
	await store.transact(accountId, function* () {
		yield [insertMessages(made, nowMs)];
	});
	const [beganMs, beganCpu] = [performance.now(), cpuSeconds(server.child.pid)];
	await store.control.announceWebhooks();
	while (receiver.received.length < messages + 1) await delay(10);
	const seconds = (performance.now() - beganMs) / 1000;
	const cpuMs = ((cpuSeconds(server.child.pid) - beganCpu) * 1000) / messages;
	return { perSecond: messages / seconds, cpuMs };
}

/** Measures the server's CPU time per hit and, if there is a webhook, the delays from hit to delivery. */
export async function hitCost(
	address: string,
	options: { hits: number; hasWebhook: boolean },
): Promise<{ cpuMicroseconds: number; delaysMs: number[] }> {
	const { hits, hasWebhook } = options;
	await using closing = new AsyncDisposableStack();
	const receiver = await Receiver.start({ closing });
	const store = await openStore(address);
	closing.defer(() => store.close());
	await createAccount(store, hasWebhook ? receiver.url : '');
	const server = await ServeProcess.start([
		'--database',
		address,
		'--hits-per-address',
		'100000',
		'--hits-per-visitor',
		'1000',
	]);
	closing.defer(async () => {
		await server.kill();
	});
	const visitors = new Visitors();
	closing.defer(() => visitors.close());
	const many = async (number: number) => {
		await Promise.all(
			Array.from({ length: 8 }, async () => {
				for (let n = 0; n < number / 8; n += 2) {
					const vid = await visitors.hit(server.url);
					await visitors.hit(server.url, vid ?? undefined);
				}
			}),
		);
	};
	await many(hits / 4);
	await delay(2000);
	const began = cpuSeconds(server.child.pid);
	await many(hits);
	await delay(3000);
	const cpuMicroseconds = ((cpuSeconds(server.child.pid) - began) * 1e6) / hits;
	const delaysMs: number[] = [];
	for (let n = 0; hasWebhook && n < 20; n++) {
		const vid = await visitors.hit(server.url);
		await visitors.hit(server.url, vid ?? undefined);
		const sentMs = performance.now();
		const found = () => receiver.received.find(({ message }) => message.data.vid === vid);
		while (!found()) await delay(2);
		delaysMs.push((found()?.atMs ?? 0) - sentMs);
		await delay(50 * n);
	}
	return { cpuMicroseconds, delaysMs };
}

async function main(): Promise<void> {
	const { mkdtempSync, rmSync } = await import('node:fs');
	const { tmpdir } = await import('node:os');
	const { join } = await import('node:path');
	const { createDatabase, startPostgres } = await import('../core/store/postgres/server.ts');
	const kills = Number(process.argv[2] ?? 20);
	const folder = mkdtempSync(join(tmpdir(), 'caskade-webhooks-'));
	const postgres = await startPostgres();
	let folders = 0;
	const engines = [
		{ name: 'sqlite', processes: 1, fresh: async () => `sqlite:${join(folder, String(++folders))}` },
		{ name: 'postgres', processes: 2, fresh: () => createDatabase(postgres, {}) },
	];
	try {
		for (const { name, processes, fresh } of engines) {
			const seed = Date.now() % 1e6;
			const killed = await webhooksKilled({
				address: await fresh(),
				processes,
				kills,
				seed,
				lifeMs: 3000,
			});
			console.log(name, `${processes} processes`, `seed ${seed}`, killed);
			const { perSecond, cpuMs } = await deliveryRate(await fresh(), 10_000);
			console.log(
				name,
				`${perSecond.toFixed(0)} deliveries/s by one process, ${cpuMs.toFixed(2)} ms of CPU each`,
			);
			for (const hasWebhook of [false, true]) {
				const { cpuMicroseconds, delaysMs } = await hitCost(await fresh(), { hits: 8000, hasWebhook });
				const at = (share: number) => percentile(delaysMs, share).toFixed(0);
				console.log(
					name,
					`${cpuMicroseconds.toFixed(0)} µs of CPU for a hit ${hasWebhook ? 'with' : 'without'} a webhook`,
					hasWebhook ? `; from hit to delivery ${at(0.5)} ms (median), ${at(1)} ms (maximum)` : '',
				);
			}
		}
	} finally {
		await postgres.stop();
		rmSync(folder, { recursive: true, force: true });
	}
}

if (import.meta.main) await main();
