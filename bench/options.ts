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
}

export const usage = `npm run bench -- [--quick] [--only NAME]… [--events N] [--runs N] [--seconds N] [--folder DIR]

Measures the service, each figure beside its ceiling in the same run. About half an hour and 10 GB; nothing else should run.

  --quick      shorter runs, 1 million events, shorter curves: some 8 minutes, and less exact
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
			only: { type: 'string', multiple: true },
			events: { type: 'string' },
			runs: { type: 'string' },
			seconds: { type: 'string' },
			folder: { type: 'string' },
		},
	});
	if (values.help) return 'help';
	const quick = values.quick ?? false;
	return {
		runs: wholeNumber('--runs', values.runs, 3, 3),
		seconds: wholeNumber('--seconds', values.seconds, 1, quick ? 1 : 4),
		warmUpSeconds: quick ? 1 : 2,
		events: wholeNumber('--events', values.events, 1, quick ? 1_000_000 : 10_000_000),
		startUps: 5,
		accountCounts: quick ? [1, 100] : [1, 100, 5000],
		storedEvents: quick ? [10_000, 1_000_000] : [10_000, 1_000_000, 10_000_000],
		visitorCounts: quick ? [10_000, 100_000] : [10_000, 1_000_000, 5_000_000],
		pgVisitors: quick ? 100_000 : 1_000_000,
		lines: values.only ? values.only.map(lineName) : lineNames,
		folder: values.folder,
	};
}

function lineName(name: string): LineName {
	const found = lineNames.find((candidate) => candidate === name);
	if (!found) throw new Error(`--only ${name}: there is no such line; there are ${lineNames.join(', ')}.`);
	return found;
}

function wholeNumber(flag: string, value: string | undefined, least: number, otherwise: number): number {
	if (value === undefined) return otherwise;
	const number = Number(value.replaceAll(/[,_]/g, ''));
	if (!Number.isSafeInteger(number) || number < least)
		throw new Error(`${flag} ${value}: it must be a whole number of at least ${least}.`);
	return number;
}
