/**
 * `npm run proof:erasure [CLIENTS] [EVENTS]` erases a visitor with many events, by `caskade visitor erase`, while clients upload
 * without pause to the same account, on both engines. Prints how long the erasure took, and how long uploads waited meanwhile.
 * Fails where the erasure takes longer than 30 s, or uploads wait longer than 1 s (p99). `test/core/store/sqlite/engine/turns.test.ts` shows what
 * it rests on.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { percentile } from '../../bench/percentile.ts';
import { openStore } from '../../src/assembly/open-store.ts';
import { monotonicMs } from '../../src/core/clock.ts';
import { createDatabase, startPostgres } from '../core/store/postgres/server.ts';
import { caskadeProcess, ServeProcess } from '../process.ts';
import { addClient, browserUserAgent, event } from '../support.ts';

export interface EraseOptions {
	readonly address: string;
	readonly clients: number;
	/** Of the visitor who is erased. */
	readonly events: number;
	/** How long clients upload before the erasure. */
	readonly warmUpMs: number;
}

const perUpload = 30;

/** @returns how long the erasure and the uploads beside it took. @throws if something is left of the visitor */
export async function eraseUnderLoad({ address, clients, events, warmUpMs }: EraseOptions) {
	const store = await openStore(address);
	await using cleanUp = new AsyncDisposableStack();
	cleanUp.defer(() => store.close());
	const { aid, key } = await addClient(store);
	await using server = await ServeProcess.start(['--database', address]);
	const show = async (cid: string) => {
		const answer = await fetch(`${server.url}/hit`, {
			method: 'POST',
			headers: { 'content-type': 'application/json', 'user-agent': browserUserAgent },
			body: JSON.stringify({ aid, url: 'https://shop.example/', cid }),
		});
		return ((await answer.json()) as { vid: string }).vid;
	};
	const vid = await show('erased');
	for (let n = 0; n < 20; n++) await show(`other-${n}`);
	let number = 0;
	const upload = async (cid: () => string, length = perUpload) => {
		const data = Array.from({ length }, () => {
			number++;
			return event({ tid: `t${number}`, subid: `s${number % 500}`, cid: cid() });
		});
		const { status } = await server.upload(key, { aid, data });
		assert.equal(status, 201, server.stdout.slice(-1500) + server.stderr.slice(-500));
	};
	for (let sent = 0; sent < events; sent += perUpload)
		await upload(() => 'erased', Math.min(perUpload, events - sent));
	const waitsMs: number[] = [];
	let isOver = false;
	const running = Array.from({ length: clients }, async () => {
		while (!isOver) {
			const sentMs = monotonicMs();
			await upload(() => `other-${number % 40}`);
			waitsMs.push(monotonicMs() - sentMs);
		}
	});
	await delay(warmUpMs);
	waitsMs.length = 0;
	const beganMs = monotonicMs();
	const ended = await caskadeProcess([
		'visitor',
		'erase',
		aid,
		vid,
		'--yes',
		'--database',
		address,
		'--json',
	]);
	const tookMs = monotonicMs() - beganMs;
	isOver = true;
	await Promise.all(running);
	assert.equal(ended.code, 0, ended.stderr);
	const found = await caskadeProcess(['visitor', 'export', aid, vid, '--database', address]);
	assert.notEqual(found.code, 0, 'nothing is left of the visitor');
	return { tookMs, uploads: waitsMs.length, p99Ms: percentile(waitsMs, 0.99), maxMs: percentile(waitsMs, 1) };
}

async function prove(name: string, address: string): Promise<void> {
	const clients = Number(process.argv[2] ?? 16);
	const events = Number(process.argv[3] ?? 2000);
	const { tookMs, uploads, p99Ms, maxMs } = await eraseUnderLoad({
		address,
		clients,
		events,
		warmUpMs: 3000,
	});
	const ms = (value: number) => Math.round(value);
	process.stdout.write(
		`${name}: erased ${events} events beside ${clients} clients in ${(tookMs / 1000).toFixed(1)} s; ${uploads} uploads waited p99 ${ms(p99Ms)}, at most ${ms(maxMs)} ms\n`,
	);
	if (tookMs > 30_000 || p99Ms > 1000) process.exitCode = 1;
}

if (import.meta.main) {
	const folder = mkdtempSync(join(tmpdir(), 'caskade-erasure-'));
	try {
		await prove('sqlite', `sqlite:${join(folder, 'data')}`);
		const postgres = await startPostgres();
		try {
			await prove('postgres', await createDatabase(postgres));
		} finally {
			await postgres.stop();
		}
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}
