import type { Benchmark } from './benchmark.ts';
import { maxCasks, writeCasks } from './casks.ts';
import { cpuByJob, cpuDuring, describeSplit } from './cpu.ts';
import { beginVisits } from './hits.ts';
import { firstRun } from './options.ts';
import type { RunningCaskade } from './servers.ts';
import { countedAnswers } from './stored-count.ts';
import { median, type Row, verdict } from './table.ts';
import { eventsPerUpload } from './upload-bodies.ts';
import { type Script, uploads, wrkScript } from './wrk.ts';

const visitors = 10_000;
const kinds = ['30 new events', 'POST /hit', 'GET /visscores'] as const;
type Kind = (typeof kinds)[number];
/** A longer warm-up, because each thread compiles for itself and gets only half of the requests. */
const warmUpFactor = 5;
/** Maximum CPU time with two workers, as a multiple of that with one. */
const maxRatio = 1.1;

interface Point {
	readonly workers: number;
	readonly server: RunningCaskade;
	readonly scripts: Readonly<Record<Kind, () => Script>>;
	readonly statuses: Readonly<Record<Kind, number>>;
	readonly costsUs: Readonly<Record<Kind, number[]>>;
	readonly splits: Partial<Record<Kind, string>>;
}

/** CPU time of a request with two serving threads, compared with one, on the embedded database. */
export const workersBenchmark: Benchmark = {
	name: 'workers',
	async measure({ options, caskade, progress }) {
		const points: Point[] = [];
		for (const workers of [1, 2]) {
			const database = await caskade.newDatabase();
			await database.addVisitors(visitors);
			const server = await caskade.serve(database, undefined, workers);
			const { script: hits } = await beginVisits(server, caskade.folder);
			const { valid } = await writeCasks(database, caskade.folder);
			const reads = { TARGET: '/visscores', CASKS: valid, MAX_CASKS: String(maxCasks) };
			points.push({
				workers,
				server,
				scripts: {
					'30 new events': () => uploads({ rows: eventsPerUpload, key: caskade.key, tids: 'rising' }),
					'POST /hit': () => hits,
					'GET /visscores': () => ({ file: 'reads.lua', env: reads }),
				},
				statuses: { '30 new events': 201, 'POST /hit': 200, 'GET /visscores': 200 },
				costsUs: { '30 new events': [], 'POST /hit': [], 'GET /visscores': [] },
				splits: {},
			});
		}
		for (let run = firstRun(options); run <= options.runs; run++) {
			const seconds = run === 0 ? warmUpFactor * options.warmUpSeconds : options.seconds;
			for (const kind of kinds) {
				const measured: string[] = [];
				for (const { workers, server, scripts, statuses, costsUs, splits } of points) {
					const before = cpuByJob(server.pid);
					const { result, usedUs } = await cpuDuring([server.pid], () =>
						countedAnswers(server.metricsUrl, { name: kind, status: statuses[kind] }, () =>
							wrkScript(server.url, scripts[kind](), seconds),
						),
					);
					const { requests } = result.result;
					const costUs = (usedUs[0] as number) / requests;
					measured.push(`${costUs.toFixed(1)} µs with ${workers}`);
					if (run === 0) continue;
					costsUs[kind].push(costUs);
					splits[kind] = describeSplit(before, cpuByJob(server.pid), requests);
				}
				progress(`workers, ${kind}, ${run === 0 ? 'warm-up' : `run ${run}`}: ${measured.join(', ')}`);
			}
		}
		await Promise.all(points.map(({ server }) => server.stop()));
		return {
			rows: kinds.map((kind) => rowOf(kind, points)),
			notes: points.flatMap(({ workers, splits }) =>
				kinds.map((kind) => `${kind}, --workers ${workers}: CPU of a request by thread: ${splits[kind]}.`),
			),
		};
	},
};

function rowOf(kind: Kind, [one, two]: readonly Point[]): Row {
	const [oneUs, twoUs] = [one, two].map((point) => median(point?.costsUs[kind] ?? []));
	const ratio = (twoUs as number) / (oneUs as number);
	return {
		measure: `${kind}, SQLite, two workers: CPU of a request`,
		caskade: `${twoUs?.toFixed(1)} µs`,
		baseline: `${oneUs?.toFixed(1)} µs`,
		comparedWith: 'one worker',
		ratio: ratio.toFixed(2),
		aim: `${maxRatio} or less`,
		result: verdict(ratio <= maxRatio),
	};
}
