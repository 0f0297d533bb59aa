import type { BenchContext, Benchmark, BenchmarkResult } from './benchmark.ts';
import { cpuDuring } from './cpu.ts';
import { growthRows } from './growth.ts';
import { idleMetrics } from './metrics.ts';
import type { OpenLoopInput, OpenLoopResult } from './open-loop.ts';
import { firstRun } from './options.ts';
import { runProgram } from './processes.ts';
import { type Caskade, pidsOf, type RunningCaskade } from './servers.ts';
import { type Row, whole } from './table.ts';
import { eventsPerUpload, nextPrefix, type Tids } from './upload-bodies.ts';
import { connections } from './wrk.ts';

/**
 * A low rate, so that a run adds few events to those stored. At full load, the smallest database would soon be as large
 * as the others.
 */
const ratePerSecond = 200;
const allTids: readonly Tids[] = ['rising', 'random'];

/** CPU time and median latency of uploads as the number of stored events grows. */
export const events: Benchmark = {
	name: 'events',
	measure: (bench) => measure(bench, 'SQLite', bench.caskade),
};

/** The same measurement on PostgreSQL. */
export const pgEvents: Benchmark = {
	name: 'pg-events',
	measure: async (bench) => measure(bench, 'PostgreSQL', (await bench.onPostgres()).caskade),
};

async function measure(
	{ options, progress }: BenchContext,
	engine: string,
	caskade: Caskade,
): Promise<BenchmarkResult> {
	const points: Point[] = [];
	for (const count of options.storedEvents) {
		progress(`${engine}: storing ${whole(count)} events`);
		const database = await caskade.newDatabase();
		await database.addEvents(count);
		const runs: Record<Tids, Run[]> = { rising: [], random: [] };
		points.push({
			name: `${engine}, ${whole(count)} events stored`,
			count,
			runs,
			server: await caskade.serve(database),
		});
	}
	for (let run = firstRun(options); run <= options.runs; run++) {
		for (const { name, runs, server } of points) {
			for (const tids of allTids) {
				const input: OpenLoopInput = {
					url: server.url,
					requests: { kind: 'uploads', key: caskade.key, rows: eventsPerUpload, prefix: nextPrefix(), tids },
					ratePerSecond,
					warmUpSeconds: 0,
					seconds: run === 0 ? options.warmUpSeconds : options.seconds,
					connections,
				};
				const before = await idleMetrics(server.metricsUrl);
				const { result, usedUs } = await cpuDuring(pidsOf(server), () =>
					runProgram<OpenLoopResult>('open-loop.ts', input),
				);
				const stored = (await idleMetrics(server.metricsUrl)).eventsStored - before.eventsStored;
				if (result.unexpected > 0 || stored !== result.answered * eventsPerUpload)
					throw new Error(
						`${name}: ${result.answered} uploads were answered, but ${stored} events were stored.`,
					);
				const costUs = usedUs.reduce((sum, us) => sum + us, 0) / result.answered;
				progress(
					`${name}, ${tids} tids, ${run === 0 ? 'warm-up' : `run ${run} of ${options.runs}`}: ${whole(costUs)} µs of CPU a request, p50 ${result.p50Ms.toFixed(2)} ms`,
				);
				if (run > 0) runs[tids].push({ costUs, p50Us: result.p50Ms * 1000 });
			}
		}
	}
	const notes: string[] = [];
	for (const { name, count, server } of points) {
		const added = (await server.database.countEvents()) - count;
		notes.push(`${name} before the first run, and ${whole(added)} more after the last.`);
		await server.stop();
	}
	const rows = (tids: Tids, what: string, of: (run: Run) => number): Row[] =>
		growthRows(
			points.map(({ name, runs }) => ({
				measure: `${name}, ${tids} tids: ${what}`,
				values: runs[tids].map(of),
			})),
			'itself with the fewest',
			' µs',
		);
	return {
		rows: allTids.flatMap((tids) => [
			...rows(tids, 'CPU of a request', ({ costUs }) => costUs),
			...rows(tids, 'p50', ({ p50Us }) => p50Us),
		]),
		notes,
	};
}

interface Point {
	readonly name: string;
	/** Events stored before the first run. */
	readonly count: number;
	readonly server: RunningCaskade;
	readonly runs: Readonly<Record<Tids, Run[]>>;
}

interface Run {
	readonly costUs: number;
	readonly p50Us: number;
}
