import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { percentile } from '../../bench/percentile.ts';
import { openStore } from '../../src/assembly/open-store.ts';
import { assertAsAwkSays, cdnowEnd, cdnowEvents, cdnowMaster } from '../capabilities/reports/cdnow.ts';
import { createDatabase, startPostgres } from '../core/store/postgres/server.ts';
import { mainPath, ServeProcess, TestProcess } from '../process.ts';
import { addLargeAccount } from './large-account.ts';

/**
 * `node test/proof/journeys.ts [visitors] [visitors on PostgreSQL]` compares reports on all of CDNOW with a script over the
 * raw file. Then it measures time and memory of reports on an account with a million visitors, on each engine.
 */

const visitors = Number(process.argv[2] ?? 1_000_000);
const postgresVisitors = Number(process.argv[3] ?? visitors);
const folder = mkdtempSync(join(tmpdir(), 'caskade-journeys-'));
const database = `sqlite:${join(folder, 'data')}`;

interface Run {
	readonly stdout: string;
	readonly seconds: number;
	/** CPU time, which does not depend on what else the machine does. */
	readonly cpuSeconds: number;
	readonly peakMiB: number;
}

async function caskade(...args: string[]): Promise<Run> {
	const beganMs = performance.now();
	// VmHWM instead of `maxRSS`, which a process inherits from its parent.
	const script = `import { readFileSync } from "node:fs"; process.on("exit", () => { const { userCPUTime, systemCPUTime } = process.resourceUsage(); const [, peakKiB] = /VmHWM:\\s*(\\d+)/.exec(readFileSync("/proc/self/status", "utf8")); process.stderr.write("peak " + peakKiB + " cpu " + (userCPUTime + systemCPUTime)); }); await import(${JSON.stringify(mainPath)});`;
	await using child = new TestProcess(process.execPath, [
		'--input-type=module',
		'-e',
		script,
		mainPath,
		...args,
		...(args[0] === 'copy' || args.includes('--database') ? [] : ['--database', database]),
	]);
	const { stdout, stderr, code } = await child.ended;
	assert.equal(code, 0, stderr);
	const [, peakKiB, cpuMicroseconds] = /peak (\d+) cpu (\d+)$/.exec(stderr) ?? [];
	return {
		stdout,
		seconds: (performance.now() - beganMs) / 1000,
		cpuSeconds: Number(cpuMicroseconds) / 1e6,
		peakMiB: Number(peakKiB) / 1024,
	};
}

async function addAccount(aid: string): Promise<void> {
	const store = await openStore(database);
	await store.control.createAccount({ aid, client: 'proof', origins: [] }, (account) =>
		store.createAccountDatabase(account),
	);
	await store.close();
}

async function proveCdnow(): Promise<void> {
	if (!existsSync(cdnowMaster)) return console.log(`CDNOW: ${cdnowMaster} is missing`);
	await addAccount('c-a-cdnow');
	const file = join(folder, 'cdnow.ndjson');
	const lines = cdnowEvents(cdnowMaster).map((event) =>
		JSON.stringify({ type: 'subscription', evt: 'purchase', ...event }),
	);
	writeFileSync(file, `${lines.join('\n')}\n`);
	await caskade('import', 'c-a-cdnow', file);
	const { stdout } = await caskade(
		'report',
		'ltv',
		'c-a-cdnow',
		'--by',
		'none',
		'--as-of',
		cdnowEnd,
		'--months',
		'1200',
		'--json',
	);
	const cells = assertAsAwkSays(cdnowMaster, JSON.parse(stdout).rows);
	console.log(`CDNOW: ${lines.length} purchases, ${cells} cells equal those of the script`);
}

async function measure(what: string, address: string, ...args: string[]): Promise<void> {
	const { seconds, cpuSeconds, peakMiB } = await caskade('report', ...args, '--json', '--database', address);
	console.log(
		`${what}: ${seconds.toFixed(1)} s (${cpuSeconds.toFixed(1)} s of CPU), ${peakMiB.toFixed(0)} MiB`,
	);
}

