/**
 * `node bench/account-training.ts [VISITORS] [FOLDER]`: fills a data folder with made-up visitors, the same on every run;
 * then `caskade train` as a process of its own, and `caskade serve --train-every` with pages that read scores meanwhile.
 * Prints the time, the CPU time, the largest memory, and the 99th percentile of the reads without and with training. On a
 * machine that others share, the CPU time is what counts. An existing FOLDER is used again. Reads are measured for a minute
 * of training.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { issueCask } from '../src/access/cask.ts';
import { profileOf } from '../src/domain/profile.ts';
import { hitEntry } from '../src/store/account/visitor-log.ts';
import { openStore } from '../src/store/open.ts';
import type { Store } from '../src/store/store.ts';
import { madeUpVisitor } from '../test/scoring/made-up-log.ts';
import { cpuDuring } from './cpu.ts';

const visitors = Number(process.argv[2] ?? 1_000_000);
const givenFolder = process.argv[3];
const folder = givenFolder ?? mkdtempSync(join(tmpdir(), 'caskade-training-'));
const aid = 'c-a-bench-uk';
const at = ['--database', `sqlite:${folder}`];
const main = join(import.meta.dirname, '../src/main.js');
const readsPerSecond = 200;
const readsMs = 60_000;
const print = (text: string) => process.stdout.write(`${text}\n`);

/** Rows go in as they are: a million visitors by way of the service would take an hour. */
async function fill(store: Store): Promise<void> {
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
	const child = spawn(process.execPath, [main, ...args, ...at], { stdio: ['ignore', 'pipe', 'pipe'] });
	return child as ChildProcess & { readonly pid: number };
}

/** Until it prints what fits. What it prints later is read on: a closed pipe would end it. */
function printed(stream: NodeJS.ReadableStream | null, pattern: RegExp): Promise<RegExpExecArray> {
	let text = '';
	return new Promise((resolve, reject) => {
		stream?.on('data', (chunk) => {
			text += chunk;
			const found = pattern.exec(text);
			if (found) resolve(found);
		});
		stream?.on('end', () => reject(new Error(`ended without ${pattern}: ${text}`)));
	});
}

/** The most memory that the process has had. A zombie has none, so it is asked again and again. */
function watchPeak(pid: number): () => number {
	let peakMiB = 0;
	const look = () => {
		const path = `/proc/${pid}/status`;
		const [, kibibytes] =
			/^VmHWM:\s+(\d+) kB/m.exec(existsSync(path) ? readFileSync(path, 'utf8') : '') ?? [];
		peakMiB = Math.max(peakMiB, Number(kibibytes ?? 0) / 1024);
	};
	const timer = setInterval(look, 100);
	return () => {
		clearInterval(timer);
		return peakMiB;
	};
}

async function trainByCommand(): Promise<void> {
	const startedAtMs = performance.now();
	const child = start('train', aid, '--as-of', '2026-11-21', '--json');
	const peak = watchPeak(child.pid);
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
		`caskade train: ${seconds.toFixed(0)} s, ${cpuSeconds.toFixed(0)} s of CPU, ${peak().toFixed(0)} MiB at most`,
	);
	for (const { report } of JSON.parse(text).goals) {
		const { goal, scope, kind, rows, conversions, later, history } = report;
		print(
			`  ${goal} ${scope}: ${kind}, ${rows} rows, ${conversions} conversions, AUC ${later.auc.value.toFixed(3)}, log loss ${later.logLoss.toFixed(4)} (base rate ${later.baseRateLogLoss.toFixed(4)}). ${history[0]}`,
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

/** Reads scores at a steady rate, whether or not earlier reads are answered, until told to stop. */
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
		if (answer.status !== 200) throw new Error(`a read was answered ${answer.status}`);
		latenciesMs.push(performance.now() - dueAtMs);
	};
	for (let dueAtMs = performance.now(); !isOver; ) {
		const nowMs = performance.now();
		for (; dueAtMs <= nowMs; dueAtMs += 1000 / readsPerSecond) reads.push(read(dueAtMs));
		await new Promise((resolve) => setTimeout(resolve, 2));
	}
	await Promise.all(reads);
	latenciesMs.sort((a, b) => a - b);
	const share = (of: number) => (latenciesMs[Math.floor(latenciesMs.length * of)] ?? Number.NaN).toFixed(1);
	return `${latenciesMs.length} reads, p50 ${share(0.5)} ms, p99 ${share(0.99)} ms, p99.9 ${share(0.999)} ms`;
}

async function trainBesideReads(store: Store): Promise<void> {
	const keys = await store.control.ensureSigningKeys();
	const casks = Array.from({ length: 5000 }, (_, number) => {
		const subject = madeUpVisitor(1, Math.floor((number * visitors) / 5000)).vid;
		return issueCask(keys, { aid, scope: 'vid', subject }, Date.now()).cask;
	});
	for (const every of [undefined, '1s']) {
		const child = start('serve', '--port', '0', ...(every ? ['--train-every', every] : []));
		const peak = watchPeak(child.pid);
		child.stderr?.resume();
		const [, url = ''] = await printed(child.stdout, /serves at (http:\S+) /);
		const startedAtMs = performance.now();
		const { result, usedUs } = await cpuDuring([child.pid], () =>
			readsUntil(url, casks, new Promise((resolve) => setTimeout(resolve, readsMs))),
		);
		const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(0);
		const cpuSeconds = ((usedUs[0] ?? 0) / 1e6).toFixed(0);
		print(
			`reads ${every ? 'while the server trains' : 'without training'}: ${result}; the server used ${cpuSeconds} s of CPU in ${seconds} s, ${peak().toFixed(0)} MiB at most`,
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
