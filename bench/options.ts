import { parseArgs } from 'node:util';

/** The benchmarks, in the order of the table. */
export const benchmarkNames = [
	'thirty',
	'random',
	'single',
	'no-key',
	'rate-limit',
	'latency',
	'memory',
	'start-up',
	'accounts',
	'events',
	'visscores',
	'segments',
	'denied',
	'hit',
	'joined-uploads',
	'reads-under-load',
	'score-cost',
	'pg-thirty',
	'pg-random',
	'pg-accounts',
	'pg-events',
	'pg-visscores',
	'pg-segments',
	'pg-hit',
	'pg-joined-uploads',
] as const;
export type BenchmarkName = (typeof benchmarkNames)[number];

export interface Options {
	/** Runs per measurement. The table shows their median. */
	readonly runs: number;
	/** Duration of a run. */
	readonly seconds: number;
	readonly warmUpSeconds: number;
	/** Events stored before the memory is measured. */
	readonly events: number;
	/** Measured starts of the server. */
	readonly startUps: number;
	/** The amounts of data at which growth is measured. */
	readonly accountCounts: readonly number[];
	readonly storedEvents: readonly number[];
	/** Visitors in the databases of reads, hits and joined uploads. */
	readonly visitorCounts: readonly number[];
	readonly pgVisitors: number;
	readonly benchmarks: readonly BenchmarkName[];
	/** Parent of the data folders. */
	readonly folder: string | undefined;
	/** Whether the figures are kept: in `bench/README.md`, or as a line of `bench/history.md`. */
	readonly writes: boolean;
	/** The commit to compare with; then nothing else is measured. */
	readonly against: string | undefined;
	/** What a comparison is made on. */
	readonly engines: readonly Engine[];
	/** New servers of a comparison, for each version. */
	readonly blocks: number;
}

export type Engine = 'SQLite' | 'PostgreSQL';

export const usage = `npm run bench -- [--quick | --smoke] [--write] [--only NAME]… [--events N] [--runs N] [--seconds N] [--folder DIR]
       npm run bench -- --against REF [--engine NAME] [--blocks N] [--write]

Measures the service, and a baseline for each figure in the same run. Takes about half an hour and 10 GB of disk.
Nothing else should run on the machine.

  --quick      shorter runs on less data: about 8 minutes, less precise
  --smoke      each benchmark for two seconds on little data: shows that it works, not how fast
  --write      replaces the figures in bench/README.md
  --only NAME  runs one benchmark; may be repeated
  --events N   events stored before the memory is measured (10,000,000)
  --runs N     runs per measurement, at least 3 (3)
  --seconds N  duration of a run (4)
  --folder DIR parent of the data folders, on the disk to be measured (the system's temporary folder)

Against another commit: clones and installs it, and lets servers of it and of this checkout take turns. Says what became
faster or slower by more than a commit differs from itself, and judges nothing where the machine is busy.

  --against REF  the commit, for example HEAD~3: about eight minutes
  --engine NAME  on sqlite or postgres alone: about four minutes
  --blocks N     how often all servers are started anew (4): more tell smaller differences
  --write        adds a line to bench/history.md

Benchmarks on the embedded database:
  thirty, random, single   uploads of 30 new events, 30 with random tids, and 1; compared with bare node:http and
                           raw SQLite
  no-key, rate-limit       refused uploads; compared with bare node:http
  latency                  latency of uploads at half of the peak throughput
  memory                   resident memory after many events
  start-up                 time from the start of the process to the first 201
  accounts                 CPU of a request with 1, 100 and 5,000 accounts
  events                   CPU of a request with 10,000, a million and 10 million events stored
  visscores, segments      reads of scores, and of segments with ten rules, for 10,000, a million and 5 million visitors;
                           compared with bare node:http
  denied                   reads with a forged or an expired cask
  hit                      durable POST /hit
  joined-uploads           uploads of 30 new events that are joined to visitors
  reads-under-load         latency of reads beside hits and uploads at half of their peak throughput
  score-cost               CPU of a look-up and of a score, without HTTP
On PostgreSQL 18, which npm installs and the benchmark starts:
  pg-thirty, pg-random     uploads of 30 new events; compared with bare node:http, pgbench and bench/baseline/
  pg-accounts, pg-events   as above, and 'caskade migrate' with 5,000 accounts
  pg-visscores, pg-segments, pg-hit, pg-joined-uploads   as above, with a million visitors
`;

