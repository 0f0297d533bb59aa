import { idleMetrics, type MetricsSample } from './metrics.ts';
import type { RunningCaskade } from './servers.ts';
import { whole } from './table.ts';
import { connections, type Load, type WrkResult } from './wrk.ts';

/** The status that a server should answer every request with. */
export interface ExpectedStatus {
	readonly name: string;
	readonly status: number;
}

/** The uploads sent, and the status that they should be answered with. */
export interface ExpectedUploads extends ExpectedStatus {
	readonly load: Load;
}

/** @throws Error if an answer was incomplete or had an unexpected kind of status */
export function checkAnswers(
	{ requests, refused, broken }: WrkResult,
	{ name, status }: ExpectedStatus,
): void {
	const expected = status < 400 ? 0 : requests;
	if (broken > 0 || refused !== expected || requests === 0)
		throw new Error(
			`${name}: of ${requests} requests, ${refused} were refused instead of ${expected}, and ${broken} got no complete answer.`,
		);
}

/** Runs the load and compares wrk's counts with the server's metrics. @throws Error if they disagree */
export async function countedAnswers(
	metricsUrl: string,
	expected: ExpectedStatus,
	load: () => Promise<WrkResult>,
): Promise<{ result: WrkResult; before: MetricsSample; after: MetricsSample }> {
	const { name, status } = expected;
	const before = await idleMetrics(metricsUrl);
	const result = await load();
	const after = await idleMetrics(metricsUrl);
	checkAnswers(result, expected);
	// The server also answers the requests in flight when wrk stops, which wrk does not count.
	const other = after.answers - before.answers - (after.answersWith(status) - before.answersWith(status));
	const missing = result.requests - (after.answersWith(status) - before.answersWith(status));
	if (other > connections || missing > 0)
		throw new Error(
			`${name}: according to the server's metrics, ${other} answers had another status than ${status}, and ${missing} answers that wrk counted are missing.`,
		);
	return { result, before, after };
}

/** Compares wrk's counts with the server's metrics and with the rows in the database. */
export class StoredCount {
	readonly #server: RunningCaskade;
	readonly #expected: ExpectedUploads;
	readonly #eventsBefore: number;
	#answers = 0;
	#uploads = 0;
	#runs = 0;

	private constructor(server: RunningCaskade, expected: ExpectedUploads, eventsBefore: number) {
		this.#server = server;
		this.#expected = expected;
		this.#eventsBefore = eventsBefore;
	}

	static async begin(server: RunningCaskade, expected: ExpectedUploads): Promise<StoredCount> {
		return new StoredCount(server, expected, await server.database.countEvents());
	}

	/** Runs the load. @throws Error if wrk's counts and the server's metrics disagree */
	async during(load: () => Promise<WrkResult>): Promise<{ result: WrkResult; uploads: number }> {
		const expected = this.#expected;
		const { result, before, after } = await countedAnswers(this.#server.metricsUrl, expected, load);
		const uploads = (after.eventsStored - before.eventsStored) / expected.load.rows;
		this.#answers += result.requests;
		this.#uploads += uploads;
		this.#runs++;
		return { result, uploads };
	}

	/** @throws Error if the database does not hold exactly the uploads that were acknowledged or in flight at the end */
	async check(): Promise<string> {
		const { name, status, load } = this.#expected;
		const events = (await this.#server.database.countEvents()) - this.#eventsBefore;
		if (status >= 400) {
			if (events > 0) throw new Error(`${name}: ${events} events of refused requests are stored.`);
			return `${name}: all of ${whole(this.#answers)} requests were answered with ${status}; nothing was stored.`;
		}
		const inFlight = this.#uploads - this.#answers;
		if (events !== this.#uploads * load.rows || inFlight < 0 || inFlight > this.#runs * connections)
			throw new Error(
				`${name}: ${events} events are in the database, but ${this.#answers} requests of ${load.rows} were answered with 201.`,
			);
		return `${name}: ${whole(events)} rows in the database = (${whole(this.#answers)} answers with 201 + ${inFlight} uploads in flight when wrk stopped) × ${load.rows}.`;
	}
}
