import { againstBareHttp, type LoadKind, type PreparedLoad } from './against-bare-http.ts';
import type { Benchmark } from './benchmark.ts';
import { fewCasks, maxCasks, writeCasks } from './casks.ts';
import type { BenchDatabase } from './database.ts';
import type { BenchmarkName } from './options.ts';
import { ask, type Population, type RunningCaskade, runCaskade } from './servers.ts';
import { whole } from './table.ts';
import { aidOf } from './upload-bodies.ts';
import type { Script } from './wrk.ts';

/** Maximum CPU time with the most visitors, as a multiple of that with the fewest. */
const maxGrowth = 1.3;

/** Reads of the scores of random visitors. */
const scores = (folder: string) => (server: RunningCaskade, population: Population) =>
	reads('/visscores', 0.6, folder, server, population);

/** Reads of the segments of random visitors, in an account with ten rules. */
const segments = (folder: string) => async (server: RunningCaskade, population: Population) => {
	await addSegments(population.database);
	return reads('/visscores/segments', 0.5, folder, server, population);
};

/** Reads with casks that are refused. */
const denials =
	(folder: string) =>
	async (server: RunningCaskade, { database }: Population): Promise<PreparedLoad> => {
		const { forged, expired, sample } = await writeCasks(database, folder);
		const denied = async (title: string, casks: string, cask: string): Promise<LoadKind> => ({
			title: `GET /visscores, ${title} cask`,
			script: readScript('/visscores', casks, maxCasks),
			sample: await sampleOf(server, '/visscores', cask, 401),
			aim: 0.8,
		});
		return {
			loadKinds: [
				await denied('forged', forged, sample.forged),
				await denied('expired', expired, sample.expired),
			],
		};
	};

async function reads(
	target: string,
	aim: number,
	folder: string,
	server: RunningCaskade,
	{ database, visitors, bytes }: Population,
): Promise<PreparedLoad> {
	const { valid, sample: casks } = await writeCasks(database, folder);
	const sample = await sampleOf(server, target, casks.valid, 200);
	return {
		loadKinds: [
			{
				title: `GET ${target}, ${whole(maxCasks)} casks`,
				script: readScript(target, valid, maxCasks),
				sample,
				aim,
			},
			{
				title: `GET ${target}, ${whole(fewCasks)} casks, all cached`,
				script: readScript(target, valid, fewCasks),
				sample,
			},
		],
		finish: async () => ({
			rows: [],
			notes: [
				`${target}, ${whole(visitors)} visitors: ${whole(bytes.visitor)} bytes of database per visitor, ${whole(bytes.visit)} per visit, ${whole(bytes.hit)} per hit, before the load. An answer: ${sample.body}`,
			],
		}),
	};
}

function readScript(target: string, casks: string, max: number): () => Script {
	return () => ({ file: 'reads.lua', env: { TARGET: target, CASKS: casks, MAX_CASKS: String(max) } });
}

async function sampleOf(server: RunningCaskade, target: string, cask: string, status: number) {
	const answer = await ask(`${server.url}${target}?cask=${cask}`, {
		method: 'GET',
		headers: { origin: 'https://shop.example' },
	});
	if (answer.status !== status)
		throw new Error(`${target}: expected the status ${status}, got ${answer.status} ${answer.body}`);
	return answer;
}

/** Five rules in addition to the five that a new account has. */
const rules: Readonly<Record<string, string>> = {
	'bench-1': 'visitor.recentVisits7d >= 1.5 && visitor.daysSinceLast < 3',
	'bench-2': '"articles/page-0" in visitor.pages7d || "articles/page-1" in visitor.pages7d',
	'bench-3':
		'visitor.pages30d.exists(page, page.startsWith("articles/page-1")) && visitor.device == "mobile"',
	'bench-4': '"checkout" in visitor.events && visitor.events["checkout"] >= 2',
	'bench-5': 'visitor.firstChannel == "paid" && scores["return"] > 0.1 && percentiles.subscription >= 50',
};

async function addSegments(database: BenchDatabase): Promise<void> {
	const flags = ['--database', database.address, '--json'];
	const known = new Set(
		JSON.parse(await runCaskade('segment', 'list', aidOf(1), ...flags)).map(({ id }: { id: string }) => id),
	);
	for (const [id, rule] of Object.entries(rules))
		if (!known.has(id))
			await runCaskade('segment', 'create', aidOf(1), id, '--name', id, '--rule', rule, ...flags);
	// A running server reads new segments within a second.
	await new Promise((resolve) => setTimeout(resolve, 1500));
}

const read = (
	name: BenchmarkName,
	engine: 'SQLite' | 'PostgreSQL',
	prepare: (folder: string) => (server: RunningCaskade, population: Population) => Promise<PreparedLoad>,
): Benchmark =>
	againstBareHttp(name, engine, ({ caskade, options }) => ({
		parse: false,
		...(name === 'visscores' && { maxGrowth }),
		visitorCounts:
			name === 'denied'
				? options.visitorCounts.slice(0, 1)
				: engine === 'SQLite'
					? options.visitorCounts
					: [options.pgVisitors],
		prepare: prepare(caskade.folder),
	}));

export const readBenchmarks: readonly Benchmark[] = [
	read('visscores', 'SQLite', scores),
	read('segments', 'SQLite', segments),
	read('denied', 'SQLite', denials),
];

export const pgReadBenchmarks: readonly Benchmark[] = [
	read('pg-visscores', 'PostgreSQL', scores),
	read('pg-segments', 'PostgreSQL', segments),
];
