import { latency } from './latency.ts';
import type { Bench, Line } from './line.ts';
import { describeMachine } from './machine.ts';
import { memory } from './memory.ts';
import { type Options, readOptions, usage } from './options.ts';
import { temporaryFolder } from './processes.ts';
import { Caskade } from './servers.ts';
import { startUp } from './start-up.ts';
import { formatTable, type Row } from './table.ts';
import { throughputLines } from './throughput.ts';
import { requireWrk } from './wrk.ts';

const lines: readonly Line[] = [...throughputLines, latency, memory, startUp];

async function main(options: Options): Promise<void> {
	await requireWrk();
	const startedAtMs = performance.now();
	const folder = temporaryFolder(options.folder);
	print(`${describeMachine(folder)}\n`);
	const bench: Bench = {
		options,
		caskade: await Caskade.prepare(folder),
		progress: (text) => process.stderr.write(`${text}\n`),
	};
	const rows: Row[] = [];
	const notes: string[] = [];
	for (const line of lines.filter(({ name }) => options.lines.includes(name))) {
		const result = await line.measure(bench);
		rows.push(...result.rows);
		notes.push(...result.notes);
	}
	print(`\n${formatTable(rows)}\n`);
	print(
		`Medians of ${options.runs} alternating runs of ${options.seconds} s after a warm-up; wrk, 1 thread, 64 connections.`,
	);
	for (const note of notes) print(note);
	print(`${((performance.now() - startedAtMs) / 1000).toFixed(0)} s in all.`);
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
