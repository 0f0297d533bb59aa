import type { Bench, Line, LineResult } from './line.ts';
import { quietMetrics } from './metrics.ts';
import type { LineName } from './options.ts';
import { runProgram } from './processes.ts';
import type { RawInput } from './raw-sqlite.ts';
import { manyRows, nextPrefix, type Tids } from './rows.ts';
import { type RunningCaskade, serveBare, upload } from './servers.ts';
import { compareRates, median, type Row, whole } from './table.ts';
import { connections, type Load, type WrkResult, wrk } from './wrk.ts';

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
	const dataFolder = caskade.newDataFolder();
	const server = await caskade.serve(dataFolder);
	// What a key that admits one request has left is used up by it; the second answer is the one to measure.
	if (line.status === 429) await upload(server.url, line.load.key, line.load.rows);
	const answer = await upload(server.url, line.load.key, line.load.rows);
	if (answer.status !== line.status)
		throw new Error(`${line.name}: the answer is ${answer.status} ${answer.body}, not ${line.status}.`);
	const bare = await serveBare({ ...answer, parse: line.status < 400 });
	const store = new StoredCount(server);
	const rawPath = `${dataFolder}.raw.sqlite`;
	const rates: { bare: number[]; caskade: number[]; events: number[]; raw: number[] } = {
		bare: [],
		caskade: [],
		events: [],
		raw: [],
	};
	for (let run = 0; run <= options.runs; run++) {
		const seconds = run === 0 ? options.warmUpSeconds : options.seconds;
		const bareResult = await wrk(bare.url, line.load, seconds);
		checkAnswers(bareResult, line);
		const { result, uploads } = await store.during(line, () => wrk(server.url, line.load, seconds));
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
	const notes = [store.check(line)];
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

/** @throws Error where an answer was cut off or had another kind of status than it should */
function checkAnswers({ requests, refused, broken }: WrkResult, { name, status }: Throughput): void {
	const expected = status < 400 ? 0 : requests;
	if (broken > 0 || refused !== expected || requests === 0)
		throw new Error(
			`${name}: of ${requests} requests ${refused} were refused, not ${expected}, and ${broken} broken.`,
		);
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

/** Compares what wrk counted with what the server did and with what the database holds. */
class StoredCount {
	readonly #server: RunningCaskade;
	readonly #eventsBefore: number;
	#answers = 0;
	#uploads = 0;
	#runs = 0;

	constructor(server: RunningCaskade) {
		this.#server = server;
		this.#eventsBefore = server.countEvents();
	}

	/** @throws Error where the server answered otherwise than wrk says */
	async during(
		line: Throughput,
		load: () => Promise<WrkResult>,
	): Promise<{ result: WrkResult; uploads: number }> {
		const before = await quietMetrics(this.#server.metricsUrl);
		const result = await load();
		const after = await quietMetrics(this.#server.metricsUrl);
		checkAnswers(result, line);
		// What is under way when wrk stops reaches the server, and nobody reads the answer.
		const other =
			after.answers - before.answers - (after.answersWith(line.status) - before.answersWith(line.status));
		const missing = result.requests - (after.answersWith(line.status) - before.answersWith(line.status));
		if (other > connections || missing > 0)
			throw new Error(
				`${line.name}: the server's metrics count ${other} other answers than ${line.status}, and ${missing} fewer of these than wrk.`,
			);
		const uploads = (after.eventsStored - before.eventsStored) / line.load.rows;
		this.#answers += result.requests;
		this.#uploads += uploads;
		this.#runs++;
		return { result, uploads };
	}

	/** @throws Error where the database does not hold exactly what was acknowledged and what was under way at the end */
	check({ name, status, load }: Throughput): string {
		const events = this.#server.countEvents() - this.#eventsBefore;
		if (status >= 400) {
			if (events > 0) throw new Error(`${name}: ${events} events of refused requests are stored.`);
			return `${name}: all of ${whole(this.#answers)} requests were answered with ${status}; nothing was stored.`;
		}
		const underWay = this.#uploads - this.#answers;
		if (events !== this.#uploads * load.rows || underWay < 0 || underWay > this.#runs * connections)
			throw new Error(
				`${name}: ${events} events are in the database; ${this.#answers} requests of ${load.rows} were answered with 201.`,
			);
		return `${name}: ${whole(events)} rows in the database = (${whole(this.#answers)} answers with 201 + ${underWay} uploads under way when wrk stopped) × ${load.rows}.`;
	}
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
