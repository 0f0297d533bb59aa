/**
 * `node bench/account-training.ts [VISITORS] [FOLDER]` measures training in two ways: `caskade train` in its own process,
 * and `caskade serve --train-every` while pages read scores. The visitors are generated from a fixed seed. A FOLDER that
 * already holds them is used again.
 *
 * Prints wall time, CPU time, peak memory, and the latency percentiles of one minute of reads without and with training.
 * On a shared machine, only the CPU time is meaningful.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openStore } from '../src/assembly/open-store.ts';
import { issueCask } from '../src/core/access/cask.ts';
import { profileOf } from '../src/core/domain/profile.ts';
import { hitEntry } from '../src/core/domain/stored-hit.ts';
import type { OpenStore } from '../src/core/store/store.ts';
import { madeUpVisitor } from '../test/capabilities/training/made-up-log.ts';
import { cpuDuring } from './cpu.ts';
import { percentile } from './percentile.ts';

const visitors = Number(process.argv[2] ?? 1_000_000);
const givenFolder = process.argv[3];
const folder = givenFolder ?? mkdtempSync(join(tmpdir(), 'caskade-training-'));
const aid = 'c-a-bench-uk';
const databaseFlags = ['--database', `sqlite:${folder}`];
const main = join(import.meta.dirname, '../src/main.js');
const readsPerSecond = 200;
const readsMs = 60_000;
const print = (text: string) => process.stdout.write(`${text}\n`);

/** Inserts rows directly: a million visitors would take an hour through the service. */
async function fill(store: OpenStore): Promise<void> {
	const { id } = await store.control.createAccount({ aid, client: 'bench', origins: [] }, (accountId) =>
		store.createAccountDatabase(accountId),
	);
	const database = new DatabaseSync(join(folder, 'accounts', `${id}.sqlite`));
	database.exec('PRAGMA synchronous = OFF; BEGIN');
	const visitor = database.prepare('INSERT INTO visitor (vid, profile) VALUES (?, ?)');
	const hit = database.prepare('INSERT INTO hit (vid, sid, at, body) VALUES (?, ?, ?, ?)');
	const claim = database.prepare('INSERT INTO claim (key, at, vid) VALUES (?, ?, ?)');
	const event = database.prepare(
		'INSERT INTO subscription_event (tid, subid, evt, rvn, received_at, vid) VALUES (?, ?, ?, ?, ?, ?)',
	);
	let hits = 0;
	for (let number = 0; number < visitors; number++) {
		const made = madeUpVisitor(1, number);
		const texts = made.hits.map(({ body }) => JSON.stringify(body));
		const entries = made.hits.map((one, index) => hitEntry({ ...one, text: texts[index] as string }));
		visitor.run(made.vid, JSON.stringify(profileOf(entries)));
		for (const [index, { sid, atMs, body }] of made.hits.entries()) {
			hit.run(made.vid, sid, atMs, texts[index] as string);
			for (const { tid } of body.events) if (tid) claim.run(`t:${tid}`, atMs, made.vid);
		}
		for (const { tid, subid, evt, rvn, receivedAtMs } of made.events)
			event.run(tid, subid, evt, rvn, receivedAtMs, made.vid);
		hits += made.hits.length;
	}
	database.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)');
	database.close();
	print(`${visitors} visitors with ${hits} hits`);
}

function start(...args: string[]): ChildProcess & { readonly pid: number } {
	const child = spawn(process.execPath, [main, ...args, ...databaseFlags], {
		stdio: ['ignore', 'pipe', 'pipe'],
	});
	return child as ChildProcess & { readonly pid: number };
}

/** Waits for output that matches `pattern`. Keeps reading after that, because a closed pipe would end the process. */
function waitForOutput(stream: NodeJS.ReadableStream | null, pattern: RegExp): Promise<RegExpExecArray> {
	let text = '';
	return new Promise((resolve, reject) => {
		stream?.on('data', (chunk) => {
			text += chunk;
			const found = pattern.exec(text);
			if (found) resolve(found);
		});
		stream?.on('end', () => reject(new Error(`the output ended without ${pattern}: ${text}`)));
	});
}

/** Peak resident memory of a process. Polled, because /proc shows none once the process has ended. */
function watchPeakMiB(pid: number): () => number {
	let maxMiB = 0;
	const poll = () => {
		const path = `/proc/${pid}/status`;
		const [, kibibytes] =
			/^VmHWM:\s+(\d+) kB/m.exec(existsSync(path) ? readFileSync(path, 'utf8') : '') ?? [];
		maxMiB = Math.max(maxMiB, Number(kibibytes ?? 0) / 1024);
	};
	const timer = setInterval(poll, 100);
	return () => {
		clearInterval(timer);
		return maxMiB;
	};
}

