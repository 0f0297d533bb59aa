import type { Line } from './line.ts';
import type { LineName } from './options.ts';
import { type Mix, overBare, type Prepared } from './over-bare.ts';
import type { Place } from './place.ts';
import { aidOf } from './rows.ts';
import { ask, type Population, type RunningCaskade, runCaskade } from './servers.ts';
import { fewCasks, maxCasks, writeCasks } from './subjects.ts';
import { whole } from './table.ts';
import type { Script } from './wrk.ts';

const costAim = 1.3;

/** Reads of scores by visitors drawn at random. */
const scores = (folder: string) => (server: RunningCaskade, population: Population) =>
	reads('/visscores', 0.6, folder, server, population);

/** Reads of segments, ten rules each. */
const tenRules = (folder: string) => async (server: RunningCaskade, population: Population) => {
	await addSegments(population.place);
	return reads('/visscores/segments', 0.5, folder, server, population);
};

/** Reads of scores that are denied. */
const denials =
	(folder: string) =>
	async (server: RunningCaskade, { place }: Population): Promise<Prepared> => {
		const { forged, expired, sample } = await writeCasks(place, folder);
		const denied = async (title: string, casks: string, cask: string): Promise<Mix> => ({
			title: `GET /visscores, ${title} cask`,
			script: reading('/visscores', casks, maxCasks),
			sample: await sampleOf(server, '/visscores', cask, 401),
			aim: 0.8,
		});
		return {
			mixes: [
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
	{ place, visitors, bytes }: Population,
): Promise<Prepared> {
	const { valid, sample: casks } = await writeCasks(place, folder);
	const sample = await sampleOf(server, target, casks.valid, 200);
	return {
		mixes: [
			{
				title: `GET ${target}, ${whole(maxCasks)} casks`,
				script: reading(target, valid, maxCasks),
				...{ sample, aim },
			},
			{
				title: `GET ${target}, ${whole(fewCasks)} casks, all remembered`,
				script: reading(target, valid, fewCasks),
				sample,
			},
		],
		finish: async () => ({
			rows: [],
			notes: [
				`${target}, ${whole(visitors)} visitors: ${whole(bytes.visitor)} bytes of database a visitor, ${whole(bytes.visit)} a visit, ${whole(bytes.hit)} a hit, as seeded. An answer: ${sample.body}`,
			],
		}),
	};
}

function reading(target: string, casks: string, max: number): () => Script {
	return () => ({ file: 'read.lua', env: { TARGET: target, CASKS: casks, MOST: String(max) } });
}

async function sampleOf(server: RunningCaskade, target: string, cask: string, status: number) {
	const answer = await ask(`${server.url}${target}?cask=${cask}`, {
		method: 'GET',
		headers: { origin: 'https://shop.example' },
	});
	if (answer.status !== status)
		throw new Error(`${target}: the answer is ${answer.status} ${answer.body}, not ${status}.`);
	return answer;
}

/** Five more than an account has at first. */
const rules: Readonly<Record<string, string>> = {
	'bench-1': 'visitor.recentVisits7d >= 1.5 && visitor.daysSinceLast < 3',
	'bench-2': '"articles/page-0" in visitor.pages7d || "articles/page-1" in visitor.pages7d',
	'bench-3':
		'visitor.pages30d.exists(page, page.startsWith("articles/page-1")) && visitor.device == "mobile"',
	'bench-4': '"checkout" in visitor.events && visitor.events["checkout"] >= 2',
	'bench-5': 'visitor.firstChannel == "paid" && scores["return"] > 0.1 && percentiles.subscription >= 50',
};

async function addSegments(place: Place): Promise<void> {
	const flags = ['--database', place.address, '--json'];
	const known = new Set(
		JSON.parse(await runCaskade('segment', 'list', aidOf(1), ...flags)).map(({ id }: { id: string }) => id),
	);
	for (const [id, rule] of Object.entries(rules))
		if (!known.has(id))
			await runCaskade('segment', 'create', aidOf(1), id, '--name', id, '--rule', rule, ...flags);
	// A running server sees them within a second.
	await new Promise((resolve) => setTimeout(resolve, 1500));
}

const read = (
	name: LineName,
	engine: 'SQLite' | 'PostgreSQL',
	prepare: (folder: string) => (server: RunningCaskade, population: Population) => Promise<Prepared>,
): Line =>
	overBare(name, engine, ({ caskade, options }) => ({
		parse: false,
		...(name === 'visscores' && { costAim }),
		counts:
			name === 'denied'
				? options.visitorCounts.slice(0, 1)
				: engine === 'SQLite'
					? options.visitorCounts
					: [options.pgVisitors],
		prepare: prepare(caskade.folder),
	}));

export const readLines: readonly Line[] = [
	read('visscores', 'SQLite', scores),
	read('segments', 'SQLite', tenRules),
	read('denied', 'SQLite', denials),
];

export const pgReadLines: readonly Line[] = [
	read('pg-visscores', 'PostgreSQL', scores),
	read('pg-segments', 'PostgreSQL', tenRules),
];
