import type { BenchContext, Benchmark, BenchmarkResult } from './benchmark.ts';
import { cpuByJob, cpuDuring, describeSplit } from './cpu.ts';
import { growthRows } from './growth.ts';
import { memoryMiB } from './memory.ts';
import { type BenchmarkName, firstRun } from './options.ts';
import {
	type Answer,
	type Caskade,
	type Population,
	pidsOf,
	type RunningCaskade,
	type RunningProcess,
	serveBare,
} from './servers.ts';
import { checkAnswers, countedAnswers } from './stored-count.ts';
import { compareRates, median, type Row, verdict, whole } from './table.ts';
import { type Script, wrkScript } from './wrk.ts';

/** A kind of request that is measured. */
export interface LoadKind {
	readonly title: string;
	/** Returns the wrk script of one run. Each run needs a new one, because uploads must not repeat. */
	readonly script: () => Script;
	/** An answer of the service, which the bare server then gives. */
	readonly sample: Answer;
	/** Minimum throughput, as a share of bare http's. */
	readonly aim?: number;
	/** Maximum CPU time of a request in microseconds, on a quiet machine. */
	readonly aimUs?: number;
}

/** The load for one server, prepared once that is running. */
export interface PreparedLoad {
	/** The same kinds in the same order for every server. */
	readonly loadKinds: readonly LoadKind[];
	/** Checks what the server has stored. @returns further rows and notes */
	finish?(): Promise<BenchmarkResult>;
}

interface BareHttpComparison {
	/** Whether bare http parses the body, or ignores it. */
	readonly parse: boolean;
	/** Maximum CPU time with the most visitors, as a multiple of that with the fewest. */
	readonly maxGrowth?: number;
	/** The numbers of visitors, one database each. */
	readonly visitorCounts: readonly number[];
	prepare(server: RunningCaskade, population: Population): Promise<PreparedLoad>;
}

/** A benchmark that compares kinds of requests with bare http, at several numbers of visitors. The runs alternate. */
export function againstBareHttp(
	name: BenchmarkName,
	engine: 'SQLite' | 'PostgreSQL',
	of: (bench: BenchContext) => BareHttpComparison,
): Benchmark {
	return {
		name,
		measure: async (bench) => {
			const caskade = engine === 'SQLite' ? bench.caskade : (await bench.onPostgres()).caskade;
			return measure(bench, { name, engine, caskade, comparison: of(bench) });
		},
	};
}

interface Point {
	readonly title: string;
	readonly server: RunningCaskade;
	readonly prepared: PreparedLoad;
	readonly memoryAtFirstMiB: number;
	/** The runs of each kind of load. */
	readonly runs: Runs[];
}

interface Runs {
	readonly perSecond: number[];
	readonly costsUs: number[];
	/** CPU time by thread in the last run. */
	split?: string;
}

