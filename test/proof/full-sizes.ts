/**
 * `npm run proof:sizes [HITS [EVENTS [ENGINE]]]` measures how long others wait while one visitor, one `cid` and one `subid` grow large:
 * 60,000 hits of a visitor, 100,000 events of a `cid`, 100,000 of a `subid`, the log-in that takes all of them over, and their
 * receipts. Beside each, one upload, one hit and one read at a time are sent in the same account and in another one. The
 * figures depend on the machine and on what else runs there. `full-sizes.test.ts` is the short form.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { percentile } from '../../bench/percentile.ts';
import { openStore } from '../../src/assembly/open-store.ts';
import { createDatabase, startOwnPostgres } from '../core/store/postgres/server.ts';
import { ServeProcess } from '../process.ts';
import { addClient, browserUserAgent, event } from '../support.ts';

/** What others waited during one phase. */
export interface Phase {
	readonly name: string;
	readonly seconds: number;
	/** By probe, for example `upload, other account`. */
	readonly waitsMs: ReadonlyMap<string, readonly number[]>;
}

interface Visitor {
	readonly vid: string;
	readonly cask: string;
}

/** Connections that send what grows. */
const senders = 8;
const eventsPerUpload = 100;
const receiptsPerRequest = 100;

/**
 * Fills an account through HTTP, phase by phase.
 * @throws AssertionError if a request fails, an event is missing, or a subscription is not its last owner's
 */
