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
	readonly lines: readonly LineName[];
	/** Where data folders are made. */
	readonly folder: string | undefined;
}

export const usage = `npm run bench -- [--quick] [--only NAME]… [--events N] [--runs N] [--seconds N] [--folder DIR]

Measures the service, each figure beside its ceiling in the same run. About 4 minutes; nothing else should run.

  --quick      shorter runs, 1 million events: under 90 seconds, and less exact
  --only NAME  one line (again for more): ${lineNames.join(', ')}
  --events N   stored before the memory is read (10,000,000)
  --runs N     of each measurement, 3 or more (3)
  --seconds N  of each run (4)
  --folder DIR where data folders are made, on the disk to be measured (the system's temporary folder)
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
