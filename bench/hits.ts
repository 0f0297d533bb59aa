import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Line } from './line.ts';
import { MetricsSample } from './metrics.ts';
import type { LineName } from './options.ts';
import { overBare, type Prepared } from './over-bare.ts';
import { runProgram } from './processes.ts';
import type { RawHitsCost, RawHitsInput } from './raw-hits.ts';
import { aidOf } from './rows.ts';
import { type Answer, ask, type Population, type RunningCaskade } from './servers.ts';
import { SqlitePlace } from './sqlite-place.ts';
import { type Row, whole } from './table.ts';
import { connections, type Script } from './wrk.ts';

/** Whose visits go on while hits are measured; so many that one has a few hits each. */
const visitors = 5000;
const userAgent =
	'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.1.0 Safari/537.36';
let files = 0;

/** Begins visits of visitors who are known, and gives the script of hits that go on with them. */
export async function beginVisits(
	server: RunningCaskade,
	folder: string,
): Promise<{ script: Script; path: string; sample: Answer }> {
	const vids = [...new Set(await server.place.sampleVids(visitors, 'logged'))];
	const visits: string[] = [];
	const samples: Answer[] = [];
	let next = 0;
	const page = async () => {
		for (let vid = vids[next++]; vid !== undefined; vid = vids[next++]) {
			const answer = await sendHit(server.url, vid);
			const { vid: given, sid } = JSON.parse(answer.body);
			if (answer.status !== 200 || given !== vid) throw new Error(`The hit of a visitor: ${answer.body}`);
			visits.push(`${vid} ${sid}`);
			samples.push(answer);
		}
	};
	await Promise.all(Array.from({ length: connections }, page));
	files++;
	const path = join(folder, `visits-${files}.txt`);
	writeFileSync(path, `${visits.join('\n')}\n`);
	const script = { file: 'hit.lua', env: { AID: aidOf(1), VISITS: path } };
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
	(folder: string) =>
	async (server: RunningCaskade, population: Population): Promise<Prepared> => {
		const { place } = population;
		const hitsBefore = await place.countHits();
		const { script, path, sample } = await beginVisits(server, folder);
		const [hitsBegun, bytesBegun] = [await place.countHits(), await place.bytes()];
		return {
			mixes: [{ title: 'POST /hit, durable', script: () => script, sample, aim: 0.4 }],
			async finish() {
				const counted = (await MetricsSample.read(server.metricsUrl)).hitsStored;
				const hits = await place.countHits();
				if (hits - hitsBefore !== counted)
					throw new Error(`hit: ${hits - hitsBefore} hits are in the database, ${counted} were counted.`);
				const grownBytes = ((await place.bytes()) - bytesBegun) / (hits - hitsBegun);
				const rows = place instanceof SqlitePlace ? await floorRows(place, path, population.visitors) : [];
				return {
					rows,
					notes: [
						`hit, ${whole(population.visitors)} visitors: ${whole(hits - hitsBefore)} hits in the database, as many as were counted. The database grew by ${whole(grownBytes)} bytes a hit, what is new of visitors and visits included.`,
					],
				};
			},
		};
	};

/** About as many hits as the service commits together under full load. */
const floorGroup = 32;
const floorHits = 20_000;

/** What raw SQLite needs to store the same hits, in the service's layout and with each hit in every index. */
async function floorRows(place: SqlitePlace, visitsPath: string, visitors: number): Promise<Row[]> {
	const costs: string[] = [];
	for (const layout of ['recent', 'indexed'] as const) {
		const input: RawHitsInput = {
			...{ path: place.accountPath, hits: floorHits, group: floorGroup, layout },
			visitsPath,
		};
		const { writingUs, checkpointingUs } = await runProgram<RawHitsCost>('raw-hits.ts', input);
		costs.push(
			`${(writingUs + checkpointingUs).toFixed(1)} µs, of it ${checkpointingUs.toFixed(1)} checkpointing`,
		);
	}
	return [
		{
			measure: `hit, SQLite, ${whole(visitors)} visitors: raw SQLite's CPU of one`,
			caskade: costs[0] as string,
			ceiling: costs[1] as string,
			of: 'each hit in every index',
			...{ ratio: '', aim: '', result: '' },
		},
	];
}

const hit = (name: LineName, engine: 'SQLite' | 'PostgreSQL'): Line =>
	overBare(name, engine, ({ caskade, options }) => ({
		parse: true,
		counts: engine === 'SQLite' ? options.visitorCounts : [options.pgVisitors],
		prepare: prepare(caskade.folder),
	}));

export const hitLine = hit('hit', 'SQLite');
export const pgHitLine = hit('pg-hit', 'PostgreSQL');