export async function fullSizes(options: {
	address: string;
	hits: number;
	events: number;
	onPhase?: (phase: Phase) => void;
}): Promise<void> {
	const { address, hits, events, onPhase } = options;
	const store = await openStore(address);
	const [large, other] = [
		await addClient(store, { client: 'large', plan: { maxEvents: eventsPerUpload } }),
		await addClient(store, { client: 'other' }),
	];
	const { id } = await store.control.account(large.aid);
	const limits = ['--hits-per-visitor', '100000', '--hits-per-address', '100000'];
	await using server = await ServeProcess.start(['--database', address, ...limits]);

	const ask = async <T>(path: string, init: RequestInit, status = 200): Promise<T> => {
		const sentMs = performance.now();
		const answer = await fetch(`${server.url}${path}`, {
			...init,
			signal: AbortSignal.timeout(120_000),
		}).catch((cause) => {
			const waitedMs = Math.round(performance.now() - sentMs);
			throw new Error(`${init.method ?? 'GET'} ${path} failed after ${waitedMs} ms`, { cause });
		});
		const text = await answer.text();
		assert.equal(answer.status, status, `${path}: ${text}`);
		return JSON.parse(text) as T;
	};
	const post = <T>(path: string, body: unknown, headers: Record<string, string>, status?: number) =>
		ask<T>(
			path,
			{
				method: 'POST',
				headers: { 'content-type': 'application/json', ...headers },
				body: JSON.stringify(body),
			},
			status,
		);
	const hit = (aid: string, fields: object = {}) =>
		post<Visitor>('/hit', { aid, ...fields }, { 'user-agent': browserUserAgent });
	const upload = (client: typeof large, data: readonly object[]) =>
		post('/subscription', { aid: client.aid, data }, { 'x-api-key': client.key }, 201);

	const during = async (name: string, work: () => Promise<unknown>): Promise<void> => {
		let isOver = false;
		const beganMs = performance.now();
		const waitsMs = new Map<string, number[]>();
		const probe = async (what: string, send: () => Promise<unknown>) => {
			const waits: number[] = [];
			waitsMs.set(what, waits);
			while (!isOver) {
				const sentMs = performance.now();
				await send();
				waits.push(performance.now() - sentMs);
				await delay(20);
			}
		};
		const probes = [large, other].flatMap((client) => {
			const whose = client === large ? 'same account' : 'other account';
			const reader = hit(client.aid);
			return [
				probe(`upload, ${whose}`, () => upload(client, [event()])),
				probe(`hit, ${whose}`, () => hit(client.aid)),
				probe(`read, ${whose}`, async () => ask(`/visscores?cask=${(await reader).cask}`, {})),
			];
		});
		let seconds = 0;
		const worked = work().finally(() => {
			isOver = true;
			seconds = (performance.now() - beganMs) / 1000;
		});
		await Promise.all([worked, ...probes]);
		onPhase?.({ name, seconds, waitsMs });
	};
	const settled = async () => {
		while ((await store.waiting(id)) > 0) await delay(50);
	};
	/** Calls `send` with 0 to `count` − 1, several at a time. */
	const each = async (count: number, send: (index: number) => Promise<unknown>) => {
		let next = 0;
		await Promise.all(
			Array.from({ length: senders }, async () => {
				while (next < count) await send(next++);
			}),
		);
		await settled();
	};
	const growing = (prefix: string, fields: (n: number) => object) =>
		each(events / eventsPerUpload, (request) =>
			upload(
				large,
				Array.from({ length: eventsPerUpload }, (_, index) => {
					const n = request * eventsPerUpload + index;
					return event({ tid: `${prefix}-${n}`, rvn: 1, ...fields(n) });
				}),
			),
		);

	try {
		const { vid } = await hit(large.aid, { cid: 'customer-1' });
		await during(`${hits} hits of one visitor`, () => each(hits, () => hit(large.aid, { vid })));
		await during(`${events} events of one cid`, () =>
			growing('cid', (n) => ({ cid: 'customer-1', subid: `of-one-cid-${n}` })),
		);
		await during(`${events} events of one subid, of nobody`, () =>
			growing('subid', () => ({ subid: 'one-subid', cid: 'customer-2' })),
		);
		await during('the log-in of that customer', async () => {
			await hit(large.aid, { cid: 'customer-2' });
			await settled();
		});
		await during(`${events} receipts`, () =>
			each(events / receiptsPerRequest, async (request) => {
				const tids = Array.from(
					{ length: receiptsPerRequest },
					(_, n) => `subid-${request * receiptsPerRequest + n}`,
				);
				const { receipts } = await post<{ receipts: { stored: boolean; joined: boolean }[] }>(
					'/subscription/receipts',
					{ aid: large.aid, tids },
					{ 'x-api-key': large.key },
				);
				assert.ok(receipts.every(({ stored, joined }) => stored && joined));
			}),
		);
	} catch (error) {
		throw new Error(`the server said: ${server.stdout}${server.stderr}`, { cause: error });
	} finally {
		await store.close();
	}
}

async function main(hits: number, events: number, only?: string): Promise<void> {
	const print = (engine: string) => (phase: Phase) => {
		process.stdout.write(`${engine}, ${phase.name}: ${phase.seconds.toFixed(1)} s\n`);
		for (const [probe, waits] of phase.waitsMs) {
			const at = (share: number) => percentile(waits, share).toFixed(0);
			process.stdout.write(
				`  ${probe}: ${waits.length} waited p50 ${at(0.5)}, p99 ${at(0.99)}, at most ${at(1)} ms\n`,
			);
		}
	};
	const folder = mkdtempSync(join(tmpdir(), 'caskade-sizes-'));
	// As PostgreSQL does it by itself: what grows is looked after.
	const postgres = await startOwnPostgres({ autovacuum_naptime: '1min' });
	const addresses = {
		sqlite: () => `sqlite:${join(folder, 'data')}`,
		postgres: () => createDatabase(postgres),
	};
	try {
		for (const [engine, address] of Object.entries(addresses))
			if (only === undefined || only === engine)
				await fullSizes({ address: await address(), hits, events, onPhase: print(engine) });
	} finally {
		await postgres.stop();
		rmSync(folder, { recursive: true, force: true });
	}
}

if (import.meta.main)
	await main(Number(process.argv[2] ?? 60_000), Number(process.argv[3] ?? 100_000), process.argv[4]);
