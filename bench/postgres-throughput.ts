import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashApiKey } from '../src/core/domain/api-key.ts';
import type { BenchContext, Benchmark, BenchmarkResult } from './benchmark.ts';
import { cpuDuring, endedChildrenUs } from './cpu.ts';
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
	const baselines = await Promise.all(
		[
			{ comparedWith: 'baseline: Express and pg', indexes: [], aim: 1.05 },
			{ comparedWith: 'the same with the same indexes', indexes: sameIndexes, aim: 1.6 },
		].map(async ({ comparedWith, indexes, aim }, index) => ({
			...(await startBaseline(postgres, `${name.replace('-', '_')}_${index}`, caskade.key, indexes)),
			comparedWith,
			aim,
			rates: [] as number[],
			costs: [] as number[][],
			answers: 0,
		})),
	);
	const raw = await caskade.newDatabase();
	const store = await StoredCount.begin(service, expected);
	const rates: Record<'bare' | 'caskade' | 'raw', number[]> = { bare: [], caskade: [], raw: [] };
	const costs: number[][] = [];
	const rawCosts: number[][] = [];
	const perSecond = ({ requests, seconds }: WrkResult) => requests / seconds;
	let rawTransactions = 0;
	for (let run = firstRun(options); run <= options.runs; run++) {
		const seconds = run === 0 ? options.warmUpSeconds : options.seconds;
		const load = (url: string) => wrk(url, expected.load, seconds);
		const bareResult = await load(bare.url);
		const { result: stored, usedUs } = await cpuDuring([service.pid, postgres.pid], () =>
			store.during(() => load(service.url)),
		);
		const endedUs = endedChildrenUs(postgres.pid);
		const { result: rawResult, usedUs: rawUs } = await cpuDuring([postgres.pid], () =>
			pgbench({ address: raw.address, rows: eventsPerUpload, tids, seconds, folder: caskade.folder }),
		);
		// pgbench's connections have ended with it.
		rawUs.push(endedChildrenUs(postgres.pid) - endedUs);
		for (const baseline of baselines) {
			const { result, usedUs } = await cpuDuring([baseline.pid, postgres.pid], () => load(baseline.url));
			checkAnswers(result, expected);
			baseline.answers += result.requests;
			if (run === 0) continue;
			baseline.rates.push(perSecond(result));
			baseline.costs.push(usedUs.map((us) => us / result.requests));
		}
		rawTransactions += rawResult.transactions;
		if (run === 0) continue;
		rates.bare.push(perSecond(bareResult));
		rates.caskade.push(perSecond(stored.result));
		rates.raw.push(rawResult.perSecond);
		costs.push(usedUs.map((us) => us / stored.uploads));
		rawCosts.push(rawUs.map((us) => us / rawResult.transactions));
		progress(
			`${name}, run ${run} of ${options.runs}: ${whole(perSecond(stored.result))} requests/s, bare http ${whole(perSecond(bareResult))}, pgbench ${whole(rawResult.perSecond)}, baselines ${baselines.map((baseline) => whole(baseline.rates.at(-1) as number)).join(' and ')}`,
		);
	}
	const split = (runs: readonly number[][]) => {
		const [own, engine] = [0, 1].map((each) => whole(median(runs.map((us) => us[each] ?? Number.NaN))));
		return `${own} µs in the service, ${engine} µs in PostgreSQL`;
	};
	const notes = [
		await store.check(),
		`${name}: CPU of a request: ${split(costs)}; of the baseline ${split(baselines[0]?.costs ?? [])}; with the same indexes ${split(baselines[1]?.costs ?? [])}.`,
	];
	const rawEvents = await raw.countEvents();
	// Transactions in flight when pgbench stops still commit. Some of its versions do not count them.
	if (rawEvents < rawTransactions * eventsPerUpload)
		throw new Error(
			`${name}: pgbench reported ${rawTransactions} transactions, but only ${rawEvents} events are stored.`,
		);
	for (const baseline of baselines) {
		const baselineEvents = await baseline.countEvents();
		if (baselineEvents < baseline.answers * eventsPerUpload)
			throw new Error(
				`${name}: the baseline answered ${baseline.answers} requests, but only ${baselineEvents} events are stored.`,
			);
	}
	await Promise.all([service, bare, ...baselines].map((server) => server.stop()));
	await raw.remove();
	const title = `PostgreSQL: ${eventsPerUpload} new events a request${tids === 'random' ? ', random tids' : ''}`;
	const events = (requests: readonly number[]) => requests.map((value) => value * eventsPerUpload);
	return {
		rows: [
			compareRates({
				measure: `${title}: events/s`,
				caskade: events(rates.caskade),
				baseline: events(rates.raw),
				comparedWith: 'pgbench, same INSERT',
				aim: 1.5,
			}),
			compareRates({
				measure: `${title}: requests by a second of PostgreSQL's CPU`,
				caskade: costs.map(([, engineUs = Number.NaN]) => perCpuSecond([engineUs])),
				baseline: rawCosts.map(perCpuSecond),
				comparedWith: 'pgbench, same INSERT',
				aim: 1.5,
			}),
			compareRates({
				measure: `${title}: requests/s`,
				caskade: rates.caskade,
				baseline: rates.bare,
				comparedWith: 'bare http that parses',
			}),
			...baselines.flatMap((baseline) => [
				compareRates({
					measure: `${title}: requests/s`,
					caskade: rates.caskade,
					baseline: baseline.rates,
					comparedWith: baseline.comparedWith,
				}),
				compareRates({
					measure: `${title}: requests by a second of CPU`,
					caskade: costs.map(perCpuSecond),
					baseline: baseline.costs.map(perCpuSecond),
					comparedWith: baseline.comparedWith,
					aim: baseline.aim,
				}),
			]),
		],
		notes,
	};
}

/** @param costs of a request in microseconds, of each process */
function perCpuSecond(costs: readonly number[]): number {
	return 1e6 / costs.reduce((sum, us) => sum + us, 0);
}

/** What receipts, erasure, reports and joins need. The baseline's own key finds a `tid`. */
const sameIndexes = [
	'ALTER TABLE subscription_event ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY',
	'CREATE INDEX ON subscription_event (id)',
	'CREATE INDEX ON subscription_event (received_at, id)',
	'CREATE INDEX ON subscription_event (cid) WHERE cid IS NOT NULL',
	'CREATE INDEX ON subscription_event (subid)',
];

/** Starts the hand-written service on a new database with the same account and key. Stopping it removes the database. */
async function startBaseline(
	postgres: PostgresServer,
	name: string,
	key: string,
	indexes: readonly string[],
) {
	const database = await PostgresBenchDatabase.create(postgres, `baseline_${name}`);
	await database.query([
		readFileSync(join(import.meta.dirname, 'baseline/schema.sql'), 'utf8'),
		...indexes,
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
