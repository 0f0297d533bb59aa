import { cpuByJob, cpuDuring, describeSplit } from './cpu.ts';
import { curveRows } from './curve.ts';
import type { Bench, Line, LineResult } from './line.ts';
import { memoryMiB } from './memory.ts';
import { firstRun, type LineName } from './options.ts';
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

/** What a server with visitors is sent in one measurement. */
export interface Mix {
	readonly title: string;
	/** Of one run: uploads are never the same twice. */
	readonly script: () => Script;
	/** One answer of it, for the bare server to give. */
	readonly sample: Answer;
	/** Share of what bare http does. */
	readonly aim?: number;
}

/** What a line needs of one server, once that runs. */
export interface Prepared {
	/** The same ones for every server. */
	readonly mixes: readonly Mix[];
	/** Checks what the server has done. @returns what the rows have no room for */
	finish?(): Promise<LineResult>;
}

interface OverBare {
	/** What bare http reads of a request: all of its body, or nothing. */
	readonly parse: boolean;
	/** Of the cost with the most visitors, over that with the fewest. */
	readonly costAim?: number;
	/** On places with so many visitors each. */
	readonly counts: readonly number[];
	prepare(server: RunningCaskade, population: Population): Promise<Prepared>;
}

/** Rows that compare a kind of request with bare http, at several numbers of visitors that alternate. */
export function overBare(
	name: LineName,
	engine: 'SQLite' | 'PostgreSQL',
	of: (bench: Bench) => OverBare,
): Line {
	return {
		name,
		measure: async (bench) => {
			const caskade = engine === 'SQLite' ? bench.caskade : (await bench.onPostgres()).caskade;
			return measure(bench, { name, engine, caskade, line: of(bench) });
		},
	};
}

interface Point {
	readonly title: string;
	readonly server: RunningCaskade;
	readonly prepared: Prepared;
	readonly memoryAtFirstMiB: number;
	/** For each mix. */
	readonly runs: Runs[];
}

interface Runs {
	readonly perSecond: number[];
	readonly costsUs: number[];
	/** Of the last run: which threads have used it. */
	split?: string;
}

async function measure(
	{ options, progress }: Bench,
	{ name, engine, caskade, line }: { name: LineName; engine: string; caskade: Caskade; line: OverBare },
): Promise<LineResult> {
	const points: Point[] = [];
	for (const count of line.counts) {
		progress(`${name}: ${engine} with ${whole(count)} visitors`);
		const population = await caskade.populated(count);
		const server = await caskade.serve(population.place, 'kept');
		const prepared = await line.prepare(server, population);
		points.push({
			title: `${engine}, ${whole(count)} visitors`,
			server,
			prepared,
			memoryAtFirstMiB: memoryMiB(server.pid, 'VmRSS'),
			runs: prepared.mixes.map(() => ({ perSecond: [], costsUs: [] })),
		});
	}
	const bares = await Promise.all(
		mixesOf(points).map(async ({ sample }) => ({
			server: await serveBare({ ...sample, parse: line.parse }),
			runs: { perSecond: [], costsUs: [] } as Runs,
		})),
	);
	for (let run = firstRun(options); run <= options.runs; run++) {
		const seconds = run === 0 ? options.warmUpSeconds : options.seconds;
		const which = run === 0 ? 'warm-up' : `run ${run} of ${options.runs}`;
		for (const [index, bare] of bares.entries()) {
			const { title, script, sample } = mixesOf(points)[index] as Mix;
			const expected = { name: title, status: sample.status };
			const measured: string[] = [];
			const take = async (runs: Runs, server: RunningProcess | RunningCaskade, from: () => Script) => {
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
			await take(bare.runs, bare.server, script);
			for (const { server, prepared, runs } of points)
				await take(runs[index] as Runs, server, (prepared.mixes[index] as Mix).script);
			progress(`${title}, ${which}: bare http ${measured.join(', ')}`);
		}
	}
	const rows = bares.flatMap((bare, index) => rowsOf(points, bare.runs, index, line.costAim));
	const notes: string[] = [];
	for (const { title, server, prepared, memoryAtFirstMiB, runs } of points) {
		for (const [index, { split }] of runs.entries())
			notes.push(`${prepared.mixes[index]?.title}, ${title}: CPU of a request by thread: ${split}.`);
		const finished = await prepared.finish?.();
		rows.push(...(finished?.rows ?? []));
		notes.push(...(finished?.notes ?? []));
		notes.push(
			`${name}, ${title}: resident memory ${whole(memoryAtFirstMiB)} MiB after the first answers, ${whole(memoryMiB(server.pid, 'VmRSS'))} MiB at the end, at most ${whole(memoryMiB(server.pid, 'VmHWM'))} MiB.`,
		);
	}
	await Promise.all([...points, ...bares].map(({ server }) => server.stop()));
	return { rows, notes };
}

function mixesOf(points: readonly Point[]): readonly Mix[] {
	return points[0]?.prepared.mixes ?? [];
}

function rowsOf(points: readonly Point[], bare: Runs, index: number, costAim: number | undefined): Row[] {
	const { title, aim } = mixesOf(points)[index] as Mix;
	const of = (point: Point) => point.runs[index] as Runs;
	const rows = points.flatMap((point) => [
		compareRates({
			measure: `${title}; ${point.title}: requests/s`,
			caskade: of(point).perSecond,
			ceiling: bare.perSecond,
			of: 'bare http, same answer',
			aim,
		}),
		{
			measure: `${title}; ${point.title}: CPU of a request`,
			caskade: `${median(of(point).costsUs).toFixed(1)} µs`,
			ceiling: `${median(bare.costsUs).toFixed(1)} µs`,
			of: 'bare http, same answer',
			ratio: (median(bare.costsUs) / median(of(point).costsUs)).toFixed(2),
			aim: '',
			result: '',
		},
	]);
	if (points.length < 2) return rows;
	const curve = curveRows(
		points.map((point) => ({
			measure: `${title}; ${point.title}: CPU of a request`,
			values: of(point).costsUs,
		})),
		'itself with the fewest',
		' µs',
	).slice(1);
	const largest = curve.pop() as Row;
	const growth = median(of(points.at(-1) as Point).costsUs) / median(of(points[0] as Point).costsUs);
	const judged = costAim !== undefined && { aim: `${costAim} or less`, result: verdict(growth <= costAim) };
	return [...rows, ...curve, { ...largest, ...judged }];
}