async function measure(
	{ options, progress }: BenchContext,
	{
		name,
		engine,
		caskade,
		comparison,
	}: { name: BenchmarkName; engine: string; caskade: Caskade; comparison: BareHttpComparison },
): Promise<BenchmarkResult> {
	const points: Point[] = [];
	for (const count of comparison.visitorCounts) {
		progress(`${name}: ${engine} with ${whole(count)} visitors`);
		const population = await caskade.populated(count);
		const server = await caskade.serve(population.database, 'kept');
		const prepared = await comparison.prepare(server, population);
		points.push({
			title: `${engine}, ${whole(count)} visitors`,
			server,
			prepared,
			memoryAtFirstMiB: memoryMiB(server.pid, 'VmRSS'),
			runs: prepared.loadKinds.map(() => ({ perSecond: [], costsUs: [] })),
		});
	}
	const bares = await Promise.all(
		loadKindsOf(points).map(async ({ sample }) => ({
			server: await serveBare({ ...sample, parse: comparison.parse }),
			runs: { perSecond: [], costsUs: [] } as Runs,
		})),
	);
	for (let run = firstRun(options); run <= options.runs; run++) {
		const seconds = run === 0 ? options.warmUpSeconds : options.seconds;
		const which = run === 0 ? 'warm-up' : `run ${run} of ${options.runs}`;
		for (const [index, bare] of bares.entries()) {
			const { title, script, sample } = loadKindsOf(points)[index] as LoadKind;
			const expected = { name: title, status: sample.status };
			const measured: string[] = [];
			const measureServer = async (
				runs: Runs,
				server: RunningProcess | RunningCaskade,
				from: () => Script,
			) => {
				const load = () => wrkScript(server.url, from(), seconds);
				const isCaskade = 'metricsUrl' in server;
				const before = cpuByJob(server.pid);
				const { result, usedUs } = await cpuDuring(isCaskade ? pidsOf(server) : [server.pid], async () =>
					isCaskade ? (await countedAnswers(server.metricsUrl, expected, load)).result : load(),
				);
				const ofEngine =
					usedUs[1] === undefined ? '' : `, PostgreSQL ${(usedUs[1] / result.requests).toFixed(1)} µs`;
				runs.split = `${describeSplit(before, cpuByJob(server.pid), result.requests)}${ofEngine}`;
				checkAnswers(result, expected);
				const costUs = usedUs.reduce((sum, us) => sum + us, 0) / result.requests;
				measured.push(`${whole(result.requests / result.seconds)}/s (${costUs.toFixed(1)} µs of CPU each)`);
				if (run === 0) return;
				runs.perSecond.push(result.requests / result.seconds);
				runs.costsUs.push(costUs);
			};
			await measureServer(bare.runs, bare.server, script);
			for (const { server, prepared, runs } of points)
				await measureServer(runs[index] as Runs, server, (prepared.loadKinds[index] as LoadKind).script);
			progress(`${title}, ${which}: bare http ${measured.join(', ')}`);
		}
	}
	const rows = bares.flatMap((bare, index) => rowsOf(points, bare.runs, index, comparison.maxGrowth));
	const notes: string[] = [];
	for (const { title, server, prepared, memoryAtFirstMiB, runs } of points) {
		for (const [index, { split }] of runs.entries())
			notes.push(`${prepared.loadKinds[index]?.title}, ${title}: CPU of a request by thread: ${split}.`);
		const finished = await prepared.finish?.();
		rows.push(...(finished?.rows ?? []));
		notes.push(...(finished?.notes ?? []));
		notes.push(
			`${name}, ${title}: resident memory ${whole(memoryAtFirstMiB)} MiB after the first answers, ${whole(memoryMiB(server.pid, 'VmRSS'))} MiB at the end, ${whole(memoryMiB(server.pid, 'VmHWM'))} MiB at the peak.`,
		);
	}
	await Promise.all([...points, ...bares].map(({ server }) => server.stop()));
	return { rows, notes };
}

function loadKindsOf(points: readonly Point[]): readonly LoadKind[] {
	return points[0]?.prepared.loadKinds ?? [];
}

function rowsOf(points: readonly Point[], bare: Runs, index: number, maxGrowth: number | undefined): Row[] {
	const { title, aim, aimUs } = loadKindsOf(points)[index] as LoadKind;
	const of = (point: Point) => point.runs[index] as Runs;
	const rows = points.flatMap((point) => [
		compareRates({
			measure: `${title}; ${point.title}: requests/s`,
			caskade: of(point).perSecond,
			baseline: bare.perSecond,
			comparedWith: 'bare http, same answer',
			aim,
		}),
		{
			measure: `${title}; ${point.title}: CPU of a request`,
			caskade: `${median(of(point).costsUs).toFixed(1)} µs`,
			baseline: `${median(bare.costsUs).toFixed(1)} µs`,
			comparedWith: 'bare http, same answer',
			ratio: (median(bare.costsUs) / median(of(point).costsUs)).toFixed(2),
			aim: aimUs === undefined ? '' : `${whole(aimUs)} µs or less`,
			result: aimUs === undefined ? '' : verdict(median(of(point).costsUs) <= aimUs),
		},
	]);
	if (points.length < 2) return rows;
	const growing = growthRows(
		points.map((point) => ({
			measure: `${title}; ${point.title}: CPU of a request`,
			values: of(point).costsUs,
		})),
		'itself with the fewest',
		' µs',
	).slice(1);
	const largest = growing.pop() as Row;
	const growth = median(of(points.at(-1) as Point).costsUs) / median(of(points[0] as Point).costsUs);
	const judged = maxGrowth !== undefined && {
		aim: `${maxGrowth} or less`,
		result: verdict(growth <= maxGrowth),
	};
	return [...rows, ...growing, { ...largest, ...judged }];
}
