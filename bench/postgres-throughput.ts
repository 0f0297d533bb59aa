import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashApiKey } from '../src/core/domain/api-key.ts';
import type { BenchContext, Benchmark, BenchmarkResult } from './benchmark.ts';
import { cpuDuring } from './cpu.ts';
import { type BenchmarkName, firstRun } from './options.ts';
import { pgbench } from './pgbench.ts';
import { PostgresBenchDatabase } from './postgres-database.ts';
import type { PostgresServer } from './postgres-server.ts';
import { serveBare, serveBaseline, upload } from './servers.ts';
import { checkAnswers, type ExpectedUploads, StoredCount } from './stored-count.ts';
import { compareRates, median, whole } from './table.ts';
import { aidOf, eventsPerUpload, type Tids } from './upload-bodies.ts';
import { type WrkResult, wrk } from './wrk.ts';

/** Uploads on PostgreSQL, compared with pgbench, bare `node:http` and the hand-written service of `baseline/`. */
function pgThroughput(name: BenchmarkName, tids: Tids): Benchmark {
	return { name, measure: (bench) => measure(bench, name, tids) };
}

export const pgThroughputBenchmarks: readonly Benchmark[] = [
	pgThroughput('pg-thirty', 'rising'),
	pgThroughput('pg-random', 'random'),
];

async function measure(bench: BenchContext, name: BenchmarkName, tids: Tids): Promise<BenchmarkResult> {
	const { options, progress } = bench;
	const { server: postgres, caskade } = await bench.onPostgres();
	const expected: ExpectedUploads = {
		name,
		load: { rows: eventsPerUpload, key: caskade.key, tids },
		status: 201,
	};
	const service = await caskade.serve();
	const bare = await serveBare({ ...(await upload(service.url, caskade.key, eventsPerUpload)), parse: true });
	const baseline = await startBaseline(postgres, name.replace('-', '_'), caskade.key);
	const raw = await caskade.newDatabase();
	const store = await StoredCount.begin(service, expected);
	const rates: Record<'bare' | 'caskade' | 'baseline' | 'raw', number[]> = {
		bare: [],
		caskade: [],
		baseline: [],
		raw: [],
	};
	const costs: number[][] = [];
	const baselineCosts: number[][] = [];
	let baselineAnswers = 0;
	let rawTransactions = 0;
	for (let run = firstRun(options); run <= options.runs; run++) {
		const seconds = run === 0 ? options.warmUpSeconds : options.seconds;
		const load = (url: string) => wrk(url, expected.load, seconds);
		const bareResult = await load(bare.url);
		const { result: stored, usedUs } = await cpuDuring([service.pid, postgres.pid], () =>
			store.during(() => load(service.url)),
		);
		const rawResult = await pgbench({
			address: raw.address,
			rows: eventsPerUpload,
			tids,
			seconds,
			folder: caskade.folder,
		});
		const { result: baselineResult, usedUs: baselineUs } = await cpuDuring([baseline.pid, postgres.pid], () =>
			load(baseline.url),
		);
		checkAnswers(baselineResult, expected);
		baselineAnswers += baselineResult.requests;
		rawTransactions += rawResult.transactions;
		if (run === 0) continue;
		const perSecond = ({ requests, seconds }: WrkResult) => requests / seconds;
		rates.bare.push(perSecond(bareResult));
		rates.caskade.push(perSecond(stored.result));
		rates.baseline.push(perSecond(baselineResult));
		rates.raw.push(rawResult.perSecond);
		costs.push(usedUs.map((us) => us / stored.uploads));
		baselineCosts.push(baselineUs.map((us) => us / baselineResult.requests));
		progress(
			`${name}, run ${run} of ${options.runs}: ${whole(perSecond(stored.result))} requests/s, bare http ${whole(perSecond(bareResult))}, pgbench ${whole(rawResult.perSecond)}, baseline ${whole(perSecond(baselineResult))}`,
		);
	}
	const split = (runs: readonly number[][]) => {
		const [own, engine] = [0, 1].map((each) => whole(median(runs.map((us) => us[each] ?? Number.NaN))));
		return `${own} µs in the service, ${engine} µs in PostgreSQL`;
	};
	const notes = [
		await store.check(),
		`${name}: CPU of a request: ${split(costs)}; of the baseline ${split(baselineCosts)}.`,
	];
	const rawEvents = await raw.countEvents();
	// Transactions in flight when pgbench stops still commit. Some of its versions do not count them.
	if (rawEvents < rawTransactions * eventsPerUpload)
		throw new Error(
			`${name}: pgbench reported ${rawTransactions} transactions, but only ${rawEvents} events are stored.`,
		);
	const baselineEvents = await baseline.countEvents();
	await Promise.all([service.stop(), bare.stop(), baseline.stop(), raw.remove()]);
	if (baselineEvents < baselineAnswers * eventsPerUpload)
		throw new Error(
			`${name}: the baseline answered ${baselineAnswers} requests, but only ${baselineEvents} events are stored.`,
		);
	const title = `PostgreSQL: ${eventsPerUpload} new events a request${tids === 'random' ? ', random tids' : ''}`;
	const events = (requests: readonly number[]) => requests.map((value) => value * eventsPerUpload);
	return {
		rows: [
			compareRates({
				measure: `${title}: events/s`,
				caskade: events(rates.caskade),
				baseline: events(rates.raw),
				comparedWith: 'pgbench, same INSERT',
				aim: 1.2,
			}),
			compareRates({
				measure: `${title}: requests/s`,
				caskade: rates.caskade,
				baseline: rates.bare,
				comparedWith: 'bare http that parses',
			}),
			compareRates({
				measure: `${title}: requests/s`,
				caskade: rates.caskade,
				baseline: rates.baseline,
				comparedWith: 'baseline: Express and pg',
				aim: 2,
			}),
		],
		notes,
	};
}

/** Starts the hand-written service on a new database with the same account and key. Stopping it removes the database. */
async function startBaseline(postgres: PostgresServer, name: string, key: string) {
	const database = await PostgresBenchDatabase.create(postgres, `baseline_${name}`);
	await database.query([
		readFileSync(join(import.meta.dirname, 'baseline/schema.sql'), 'utf8'),
		`INSERT INTO api_key VALUES ('${hashApiKey(key)}', 1)`,
		`INSERT INTO account (aid, client_id) VALUES ('${aidOf(1)}', 1)`,
	]);
	const server = await serveBaseline(database.address);
	return {
		url: server.url,
		pid: server.pid,
		countEvents: () =>
			database.query('SELECT count(*) FROM subscription_event').then(([row]) => Number(row?.count)),
		async stop() {
			await server.stop();
			await database.remove();
		},
	};
}
