import { join } from 'node:path';
import type { BenchContext, Benchmark, BenchmarkResult } from './benchmark.ts';
import { cpuByJob } from './cpu.ts';
import { type BenchmarkName, firstRun } from './options.ts';
import { runProgram } from './processes.ts';
import type { RawInput, RawOutput } from './raw-sqlite.ts';
import { serveBare, upload } from './servers.ts';
import { checkAnswers, StoredCount } from './stored-count.ts';
import { compareRates, median, type Row, whole } from './table.ts';
import { eventsPerUpload, nextPrefix, type Tids } from './upload-bodies.ts';
import { type Load, wrk } from './wrk.ts';

interface Throughput {
	readonly name: BenchmarkName;
	readonly title: string;
	readonly load: Load;
	readonly status: number;
	/** Minimum throughput, as a share of bare http's. */
	readonly aim?: number;
	/** Compares with raw SQLite; the aims are the minimum shares of its throughput, and of its requests by CPU. */
	readonly raw?: { readonly aim?: number; readonly cpuAim?: number };
}

/** Requests per transaction of raw SQLite. */
const rawRequestsPerTransaction = 64;

/** A benchmark of the maximum throughput of one kind of request. */
function throughput(name: BenchmarkName, of: (bench: BenchContext) => Omit<Throughput, 'name'>): Benchmark {
	return { name, measure: (bench) => measure(bench, { name, ...of(bench) }) };
}

async function measure(bench: BenchContext, line: Throughput): Promise<BenchmarkResult> {
	const { options, caskade, progress } = bench;
	const server = await caskade.serve();
	// The key's plan admits one request. The load gets the answer to the second.
	if (line.status === 429) await upload(server.url, line.load.key, line.load.rows);
	const answer = await upload(server.url, line.load.key, line.load.rows);
	if (answer.status !== line.status)
		throw new Error(`${line.name}: the answer is ${answer.status} ${answer.body}, not ${line.status}.`);
	const bare = await serveBare({ ...answer, parse: line.status < 400 });
	const store = await StoredCount.begin(server, line);
	const rawPath = join(caskade.folder, `${line.name}.raw.sqlite`);
	const rates: Record<'bare' | 'caskade' | 'events' | 'raw' | 'cpu' | 'rawCpu', number[]> = {
		bare: [],
		caskade: [],
		events: [],
		raw: [],
		cpu: [],
		rawCpu: [],
	};
	for (let run = firstRun(options); run <= options.runs; run++) {
		const seconds = run === 0 ? options.warmUpSeconds : options.seconds;
		const bareResult = await wrk(bare.url, line.load, seconds);
		checkAnswers(bareResult, line);
		const before = writingUs(server.pid);
		const { result, uploads } = await store.during(() => wrk(server.url, line.load, seconds));
		const usedUs = writingUs(server.pid) - before;
		// The same number of rows, into a database that has grown as much.
		const raw = line.raw && (await rawSqlite(rawPath, line.load, uploads));
		if (run === 0) continue;
		rates.bare.push(bareResult.requests / bareResult.seconds);
		rates.caskade.push(result.requests / result.seconds);
		rates.events.push((result.requests * line.load.rows) / result.seconds);
		if (raw) {
			rates.raw.push(raw.eventsPerSecond);
			rates.rawCpu.push(1e6 / raw.costUs);
			rates.cpu.push((1e6 * uploads) / usedUs);
		}
		progress(
			`${line.name}, run ${run} of ${options.runs}: ${whole(rates.caskade.at(-1) ?? 0)} requests/s, bare http ${whole(rates.bare.at(-1) ?? 0)}${raw ? `, raw SQLite ${whole(raw.eventsPerSecond)} events/s` : ''}`,
		);
	}
	const notes = [await store.check()];
	await Promise.all([server.stop(), bare.stop()]);
	if (line.name === 'thirty') bench.peakPerSecond = median(rates.caskade);
	const bareRow = compareRates({
		measure: `${line.title}: requests/s`,
		caskade: rates.caskade,
		baseline: rates.bare,
		comparedWith: line.status < 400 ? 'bare http that parses' : 'bare http that does not parse',
		aim: line.aim,
	});
	const rows: Row[] = [bareRow];
	if (line.raw)
		rows.push(
			compareRates({
				measure: `${line.title}: events/s`,
				caskade: rates.events,
				baseline: rates.raw,
				comparedWith: 'raw SQLite, same rows',
				aim: line.raw.aim,
			}),
			compareRates({
				measure: `${line.title}: requests by a second of the writer's CPU`,
				caskade: rates.cpu,
				baseline: rates.rawCpu,
				comparedWith: 'raw SQLite, same rows',
				aim: line.raw.cpuAim,
			}),
		);
	return { rows, notes };
}

/** CPU of the threads that write, in microseconds so far. */
function writingUs(pid: number): number {
	const jobs = cpuByJob(pid);
	return (jobs.get('writing') ?? 0) + (jobs.get('checkpointing') ?? 0);
}

function rawSqlite(path: string, load: Load, uploads: number): Promise<RawOutput> {
	const input: RawInput = {
		path,
		prefix: nextPrefix(),
		tids: load.tids as Tids,
		inserts: uploads,
		rowsPerInsert: load.rows,
		insertsPerTransaction: rawRequestsPerTransaction,
	};
	return runProgram<RawOutput>('raw-sqlite.ts', input);
}

export const throughputBenchmarks: readonly Benchmark[] = [
	throughput('thirty', ({ caskade }) => ({
		title: `${eventsPerUpload} new events a request, durable`,
		load: { rows: eventsPerUpload, key: caskade.key, tids: 'rising' },
		status: 201,
		aim: 0.6,
		raw: { aim: 0.5, cpuAim: 0.85 },
	})),
	throughput('random', ({ caskade }) => ({
		title: `${eventsPerUpload} with random tids`,
		load: { rows: eventsPerUpload, key: caskade.key, tids: 'random' },
		status: 201,
		raw: {},
	})),
	throughput('single', ({ caskade }) => ({
		title: '1 new event a request, durable',
		load: { rows: 1, key: caskade.key, tids: 'rising' },
		status: 201,
		aim: 0.5,
	})),
	throughput('no-key', () => ({
		title: 'refused without a key',
		load: { rows: eventsPerUpload, key: '', tids: 'same' },
		status: 403,
		aim: 0.7,
	})),
	throughput('rate-limit', ({ caskade }) => ({
		title: 'refused by the rate limit',
		load: { rows: eventsPerUpload, key: caskade.limitedKey, tids: 'same' },
		status: 429,
		aim: 0.7,
	})),
];
