import { join } from 'node:path';
import { accounts, pgAccounts } from './accounts.ts';
import { events, pgEvents } from './events.ts';
import { writeFigures } from './figures.ts';
import { hitLine, pgHitLine } from './hits.ts';
import { joinedLine, pgJoinedLine } from './joined.ts';
import { latency } from './latency.ts';
import type { Bench, Line, OnPostgres } from './line.ts';
import { describeMachine } from './machine.ts';
import { memory } from './memory.ts';
import { type LineName, type Options, readOptions, usage } from './options.ts';
import { pgThroughputLines } from './pg-throughput.ts';
import { requirePgbench } from './pgbench.ts';
import { PostgresPlace } from './postgres-place.ts';
import { PostgresServer } from './postgres-server.ts';
import { temporaryFolder } from './processes.ts';
import { pgReadLines, readLines } from './reads.ts';
import { readsUnderLoad } from './reads-under-load.ts';
import { scoreCost } from './score-cost.ts';
import { Caskade } from './servers.ts';
import { SqlitePlace } from './sqlite-place.ts';
import { startUp } from './start-up.ts';
import { formatTable, type Row } from './table.ts';
import { throughputLines } from './throughput.ts';
import { workersLine } from './workers.ts';
import { requireWrk } from './wrk.ts';

const lines: readonly Line[] = [
	...throughputLines,
	latency,
	memory,
	startUp,
	accounts,
	events,
	...readLines,
	hitLine,
	joinedLine,
	readsUnderLoad,
	scoreCost,
	workersLine,
	...pgThroughputLines,
	pgAccounts,
	pgEvents,
	...pgReadLines,
	pgHitLine,
	pgJoinedLine,
];
const needPgbench: readonly LineName[] = ['pg-thirty', 'pg-random'];

async function main(options: Options): Promise<void> {
	await requireWrk();
	if (options.lines.some((name) => needPgbench.includes(name))) await requirePgbench();
	const startedAtMs = performance.now();
	const folder = temporaryFolder(options.folder);
	const machine = describeMachine(folder);
	print(`${machine}\n`);
	let postgres: Promise<OnPostgres> | undefined;
	const bench: Bench = {
		options,
		caskade: await Caskade.prepare(folder, new SqlitePlace(join(folder, 'data'))),
		onPostgres: () => {
			postgres ??= startPostgres(folder);
			return postgres;
		},
		progress: (text) => process.stderr.write(`${text}\n`),
	};
	const rows: Row[] = [];
	const notes: string[] = [];
	for (const line of lines.filter(({ name }) => options.lines.includes(name))) {
		const result = await line.measure(bench);
		rows.push(...result.rows);
		notes.push(...result.notes);
	}
	await (await postgres)?.server.stop();
	print(`\n${formatTable(rows)}\n`);
	const method = `Medians of ${options.runs} alternating runs of ${options.seconds} s after a warm-up; wrk, 1 thread, 64 connections.`;
	print(method);
	if (postgres) print((await postgres).server.description);
	for (const note of notes) print(note);
	print(`${((performance.now() - startedAtMs) / 1000).toFixed(0)} s in all.`);
	if (options.writes)
		writeFigures(rows, [
			`Taken on ${new Date().toISOString().slice(0, 10)}.`,
			...machine.split('\n'),
			method,
			...notes,
		]);
}

async function startPostgres(folder: string): Promise<OnPostgres> {
	const server = await PostgresServer.start(folder);
	const caskade = await Caskade.prepare(folder, await PostgresPlace.create(server, 'bench'));
	return { server, caskade };
}

function print(text: string): void {
	process.stdout.write(`${text}\n`);
}

try {
	const options = readOptions(process.argv.slice(2));
	if (options === 'help') print(usage);
	else await main(options);
} catch (error) {
	process.stderr.write(`bench: ${error instanceof Error ? error.message : error}\n`);
	process.exit(1);
}
