import { execFileSync } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Busyness } from './busyness.ts';
import { type Comparison, compareSides, describeComparison, historyLine, type Sample } from './comparison.ts';
import { Connections, type RequestMaker } from './connections.ts';
import { cpuByJob, cpuDuring } from './cpu.ts';
import type { BenchDatabase } from './database.ts';
import type { Engine, Options } from './options.ts';
import { PostgresBenchDatabase } from './postgres-database.ts';
import { PostgresServer } from './postgres-server.ts';
import { run } from './processes.ts';
import { Caskade, ownProgram, type Program, pidsOf, type RunningCaskade } from './servers.ts';
import { SqliteBenchDatabase } from './sqlite-database.ts';
import { aidOf, bodyMaker, eventOf, eventsPerUpload, nextPrefix } from './upload-bodies.ts';
import { customerOf, hits, type KnownVisitor, makeVisitors, post, reads } from './visitors-by-hits.ts';
import { connections } from './wrk.ts';

const repository = join(import.meta.dirname, '..');

/** Whose requests are measured: the other commit twice, so that what it differs from itself is known. */
const sides = ['before', 'before again', 'now'] as const;
type Side = (typeof sides)[number];

/** A version's databases: one that all others of an engine are copies of, and visitors who are in them. */
interface Prepared {
	readonly caskade: Caskade;
	readonly database: BenchDatabase;
	readonly visitors: readonly KnownVisitor[];
}

interface Line {
	readonly name: string;
	readonly status: number;
	make(prepared: Prepared): RequestMaker;
}

const lines: readonly Line[] = [
	{
		name: `uploads of ${eventsPerUpload}`,
		status: 201,
		make: ({ caskade }) => uploads(caskade, eventsPerUpload),
	},
	{ name: 'one event', status: 201, make: ({ caskade }) => uploads(caskade, 1) },
	{ name: `joined uploads of ${eventsPerUpload}`, status: 201, make: joinedUploads },
	{ name: 'hits', status: 200, make: ({ visitors }) => hits(visitors) },
	{ name: 'scores', status: 200, make: ({ visitors }) => reads('/visscores', visitors) },
	{ name: 'segments', status: 200, make: ({ visitors }) => reads('/visscores/segments', visitors) },
];

const visitorCount = 4000;

function uploads({ key }: Caskade, rows: number): RequestMaker {
	const body = bodyMaker(nextPrefix(), rows);
	let request = 0;
	return () => postUpload(key, body(request++));
}

/** Every event is of a random visitor's subscription. */
function joinedUploads({ caskade: { key }, visitors }: Prepared): RequestMaker {
	const prefix = nextPrefix();
	let request = 0;
	return () => {
		request++;
		const data = Array.from({ length: eventsPerUpload }, (_, row) => {
			const visitor = Math.floor(Math.random() * visitors.length);
			return { ...eventOf(prefix, request, row), subid: `sub-${visitor}`, cid: customerOf(visitor) };
		});
		return postUpload(key, JSON.stringify({ aid: aidOf(1), data }));
	};
}

function postUpload(key: string, body: string): string {
	return post('/subscription', `Content-Type: application/json\r\nx-api-key: ${key}\r\n`, body);
}

/** Of a slice of work that is long enough for its CPU to be read, and short enough for the machine to stay the same. */
const sliceMs = 100;
/** Of each line in a block, for each side. More come before them, until the runtime has compiled what is often used. */
const slices = 9;
const warmUpSlices = 15;

interface Output {
	readonly folder: string;
	readonly print: (text: string) => void;
	readonly progress: (text: string) => void;
}

/**
 * Compares this checkout with a commit, by servers of both that take turns.
 * @returns false where the machine was too busy to say anything
 */
export async function compareWith(ref: string, options: Options, output: Output): Promise<boolean> {
	const startedAtMs = performance.now();
	const { folder, print, progress } = output;
	const commit = execFileSync('git', ['rev-parse', '--short=8', `${ref}^{commit}`], {
		cwd: repository,
		encoding: 'utf8',
	}).trim();
	progress(`installing ${commit}`);
	const programs = { before: await install(commit, folder), now: ownProgram };
	const busyness = new Busyness();
	const comparisons: Comparison[] = [];
	for (const engine of options.engines)
		comparisons.push(...(await compareOn(engine, { programs, options, output, busyness })));
	const isSmoke = options.blocks === 1;
	const busy = isSmoke ? 'one block shows that it works, not how fast' : busyness.problem();
	print(describeComparison(comparisons, { commit, busy }));
	print(`${((performance.now() - startedAtMs) / 1000).toFixed(0)} s in total.`);
	if (options.writes) {
		if (busy) throw new Error(`Nothing is written: ${busy}.`);
		const page = join(import.meta.dirname, 'history.md');
		writeFileSync(
			page,
			readFileSync(page, 'utf8') + historyLine(comparisons, { commit, now: currentCommit() }),
		);
	}
	return isSmoke || busy === undefined;
}

function currentCommit(): string {
	const git = (...args: string[]) => execFileSync('git', args, { cwd: repository, encoding: 'utf8' }).trim();
	const changed = git('status', '--porcelain', '--untracked-files=no', '--', 'src', 'package-lock.json');
	return `${git('rev-parse', '--short=8', 'HEAD')}${changed === '' ? '' : ' and more'}`;
}

