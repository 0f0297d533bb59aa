import type { BenchContext, Benchmark, BenchmarkResult } from './benchmark.ts';
import { cpuDuring } from './cpu.ts';
import { type GrowthPoint, growthRows } from './growth.ts';
import { firstRun } from './options.ts';
import { PostgresBenchDatabase } from './postgres-database.ts';
import { type Caskade, pidsOf, type RunningCaskade } from './servers.ts';
import { StoredCount } from './stored-count.ts';
import { median, type Row, whole } from './table.ts';
import { eventsPerUpload } from './upload-bodies.ts';
import { type Load, wrk } from './wrk.ts';

/** CPU time and throughput of uploads as the number of accounts grows. Each request goes to a random account. */
export const accounts: Benchmark = {
	name: 'accounts',
	measure: (bench) => measure(bench, 'SQLite', bench.caskade),
};

/** The same measurement on PostgreSQL, and the time of a `caskade migrate` that finds nothing to do. */
export const pgAccounts: Benchmark = {
	name: 'pg-accounts',
	measure: async (bench) => measure(bench, 'PostgreSQL', (await bench.onPostgres()).caskade),
};

async function measure(
	{ options, progress }: BenchContext,
	engine: string,
	caskade: Caskade,
): Promise<BenchmarkResult> {
	const migrations: Row[] = [];
	const points: Point[] = [];
	for (const count of options.accountCounts) {
		const database = await caskade.newDatabase();
		await database.addAccounts(count);
		if (database instanceof PostgresBenchDatabase && count > 1)
			migrations.push(await migrationRow(database, count));
		const server = await caskade.serve(database);
		const load: Load = { rows: eventsPerUpload, key: caskade.key, tids: 'rising', accounts: count };
		const name = `${engine}, ${whole(count)} ${count === 1 ? 'account' : 'accounts'}`;
		const store = await StoredCount.begin(server, { name, load, status: 201 });
		points.push({ name, server, load, store, perSecond: [], costsUs: [], costsByProcessUs: [] });
	}
	for (let run = firstRun(options); run <= options.runs; run++) {
		const seconds = run === 0 ? options.warmUpSeconds : options.seconds;
		for (const { name, server, load, store, perSecond, costsUs, costsByProcessUs } of points) {
			const { result: stored, usedUs } = await cpuDuring(pidsOf(server), () =>
				store.during(() => wrk(server.url, load, seconds)),
			);
			const rate = stored.result.requests / stored.result.seconds;
			const costUs = usedUs.reduce((sum, us) => sum + us, 0) / stored.uploads;
			progress(
				`${name}, ${run === 0 ? 'warm-up' : `run ${run} of ${options.runs}`}: ${whole(rate)} requests/s, ${whole(costUs)} µs of CPU each`,
			);
			if (run === 0) continue;
			perSecond.push(rate);
			costsUs.push(costUs);
			costsByProcessUs.push(usedUs.map((us) => us / stored.uploads));
		}
	}
	await Promise.all(points.map(({ server }) => server.stop()));
	const curve = (what: string, of: (point: Point) => readonly number[]): GrowthPoint[] =>
		points.map((point) => ({ measure: `${point.name}: ${what}`, values: of(point) }));
	return {
		rows: [
			...growthRows(
				curve('requests/s', ({ perSecond }) => perSecond),
				'itself with 1',
			),
			...growthRows(
				curve('CPU of a request', ({ costsUs }) => costsUs),
				'itself with 1',
				' µs',
			),
			...migrations,
		],
		notes: points.flatMap(({ name, server, costsByProcessUs }) => {
			if (server.database.enginePid === undefined) return [];
			const [serviceUs, postgresUs] = [0, 1].map((each) =>
				whole(median(costsByProcessUs.map((us) => us[each] ?? Number.NaN))),
			);
			return [`${name}: CPU of a request: ${serviceUs} µs in the service, ${postgresUs} µs in PostgreSQL.`];
		}),
	};
}

interface Point {
	readonly name: string;
	readonly server: RunningCaskade;
	readonly load: Load;
	readonly store: StoredCount;
	readonly perSecond: number[];
	/** CPU time per request, of all processes together. */
	readonly costsUs: number[];
	/** CPU time per request of the service and, if there is one, of the PostgreSQL server. */
	readonly costsByProcessUs: number[][];
}

async function migrationRow(database: PostgresBenchDatabase, count: number): Promise<Row> {
	const seconds = await database.migrateSeconds();
	return {
		measure: `caskade migrate, ${whole(count)} accounts: finds nothing to do`,
		caskade: `${seconds.toFixed(1)} s`,
		baseline: '',
		comparedWith: `${((seconds * 1000) / count).toFixed(2)} ms an account`,
		ratio: '',
		aim: '',
		result: '',
	};
}