async function measureReports(engine: string, address: string): Promise<void> {
	const attribution = ['attribution', 'c-a-large', '--model', 'all'];
	const on = (what: string, ...args: string[]) => measure(`${engine}, ${what}`, address, ...args);
	await on('attribution, all models, 200 bootstraps', ...attribution);
	await on('attribution, all models, no intervals', ...attribution, '--no-intervals');
	await on('attribution, one model', 'attribution', 'c-a-large');
	const monthsAgo = (months: number) => Temporal.Now.plainDateISO().subtract({ months }).with({ day: 1 });
	const month = ['--from', `${monthsAgo(6)}`, '--to', `${monthsAgo(5)}`];
	await on('attribution of one month, one model', 'attribution', 'c-a-large', ...month);
	await on('attribution of one month, all models, 200 bootstraps', ...attribution, ...month);
	for (const kind of ['ltv', 'movement', 'retention', 'renewals', 'paths', 'coverage']) {
		await on(kind, kind, 'c-a-large');
		await on(`${kind} of one month`, kind, 'c-a-large', ...month);
	}
}

/** Prints the latency of score reads before and during a report. */
async function measureReads(): Promise<void> {
	await caskade(
		'plan',
		'create',
		'patient',
		'--rate',
		'10',
		'--burst',
		'10',
		'--quota',
		'1000',
		'--timeout-ms',
		'100000',
	);
	const issued = await caskade(
		'key',
		'issue',
		'--client',
		'proof',
		'--plan',
		'patient',
		'--scope',
		'read',
		'--json',
	);
	await using server = await ServeProcess.start(['--database', database]);
	const hit = { aid: 'c-a-large', url: 'https://shop.example/' };
	const answer = await fetch(`${server.url}/hit`, { method: 'POST', body: JSON.stringify(hit) });
	const { cask } = (await answer.json()) as { cask: string };
	let isOver = false;
	const readUntilOver = async () => {
		const times: number[] = [];
		while (!isOver) {
			const beganMs = performance.now();
			assert.equal((await fetch(`${server.url}/visscores?cask=${cask}`)).status, 200);
			times.push(performance.now() - beganMs);
			await delay(2);
		}
		const at = (share: number) => percentile(times, share).toFixed(1);
		return `${times.length} reads, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`;
	};
	const before = readUntilOver();
	await delay(5000);
	isOver = true;
	console.log(`GET /visscores, before: ${await before}`);
	isOver = false;
	const meanwhile = readUntilOver();
	const beganMs = performance.now();
	const report = await fetch(`${server.url}/reports/attribution?aid=c-a-large&model=all`, {
		headers: { 'x-api-key': JSON.parse(issued.stdout).key },
	});
	assert.equal(report.status, 200, await report.text());
	isOver = true;
	const seconds = ((performance.now() - beganMs) / 1000).toFixed(1);
	console.log(`GET /visscores, during a report of all models, which took ${seconds} s: ${await meanwhile}`);
}

async function measurePostgres(): Promise<void> {
	const small = join(folder, 'small');
	console.log(`PostgreSQL: ${JSON.stringify(await addLargeAccount(small, postgresVisitors))}`);
	const postgres = await startPostgres();
	try {
		const address = await createDatabase(postgres);
		await caskade('copy', '--from', `sqlite:${small}`, '--to', address);
		await measureReports('PostgreSQL', address);
	} finally {
		await postgres.stop();
	}
}

try {
	await proveCdnow();
	console.log(`SQLite: ${JSON.stringify(await addLargeAccount(join(folder, 'data'), visitors))}`);
	await measureReports('SQLite', database);
	await measureReads();
	if (postgresVisitors > 0) await measurePostgres();
} finally {
	rmSync(folder, { recursive: true, force: true });
}
