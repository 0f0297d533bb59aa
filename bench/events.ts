import { cpuDuring } from './cpu.ts';
import { curveRows } from './curve.ts';
import type { Bench, Line, LineResult } from './line.ts';
import { quietMetrics } from './metrics.ts';
import type { OpenLoopInput, OpenLoopResult } from './open-loop.ts';
import { firstRun } from './options.ts';
import { runProgram } from './processes.ts';
import { manyRows, nextPrefix, type Tids } from './rows.ts';
import { type Caskade, pidsOf, type RunningCaskade } from './servers.ts';
import { type Row, whole } from './table.ts';
import { connections } from './wrk.ts';

/**
 * So slow that the engines hardly notice, and a run adds few events to what is stored. At full load the smallest of
 * the places would soon be as large as the others.
 */
const ratePerSecond = 200;
const allTids: readonly Tids[] = ['rising', 'random'];

/** What a request costs as stored events grow in number. */
export const events: Line = {
	name: 'events',
	measure: (bench) => measure(bench, 'SQLite', bench.caskade),
};

/** The same on PostgreSQL. */
export const pgEvents: Line = {
	name: 'pg-events',
	measure: async (bench) => measure(bench, 'PostgreSQL', (await bench.onPostgres()).caskade),
};

async function measure({ options, progress }: Bench, engine: string, caskade: Caskade): Promise<LineResult> {
	const points: Point[] = [];
	for (const count of options.storedEvents) {
		progress(`${engine}: storing ${whole(count)} events`);
		const place = await caskade.newPlace();
		await place.prefill(count);
		const runs: Record<Tids, Run[]> = { rising: [], random: [] };
		points.push({
			name: `${engine}, ${whole(count)} events stored`,
			count,
			runs,
			server: await caskade.serve(place),
		});
	}
	for (let run = firstRun(options); run <= options.runs; run++) {
		for (const { name, runs, server } of points) {
			for (const tids of allTids) {
				const input: OpenLoopInput = {
					url: server.url,
					messages: { kind: 'uploads', key: caskade.key, rows: manyRows, prefix: nextPrefix(), tids },
					ratePerSecond,
					warmUpSeconds: 0,
					seconds: run === 0 ? options.warmUpSeconds : options.seconds,
					connections,
				};
				const before = await quietMetrics(server.metricsUrl);
				const { result, usedUs } = await cpuDuring(pidsOf(server), () =>
					runProgram<OpenLoopResult>('open-loop.ts', input),
				);
				const stored = (await quietMetrics(server.metricsUrl)).eventsStored - before.eventsStored;
				if (result.other > 0 || stored !== result.answered * manyRows)
					throw new Error(`${name}: ${result.answered} uploads were answered, ${stored} events stored.`);
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
		const added = (await server.place.countEvents()) - count;
		notes.push(`${name} at first, and ${whole(added)} more at the end.`);
		await server.stop();
	}
	const rows = (tids: Tids, what: string, of: (run: Run) => number): Row[] =>
		curveRows(
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
	/** Stored at first. */
	readonly count: number;
	readonly server: RunningCaskade;
	readonly runs: Readonly<Record<Tids, Run[]>>;
}

interface Run {
	readonly costUs: number;
	readonly p50Us: number;
}
