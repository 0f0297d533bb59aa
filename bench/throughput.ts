import { join } from 'node:path';
import type { Bench, Line, LineResult } from './line.ts';
import { firstRun, type LineName } from './options.ts';
import { runProgram } from './processes.ts';
import type { RawInput } from './raw-sqlite.ts';
import { manyRows, nextPrefix, type Tids } from './rows.ts';
import { serveBare, upload } from './servers.ts';
import { checkAnswers, StoredCount } from './stored-count.ts';
import { compareRates, median, type Row, whole } from './table.ts';
import { type Load, wrk } from './wrk.ts';

interface Throughput {
	readonly name: LineName;
	readonly title: string;
	readonly load: Load;
	readonly status: number;
	/** Share of what bare http does. */
	readonly aim?: number;
	/** Share of what raw SQLite does; without it that is not compared. */
	readonly raw?: { readonly aim?: number };
}

/** Requests whose rows raw SQLite commits together. */
const rawGroup = 64;

/** A line of the table for one kind of request, as many a second as the server takes. */
export function throughput(name: LineName, of: (bench: Bench) => Omit<Throughput, 'name'>): Line {
	return { name, measure: (bench) => measure(bench, { name, ...of(bench) }) };
}

async function measure(bench: Bench, line: Throughput): Promise<LineResult> {
	const { options, caskade, progress } = bench;
	const server = await caskade.serve();
	// What a key that admits one request has left is used up by it; the second answer is the one to measure.
	if (line.status === 429) await upload(server.url, line.load.key, line.load.rows);
	const answer = await upload(server.url, line.load.key, line.load.rows);
	if (answer.status !== line.status)
		throw new Error(`${line.name}: the answer is ${answer.status} ${answer.body}, not ${line.status}.`);
	const bare = await serveBare({ ...answer, parse: line.status < 400 });
	const store = await StoredCount.begin(server, line);
	const rawPath = join(caskade.folder, `${line.name}.raw.sqlite`);
	const rates: { bare: number[]; caskade: number[]; events: number[]; raw: number[] } = {
		bare: [],
		caskade: [],
		events: [],
		raw: [],
	};
	for (let run = firstRun(options); run <= options.runs; run++) {
		const seconds = run === 0 ? options.warmUpSeconds : options.seconds;
		const bareResult = await wrk(bare.url, line.load, seconds);
		checkAnswers(bareResult, line);
		const { result, uploads } = await store.during(() => wrk(server.url, line.load, seconds));
		// The same number of rows into as large a database.
		const raw = line.raw ? await rawEventsPerSecond(rawPath, line.load, uploads) : 0;
		if (run === 0) continue;
		rates.bare.push(bareResult.requests / bareResult.seconds);
		rates.caskade.push(result.requests / result.seconds);
		rates.events.push((result.requests * line.load.rows) / result.seconds);
		rates.raw.push(raw);
		progress(
			`${line.name}, run ${run} of ${options.runs}: ${whole(rates.caskade.at(-1) ?? 0)} requests/s, bare http ${whole(rates.bare.at(-1) ?? 0)}${line.raw ? `, raw SQLite ${whole(raw)} events/s` : ''}`,
		);
	}
	const notes = [await store.check()];
	await Promise.all([server.stop(), bare.stop()]);
	if (line.name === 'thirty') bench.peakPerSecond = median(rates.caskade);
	const bareRow = compareRates({
		measure: `${line.title}: requests/s`,
		caskade: rates.caskade,
		ceiling: rates.bare,
		of: line.status < 400 ? 'bare http that parses' : 'bare http that does not parse',
		aim: line.aim,
	});
	const rows: Row[] = [bareRow];
	if (line.raw)
		rows.push(
			compareRates({
				measure: `${line.title}: events/s`,
				caskade: rates.events,
				ceiling: rates.raw,
				of: 'raw SQLite, same rows',
				aim: line.raw.aim,
			}),
		);
	return { rows, notes };
}

async function rawEventsPerSecond(path: string, load: Load, uploads: number): Promise<number> {
	const input: RawInput = {
		path,
		prefix: nextPrefix(),
		tids: load.tids as Tids,
		requests: uploads,
		rows: load.rows,
		group: rawGroup,
	};
	return (await runProgram<{ eventsPerSecond: number }>('raw-sqlite.ts', input)).eventsPerSecond;
}

export const throughputLines: readonly Line[] = [
	throughput('thirty', ({ caskade }) => ({
		title: `${manyRows} new events a request, durable`,
		load: { rows: manyRows, key: caskade.key, tids: 'rising' },
		status: 201,
		aim: 0.6,
		raw: { aim: 0.5 },
	})),
	throughput('random', ({ caskade }) => ({
		title: `${manyRows} with random tids`,
		load: { rows: manyRows, key: caskade.key, tids: 'random' },
		status: 201,
		raw: {},
	})),
	throughput('single', ({ caskade }) => ({
		title: '1 new event a request, durable',
		load: { rows: 1, key: caskade.key, tids: 'rising' },
		status: 201,
		aim: 0.5,
	})),
	throughput('no-key', () => ({
		title: 'refused without a key',
		load: { rows: manyRows, key: '', tids: 'same' },
		status: 403,
		aim: 0.7,
	})),
	throughput('rate-limit', ({ caskade }) => ({
		title: 'refused by the rate limit',
		load: { rows: manyRows, key: caskade.limitedKey, tids: 'same' },
		status: 429,
		aim: 0.7,
	})),
];
