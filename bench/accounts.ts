import { cpuDuring } from './cpu.ts';
import { type CurvePoint, curveRows } from './curve.ts';
import type { Bench, Line, LineResult } from './line.ts';
import { firstRun } from './options.ts';
import { PostgresPlace } from './postgres-place.ts';
import { manyRows } from './rows.ts';
import { type Caskade, pidsOf, type RunningCaskade } from './servers.ts';
import { StoredCount } from './stored-count.ts';
import { median, type Row, whole } from './table.ts';
import { type Load, wrk } from './wrk.ts';

/** What a request costs as accounts grow in number: as many requests as it takes, spread over them at random. */
export const accounts: Line = {
	name: 'accounts',
	measure: (bench) => measure(bench, 'SQLite', bench.caskade),
};

/** The same on PostgreSQL, and how long `caskade migrate` takes where there is nothing to do. */
export const pgAccounts: Line = {
	name: 'pg-accounts',
	measure: async (bench) => measure(bench, 'PostgreSQL', (await bench.onPostgres()).caskade),
};

async function measure({ options, progress }: Bench, engine: string, caskade: Caskade): Promise<LineResult> {
	const migrations: Row[] = [];
	const points: Point[] = [];
	for (const count of options.accountCounts) {
		const place = await caskade.newPlace();
		await place.addAccounts(count);
		if (place instanceof PostgresPlace && count > 1) migrations.push(await migrationRow(place, count));
		const server = await caskade.serve(place);
		const load: Load = { rows: manyRows, key: caskade.key, tids: 'rising', accounts: count };
		const name = `${engine}, ${whole(count)} ${count === 1 ? 'account' : 'accounts'}`;
		const store = await StoredCount.begin(server, { name, load, status: 201 });
		points.push({ name, server, load, store, perSecond: [], costsUs: [], costsOfEach: [] });
	}
	for (let run = firstRun(options); run <= options.runs; run++) {
		const seconds = run === 0 ? options.warmUpSeconds : options.seconds;
		for (const { name, server, load, store, perSecond, costsUs, costsOfEach } of points) {
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
			costsOfEach.push(usedUs.map((us) => us / stored.uploads));
		}
	}
	await Promise.all(points.map(({ server }) => server.stop()));
	const curve = (what: string, of: (point: Point) => readonly number[]): CurvePoint[] =>
		points.map((point) => ({ measure: `${point.name}: ${what}`, values: of(point) }));
	return {
		rows: [
			...curveRows(
				curve('requests/s', ({ perSecond }) => perSecond),
				'itself with 1',
			),
			...curveRows(
				curve('CPU of a request', ({ costsUs }) => costsUs),
				'itself with 1',
				' µs',
			),
			...migrations,
		],
		notes: points.flatMap(({ name, server, costsOfEach }) => {
			if (server.place.enginePid === undefined) return [];
			const [service, ofEngine] = [0, 1].map((each) =>
				whole(median(costsOfEach.map((us) => us[each] ?? Number.NaN))),
			);
			return [`${name}: CPU of a request: ${service} µs in the service, ${ofEngine} µs in PostgreSQL.`];
		}),
	};
}

interface Point {
	readonly name: string;
	readonly server: RunningCaskade;
	readonly load: Load;
	readonly store: StoredCount;
	readonly perSecond: number[];
	/** By all processes, and by each: the service, and its engine where that is another. */
	readonly costsUs: number[];
	readonly costsOfEach: number[][];
}

async function migrationRow(place: PostgresPlace, count: number): Promise<Row> {
	const seconds = await place.migrateSeconds();
	return {
		measure: `caskade migrate, ${whole(count)} accounts: finds nothing to do`,
		caskade: `${seconds.toFixed(1)} s`,
		ceiling: '',
		of: `${((seconds * 1000) / count).toFixed(2)} ms an account`,
		ratio: '',
		aim: '',
		result: '',
	};
}