/** Clones a commit and installs what it needs. What this checkout has installed serves where it is the same. */
async function install(commit: string, folder: string): Promise<Program> {
	const clone = join(folder, 'before');
	await run('git', ['clone', '--quiet', '--shared', '--no-checkout', repository, clone]);
	await run('git', ['-C', clone, 'checkout', '--quiet', '--detach', commit]);
	const lock = (of: string) => readFileSync(join(of, 'package-lock.json'), 'utf8');
	if (lock(clone) === lock(repository))
		symlinkSync(join(repository, 'node_modules'), join(clone, 'node_modules'));
	else await run('npm', ['ci', '--prefix', clone, '--no-audit', '--no-fund', '--prefer-offline']);
	return { node: join(clone, 'node_modules/.bin/node'), main: join(clone, 'src/main.js') };
}

interface Setting {
	readonly programs: { readonly before: Program; readonly now: Program };
	readonly options: Options;
	readonly output: Output;
	readonly busyness: Busyness;
}

async function compareOn(
	engine: Engine,
	{ programs, options, output, busyness }: Setting,
): Promise<Comparison[]> {
	const { folder, print, progress } = output;
	const postgres = engine === 'PostgreSQL' ? await PostgresServer.start(folder) : undefined;
	const prepare = async (name: 'before' | 'now'): Promise<Prepared> => {
		const database = postgres
			? await PostgresBenchDatabase.create(postgres, `bench_${name}`)
			: new SqliteBenchDatabase(join(folder, `data-${name}`));
		const caskade = await Caskade.prepare(folder, database, programs[name]);
		const server = await caskade.serve(database, 'kept');
		const visitors = await makeVisitors(server.url, visitorCount);
		await server.stop();
		return { caskade, database, visitors };
	};
	progress(`${engine}: making visitors`);
	const [before, now] = [await prepare('before'), await prepare('now')];
	const prepared: Readonly<Record<Side, Prepared>> = { before, 'before again': before, now };
	const blocksOf = new Map(lines.map((line) => [line, [] as Record<Side, Sample[]>[]]));
	for (let block = 1; block <= options.blocks; block++) {
		const servers = {} as Record<Side, RunningCaskade>;
		for (const side of sides)
			servers[side] = await prepared[side].caskade.serve(await prepared[side].database.copy());
		await busyness.observeIdle();
		for (const [line, blocks] of blocksOf) {
			try {
				blocks.push(await takeTurns(line, servers, prepared));
			} catch (error) {
				if (!(error instanceof FailedSide)) throw error;
				const failure = `${engine}, ${line.name}, ${error.side}: ${error.message}`;
				if (error.side === 'now') throw new Error(failure);
				// What the other commit cannot do is no reason to compare nothing.
				print(`Left out: ${failure}\n`);
				blocksOf.delete(line);
			}
		}
		busyness.observeWork();
		progress(`${engine}: block ${block} of ${options.blocks}`);
		for (const side of sides) await servers[side].stop();
	}
	await postgres?.stop();
	return [...blocksOf].map(([{ name }, blocks]) => compareSides({ engine, name, blocks }));
}

/** That a version has not answered as it should. */
class FailedSide extends Error {
	readonly side: Side;

	constructor(side: Side, cause: unknown) {
		super(cause instanceof Error ? cause.message : String(cause), { cause });
		this.side = side;
	}
}

/** Lets the servers do a slice of work each, in turns. */
async function takeTurns(
	line: Line,
	servers: Readonly<Record<Side, RunningCaskade>>,
	prepared: Readonly<Record<Side, Prepared>>,
): Promise<Record<Side, Sample[]>> {
	using open = new DisposableStack();
	const loads = {} as Record<Side, (requests: number) => Promise<void>>;
	for (const side of sides) {
		const lane = open.use(await Connections.open(servers[side].url, connections));
		const make = line.make(prepared[side]);
		loads[side] = (requests) =>
			lane.send(make, requests, line.status).catch((error: unknown) => {
				throw new FailedSide(side, error);
			});
	}
	const samples: Record<Side, Sample[]> = { before: [], 'before again': [], now: [] };
	let requests = connections * 8;
	for (let slice = 0; slice < warmUpSlices + slices; slice++) {
		// Each side is the first, second and third as often as the others.
		const first = slice % sides.length;
		for (const side of [...sides.slice(first), ...sides.slice(0, first)]) {
			const sample = await measure(servers[side], requests, () => loads[side](requests));
			if (slice >= warmUpSlices) samples[side].push(sample);
			else if (side === 'before')
				requests = Math.max(connections, Math.round((sample.perSecond * sliceMs) / 1000));
		}
	}
	return samples;
}

async function measure(server: RunningCaskade, requests: number, load: () => Promise<void>): Promise<Sample> {
	const jobsBefore = cpuByJob(server.pid);
	const startedAtMs = performance.now();
	const { usedUs, result: endedAtMs } = await cpuDuring(pidsOf(server), async () => {
		await load();
		return performance.now();
	});
	const threadsUs = new Map(
		[...cpuByJob(server.pid)].map(([job, us]) => [job, (us - (jobsBefore.get(job) ?? 0)) / requests]),
	);
	if (usedUs[1] !== undefined) threadsUs.set('PostgreSQL', usedUs[1] / requests);
	return {
		perSecond: (requests * 1000) / (endedAtMs - startedAtMs),
		cpuUs: usedUs.reduce((sum, us) => sum + us, 0) / requests,
		threadsUs,
	};
}
