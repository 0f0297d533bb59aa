import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { againstBareHttp, type PreparedLoad } from './against-bare-http.ts';
import type { Benchmark } from './benchmark.ts';
import { MetricsSample } from './metrics.ts';
import type { BenchmarkName } from './options.ts';
import { runProgram } from './processes.ts';
import type { RawHitsCost, RawHitsInput } from './raw-hits.ts';
import { type Answer, ask, type Population, type RunningCaskade } from './servers.ts';
import { SqliteBenchDatabase } from './sqlite-database.ts';
import { type Row, whole } from './table.ts';
import { aidOf } from './upload-bodies.ts';
import { connections, type Script } from './wrk.ts';

/** Number of visits that the measured hits continue: enough that each gets only a few hits. */
const visitCount = 5000;
const userAgent =
	'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.1.0 Safari/537.36';
let files = 0;

/** Starts visits of known visitors and returns the wrk script of hits that continue them. */
export async function beginVisits(
	server: RunningCaskade,
	folder: string,
): Promise<{ script: Script; path: string; sample: Answer }> {
	const vids = [...new Set(await server.database.sampleVids(visitCount, 'with history'))];
	const visits: string[] = [];
	const samples: Answer[] = [];
	let next = 0;
	const startVisits = async () => {
		for (let vid = vids[next++]; vid !== undefined; vid = vids[next++]) {
			const answer = await sendHit(server.url, vid);
			const { vid: given, sid } = JSON.parse(answer.body);
			if (answer.status !== 200 || given !== vid)
				throw new Error(`A visit could not be started: ${answer.status} ${answer.body}`);
			visits.push(`${vid} ${sid}`);
			samples.push(answer);
		}
	};
	await Promise.all(Array.from({ length: connections }, startVisits));
	files++;
	const path = join(folder, `visits-${files}.txt`);
	writeFileSync(path, `${visits.join('\n')}\n`);
	const script = { file: 'hits.lua', env: { AID: aidOf(1), VISITS: path } };
	return { script, path, sample: samples[0] as Answer };
}

function sendHit(url: string, vid: string): Promise<Answer> {
	return ask(`${url}/hit`, {
		method: 'POST',
		headers: {
			'content-type': 'text/plain;charset=UTF-8',
			origin: 'https://shop.example',
			'user-agent': userAgent,
		},
		body: JSON.stringify({ aid: aidOf(1), vid, url: 'https://shop.example/articles/page-0', title: 'Page' }),
	});
}

const prepare =
	(folder: string, aimUs: number) =>
	async (server: RunningCaskade, population: Population): Promise<PreparedLoad> => {
		const { database } = population;
		const hitsBefore = await database.countHits();
		const { script, path, sample } = await beginVisits(server, folder);
		const [hitsBegun, bytesBegun] = [await database.countHits(), await database.bytes()];
		return {
			loadKinds: [{ title: 'POST /hit, durable', script: () => script, sample, aim: 0.4, aimUs }],
			async finish() {
				const counted = (await MetricsSample.read(server.metricsUrl)).hitsStored;
				const hits = await database.countHits();
				if (hits - hitsBefore !== counted)
					throw new Error(
						`hit: ${hits - hitsBefore} hits are in the database, but the server counted ${counted}.`,
					);
				const grownBytes = ((await database.bytes()) - bytesBegun) / (hits - hitsBegun);
				const rows =
					database instanceof SqliteBenchDatabase
						? await rawSqliteRows(database, path, population.visitors)
						: [];
				return {
					rows,
					notes: [
						`hit, ${whole(population.visitors)} visitors: ${whole(hits - hitsBefore)} hits in the database, as many as the server counted. The database grew by ${whole(grownBytes)} bytes per hit, including new visitors and visits.`,
					],
				};
			},
		};
	};

/** Hits per transaction: about as many as the service commits together under full load. */
const rawHitsPerTransaction = 32;
const rawHitCount = 20_000;

/** CPU time of raw SQLite for the same hits, in the service's table layout and with every hit in all indexes. */
async function rawSqliteRows(
	database: SqliteBenchDatabase,
	visitsPath: string,
	visitors: number,
): Promise<Row[]> {
	const costs: string[] = [];
	for (const layout of ['recent', 'indexed'] as const) {
		const input: RawHitsInput = {
			path: database.accountPath,
			hits: rawHitCount,
			hitsPerTransaction: rawHitsPerTransaction,
			layout,
			visitsPath,
		};
		const { writingUs, checkpointingUs } = await runProgram<RawHitsCost>('raw-hits.ts', input);
		costs.push(
			`${(writingUs + checkpointingUs).toFixed(1)} µs, ${checkpointingUs.toFixed(1)} of them checkpointing`,
		);
	}
	return [
		{
			measure: `hit, SQLite, ${whole(visitors)} visitors: CPU of a hit in raw SQLite`,
			caskade: costs[0] as string,
			baseline: costs[1] as string,
			comparedWith: 'every hit in all indexes',
			ratio: '',
			aim: '',
			result: '',
		},
	];
}

const hit = (name: BenchmarkName, engine: 'SQLite' | 'PostgreSQL', aimUs: number): Benchmark =>
	againstBareHttp(name, engine, ({ caskade, options }) => ({
		parse: true,
		visitorCounts: engine === 'SQLite' ? options.visitorCounts : [options.pgVisitors],
		prepare: prepare(caskade.folder, aimUs),
	}));

export const hitBenchmark = hit('hit', 'SQLite', 160);
export const pgHitBenchmark = hit('pg-hit', 'PostgreSQL', 180);
