import { parseArgs } from 'node:util';

/** Lines of the table, in its order. */
export const lineNames = [
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
	'workers',
	'pg-thirty',
	'pg-random',
	'pg-accounts',
	'pg-events',
	'pg-visscores',
	'pg-segments',
	'pg-hit',
	'pg-joined-uploads',
] as const;
export type LineName = (typeof lineNames)[number];

export interface Options {
	/** Of each measurement; its median is shown. */
	readonly runs: number;
	/** Of each run. */
	readonly seconds: number;
	readonly warmUpSeconds: number;
	/** Events stored before the memory is read. */
	readonly events: number;
	readonly startUps: number;
	/** The points of the two curves. */
	readonly accountCounts: readonly number[];
	readonly storedEvents: readonly number[];
	/** Visitors of the places that reads, hits and joins are measured on. */
	readonly visitorCounts: readonly number[];
	readonly pgVisitors: number;
	readonly lines: readonly LineName[];
	/** Where data folders are made. */
	readonly folder: string | undefined;
	/** Whether the figures replace those of `bench/README.md`. */
	readonly writes: boolean;
}

export const usage = `npm run bench -- [--quick | --smoke] [--write] [--only NAME]… [--events N] [--runs N] [--seconds N] [--folder DIR]

Measures the service, each figure beside its ceiling in the same run. About half an hour and 10 GB; nothing else should run.

  --quick      shorter runs, 1 million events, shorter curves: some 8 minutes, and less exact
  --smoke      each line for two seconds, on little data: shows that it works, not how fast
  --write      puts the figures into bench/README.md in place of those that are there
  --only NAME  one line (again for more)
  --events N   stored before the memory is read (10,000,000)
  --runs N     of each measurement, 3 or more (3)
  --seconds N  of each run (4)
  --folder DIR where data folders are made, on the disk to be measured (the system's temporary folder)

Lines, on an embedded database:
  thirty, random, single   new events: 30, 30 with random tids, 1; against bare node:http and raw SQLite
  no-key, rate-limit       refusals, against bare node:http
  latency                  at half of the peak load
  memory, start-up
  accounts                 cost of a request with 1, 100 and 5,000 accounts
  events                   cost of a request with 10,000, a million and 10 million events stored
  visscores, segments      reads of scores, and of segments by ten rules, with 10,000, a million and 5 million visitors;
                           against bare node:http
  denied                   reads with a forged and with an expired cask
  hit                      POST /hit, durable
  joined-uploads           30 new events of customers who are visitors
  reads-under-load         latency of reads while hits and uploads run at half of their peak
  score-cost               CPU of a look-up and of a score, inside the service
  workers                  cost of a request with two serving threads, over one
On PostgreSQL 18, which comes as a package and is started for it:
  pg-thirty, pg-random     30 new events; against bare node:http, pgbench and the hand-written bench/baseline/
  pg-accounts, pg-events   as above, and 'caskade migrate' over 5,000 accounts
  pg-visscores, pg-segments, pg-hit, pg-joined-uploads   as above, with a million visitors
`;

/** @throws Error whose message says which argument is wrong */
export function readOptions(args: readonly string[]): Options | 'help' {
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
		},
	});
	if (values.help) return 'help';
	if (values.smoke && values.write)
		throw new Error('--smoke measures nothing that is worth writing: leave --write out.');
	const size = sizes[values.smoke ? 'smoke' : values.quick ? 'quick' : 'full'];
	return {
		...size,
		runs: values.runs === undefined ? size.runs : wholeNumber('--runs', values.runs, 3),
		seconds: values.seconds === undefined ? size.seconds : wholeNumber('--seconds', values.seconds, 1),
		events: values.events === undefined ? size.events : wholeNumber('--events', values.events, 1),
		lines: values.only ? values.only.map(lineName) : lineNames,
		folder: values.folder,
		writes: values.write ?? false,
	};
}

/** The number of the first run, 0 for a warm-up. */
export function firstRun({ warmUpSeconds }: Options): number {
	return warmUpSeconds > 0 ? 0 : 1;
}

/** How long and on how much data a run measures. */
const sizes = {
	full: {
		...{ runs: 3, seconds: 4, warmUpSeconds: 2, startUps: 5 },
		events: 10_000_000,
		accountCounts: [1, 100, 5000],
		storedEvents: [10_000, 1_000_000, 10_000_000],
		visitorCounts: [10_000, 1_000_000, 5_000_000],
		pgVisitors: 1_000_000,
	},
	quick: {
		...{ runs: 3, seconds: 1, warmUpSeconds: 1, startUps: 5 },
		events: 1_000_000,
		accountCounts: [1, 100],
		storedEvents: [10_000, 1_000_000],
		visitorCounts: [10_000, 100_000],
		pgVisitors: 100_000,
	},
	smoke: {
		...{ runs: 1, seconds: 2, warmUpSeconds: 0, startUps: 1 },
		events: 30_000,
		accountCounts: [1, 3],
		storedEvents: [1000, 10_000],
		visitorCounts: [10_000],
		pgVisitors: 10_000,
	},
} as const;

function lineName(name: string): LineName {
	const found = lineNames.find((candidate) => candidate === name);
	if (!found) throw new Error(`--only ${name}: there is no such line; there are ${lineNames.join(', ')}.`);
	return found;
}

function wholeNumber(flag: string, value: string, min: number): number {
	const number = Number(value.replaceAll(/[,_]/g, ''));
	if (!Number.isSafeInteger(number) || number < min)
		throw new Error(`${flag} ${value}: it must be a whole number of at least ${min}.`);
	return number;
}