async function trainByCommand(): Promise<void> {
	const startedAtMs = performance.now();
	const child = start('train', aid, '--as-of', '2026-11-21', '--json');
	const peakMiB = watchPeakMiB(child.pid);
	let text = '';
	child.stdout?.on('data', (chunk) => {
		text += chunk;
	});
	child.stderr?.pipe(process.stderr);
	const ended = once(child, 'exit');
	let cpuSeconds = 0;
	const timer = setInterval(async () => {
		cpuSeconds = Math.max(cpuSeconds, cpuOf(child.pid));
	}, 100);
	await ended;
	clearInterval(timer);
	const seconds = (performance.now() - startedAtMs) / 1000;
	print(
		`caskade train: ${seconds.toFixed(0)} s, ${cpuSeconds.toFixed(0)} s of CPU, ${peakMiB().toFixed(0)} MiB at most`,
	);
	for (const { report } of JSON.parse(text).goals) {
		const { goal, scope, kind, rows, conversions, later } = report;
		print(
			`  ${goal} ${scope}: ${kind}, ${rows} rows, ${conversions} conversions, AUC ${later?.auc.value.toFixed(3)}, log loss ${later?.logLoss.toFixed(4)} (base rate ${later?.baseRateLogLoss.toFixed(4)})`,
		);
	}
}

function cpuOf(pid: number): number {
	try {
		const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
		return (Number(fields[11]) + Number(fields[12])) / 100;
	} catch {
		return 0;
	}
}

/** Reads scores at a constant rate until `done` resolves. Open loop: it does not wait for earlier answers. */
async function readsUntil(url: string, casks: readonly string[], done: Promise<unknown>): Promise<string> {
	const latenciesMs: number[] = [];
	const reads: Promise<void>[] = [];
	let isOver = false;
	void done.then(() => {
		isOver = true;
	});
	const read = async (dueAtMs: number) => {
		const cask = casks[Math.floor(Math.random() * casks.length)];
		const answer = await fetch(`${url}/visscores?cask=${cask}`);
		await answer.text();
		if (answer.status !== 200) throw new Error(`a read was answered with ${answer.status}, not 200`);
		latenciesMs.push(performance.now() - dueAtMs);
	};
	for (let dueAtMs = performance.now(); !isOver; ) {
		const nowMs = performance.now();
		for (; dueAtMs <= nowMs; dueAtMs += 1000 / readsPerSecond) reads.push(read(dueAtMs));
		await new Promise((resolve) => setTimeout(resolve, 2));
	}
	await Promise.all(reads);
	const at = (share: number) => percentile(latenciesMs, share).toFixed(1);
	return `${latenciesMs.length} reads, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, p99.9 ${at(0.999)} ms`;
}

async function trainBesideReads(store: OpenStore): Promise<void> {
	const keys = await store.control.ensureSigningKeys();
	const casks = Array.from({ length: 5000 }, (_, number) => {
		const subject = madeUpVisitor(1, Math.floor((number * visitors) / 5000)).vid;
		return issueCask(keys, { aid, scope: 'vid', subject }, Date.now()).cask;
	});
	for (const every of [undefined, '1s']) {
		const child = start('serve', '--port', '0', ...(every ? ['--train-every', every] : []));
		const peakMiB = watchPeakMiB(child.pid);
		child.stderr?.resume();
		const [, url = ''] = await waitForOutput(child.stdout, /serves at (http:\S+) /);
		const startedAtMs = performance.now();
		const { result, usedUs } = await cpuDuring([child.pid], () =>
			readsUntil(url, casks, new Promise((resolve) => setTimeout(resolve, readsMs))),
		);
		const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(0);
		const cpuSeconds = ((usedUs[0] ?? 0) / 1e6).toFixed(0);
		print(
			`reads ${every ? 'while the server trains' : 'without training'}: ${result}; the server used ${cpuSeconds} s of CPU in ${seconds} s, ${peakMiB().toFixed(0)} MiB at most`,
		);
		child.kill('SIGTERM');
		await once(child, 'exit');
	}
}

const store = await openStore(`sqlite:${folder}`);
try {
	if ((await store.control.accounts()).length === 0) await fill(store);
	await trainByCommand();
	await trainBesideReads(store);
} finally {
	await store.close();
	if (givenFolder === undefined) rmSync(folder, { recursive: true });
}