/** @throws Error that names the wrong argument */
export function parseOptions(args: readonly string[]): Options | 'help' {
	const { values } = parseArgs({
		args: [...args],
		options: {
			help: { type: 'boolean', short: 'h' },
			quick: { type: 'boolean' },
			smoke: { type: 'boolean' },
			write: { type: 'boolean' },
			only: { type: 'string', multiple: true },
			events: { type: 'string' },
			runs: { type: 'string' },
			seconds: { type: 'string' },
			folder: { type: 'string' },
			against: { type: 'string' },
			engine: { type: 'string' },
			blocks: { type: 'string' },
		},
	});
	if (values.help) return 'help';
	if (values.against === undefined && (values.engine !== undefined || values.blocks !== undefined))
		throw new Error('--engine and --blocks go with --against.');
	if (values.against !== undefined && (values.only || values.quick))
		throw new Error('--only and --quick do not go with --against, which always measures the same.');
	if (values.smoke && values.write)
		throw new Error('--smoke measures nothing worth writing: leave out --write or use --quick.');
	const size = sizes[values.smoke ? 'smoke' : values.quick ? 'quick' : 'full'];
	return {
		...size,
		runs: values.runs === undefined ? size.runs : wholeNumber('--runs', values.runs, 3),
		seconds: values.seconds === undefined ? size.seconds : wholeNumber('--seconds', values.seconds, 1),
		events: values.events === undefined ? size.events : wholeNumber('--events', values.events, 1),
		benchmarks: values.only ? values.only.map(benchmarkName) : benchmarkNames,
		folder: values.folder,
		writes: values.write ?? false,
		against: values.against,
		engines: enginesOf(values.engine),
		blocks: values.blocks === undefined ? size.blocks : wholeNumber('--blocks', values.blocks, 3),
	};
}

/** The number of the first run. The warm-up, if there is one, is run 0. */
export function firstRun({ warmUpSeconds }: Options): number {
	return warmUpSeconds > 0 ? 0 : 1;
}

/** Durations and amounts of data. */
const sizes = {
	full: {
		runs: 3,
		seconds: 4,
		warmUpSeconds: 2,
		startUps: 5,
		events: 10_000_000,
		accountCounts: [1, 100, 5000],
		storedEvents: [10_000, 1_000_000, 10_000_000],
		visitorCounts: [10_000, 1_000_000, 5_000_000],
		pgVisitors: 1_000_000,
		blocks: 4,
	},
	quick: {
		runs: 3,
		seconds: 1,
		warmUpSeconds: 1,
		startUps: 5,
		events: 1_000_000,
		accountCounts: [1, 100],
		storedEvents: [10_000, 1_000_000],
		visitorCounts: [10_000, 100_000],
		pgVisitors: 100_000,
		blocks: 4,
	},
	smoke: {
		runs: 1,
		seconds: 2,
		warmUpSeconds: 0,
		startUps: 1,
		events: 30_000,
		accountCounts: [1, 3],
		storedEvents: [1000, 10_000],
		visitorCounts: [10_000],
		pgVisitors: 10_000,
		blocks: 1,
	},
} as const;

function benchmarkName(name: string): BenchmarkName {
	const found = benchmarkNames.find((candidate) => candidate === name);
	if (!found)
		throw new Error(`--only ${name}: there is no such benchmark; use one of ${benchmarkNames.join(', ')}.`);
	return found;
}

function enginesOf(name: string | undefined): readonly Engine[] {
	if (name === undefined) return ['SQLite', 'PostgreSQL'];
	if (name === 'sqlite') return ['SQLite'];
	if (name === 'postgres') return ['PostgreSQL'];
	throw new Error(`--engine ${name}: there is no such engine; use sqlite or postgres.`);
}

function wholeNumber(flag: string, value: string, min: number): number {
	const number = Number(value.replaceAll(/[,_]/g, ''));
	if (!Number.isSafeInteger(number) || number < min)
		throw new Error(`${flag} ${value}: the value must be a whole number of at least ${min}.`);
	return number;
}
