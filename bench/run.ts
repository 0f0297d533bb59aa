import { join } from 'node:path';
import { accounts, pgAccounts } from './accounts.ts';
import { compareWith } from './against.ts';
import type { BenchContext, Benchmark, OnPostgres } from './benchmark.ts';
import { events, pgEvents } from './events.ts';
import { writeFigures } from './figures.ts';
import { hitBenchmark, pgHitBenchmark } from './hits.ts';
import { joinedBenchmark, pgJoinedBenchmark } from './joined-uploads.ts';
import { latency } from './latency.ts';
import { describeMachine } from './machine.ts';
import { memory } from './memory.ts';
import { type BenchmarkName, type Options, parseOptions, usage } from './options.ts';
import { requirePgbench } from './pgbench.ts';
import { PostgresBenchDatabase } from './postgres-database.ts';
import { PostgresServer } from './postgres-server.ts';
import { pgThroughputBenchmarks } from './postgres-throughput.ts';
import { temporaryFolder } from './processes.ts';
import { pgReadBenchmarks, readBenchmarks } from './reads.ts';
import { readsUnderLoad } from './reads-under-load.ts';
import { scoreCost } from './score-cost.ts';
import { Caskade } from './servers.ts';
import { SqliteBenchDatabase } from './sqlite-database.ts';
import { startUp } from './start-up.ts';
import { formatTable, type Row } from './table.ts';
import { throughputBenchmarks } from './throughput.ts';
import { connections, requireWrk } from './wrk.ts';

const benchmarks: readonly Benchmark[] = [
	...throughputBenchmarks,
	latency,
	memory,
	startUp,
	accounts,
	events,
	...readBenchmarks,
	hitBenchmark,
	joinedBenchmark,
	readsUnderLoad,
	scoreCost,
	...pgThroughputBenchmarks,
	pgAccounts,
	pgEvents,
	...pgReadBenchmarks,
	pgHitBenchmark,
	pgJoinedBenchmark,
];
const needsPgbench: readonly BenchmarkName[] = ['pg-thirty', 'pg-random'];

async function main(options: Options): Promise<void> {
	await requireWrk();
	if (options.benchmarks.some((name) => needsPgbench.includes(name))) await requirePgbench();
	const startedAtMs = performance.now();
	const folder = temporaryFolder(options.folder);
	const machine = describeMachine(folder);
	print(`${machine}\n`);
	let postgres: Promise<OnPostgres> | undefined;
	const bench: BenchContext = {
		options,
		caskade: await Caskade.prepare(folder, new SqliteBenchDatabase(join(folder, 'data'))),
		onPostgres: () => {
			postgres ??= startPostgres(folder);
			return postgres;
		},
		progress: (text) => process.stderr.write(`${text}\n`),
	};
	const rows: Row[] = [];
	const notes: string[] = [];
	for (const benchmark of benchmarks.filter(({ name }) => options.benchmarks.includes(name))) {
		const result = await benchmark.measure(bench);
		rows.push(...result.rows);
		notes.push(...result.notes);
	}
	await (await postgres)?.server.stop();
	print(`\n${formatTable(rows)}\n`);
	const method = `Medians of ${options.runs} alternating runs of ${options.seconds} s after a warm-up; wrk with 1 thread and ${connections} connections.`;
	print(method);
	if (postgres) print((await postgres).server.description);
	for (const note of notes) print(note);
	print(`${((performance.now() - startedAtMs) / 1000).toFixed(0)} s in total.`);
	if (options.writes)
		writeFigures(rows, [
			`Measured on ${new Date().toISOString().slice(0, 10)}.`,
			...machine.split('\n'),
			method,
			...notes,
		]);
}

async function compare(options: Options, ref: string): Promise<void> {
	await requireWrk();
	const folder = temporaryFolder(options.folder);
	print(`${describeMachine(folder)}\n`);
	const isJudged = await compareWith(ref, options, {
		folder,
		print,
		progress: (text) => process.stderr.write(`${text}\n`),
	});
	if (!isJudged) process.exitCode = 1;
}

async function startPostgres(folder: string): Promise<OnPostgres> {
	const server = await PostgresServer.start(folder);
	const caskade = await Caskade.prepare(folder, await PostgresBenchDatabase.create(server, 'bench'));
	return { server, caskade };
}

function print(text: string): void {
	process.stdout.write(`${text}\n`);
}

try {
	const options = parseOptions(process.argv.slice(2));
	if (options === 'help') print(usage);
	else if (options.against !== undefined) await compare(options, options.against);
	else await main(options);
} catch (error) {
	process.stderr.write(`bench: ${error instanceof Error ? error.message : error}\n`);
	process.exit(1);
}
