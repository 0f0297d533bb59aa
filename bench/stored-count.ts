import { type MetricsSample, quietMetrics } from './metrics.ts';
import type { RunningCaskade } from './servers.ts';
import { whole } from './table.ts';
import { connections, type Load, type WrkResult } from './wrk.ts';

/** What a server answers to all that it is sent. */
export interface ExpectedAnswer {
	readonly name: string;
	readonly status: number;
}

/** The same of uploads. */
export interface Expected extends ExpectedAnswer {
	readonly load: Load;
}

/** @throws Error where an answer was cut off or had another kind of status than it should */
export function checkAnswers(
	{ requests, refused, broken }: WrkResult,
	{ name, status }: ExpectedAnswer,
): void {
	const expected = status < 400 ? 0 : requests;
	if (broken > 0 || refused !== expected || requests === 0)
		throw new Error(
			`${name}: of ${requests} requests ${refused} were refused, not ${expected}, and ${broken} broken.`,
		);
}

/** Compares what wrk counted with what the server did. @throws Error where the server answered otherwise than wrk says */
export async function countedAnswers(
	metricsUrl: string,
	expected: ExpectedAnswer,
	load: () => Promise<WrkResult>,
): Promise<{ result: WrkResult; before: MetricsSample; after: MetricsSample }> {
	const { name, status } = expected;
	const before = await quietMetrics(metricsUrl);
	const result = await load();
	const after = await quietMetrics(metricsUrl);
	checkAnswers(result, expected);
	// What is under way when wrk stops reaches the server, and nobody reads the answer.
	const other = after.answers - before.answers - (after.answersWith(status) - before.answersWith(status));
	const missing = result.requests - (after.answersWith(status) - before.answersWith(status));
	if (other > connections || missing > 0)
		throw new Error(
			`${name}: the server's metrics count ${other} other answers than ${status}, and ${missing} fewer of these than wrk.`,
		);
	return { result, before, after };
}

/** Compares what wrk counted with what the server did and with what the database holds. */
export class StoredCount {
	readonly #server: RunningCaskade;
	readonly #expected: Expected;
	readonly #eventsBefore: number;
	#answers = 0;
	#uploads = 0;
	#runs = 0;

	private constructor(server: RunningCaskade, expected: Expected, eventsBefore: number) {
		this.#server = server;
		this.#expected = expected;
		this.#eventsBefore = eventsBefore;
	}

	static async begin(server: RunningCaskade, expected: Expected): Promise<StoredCount> {
		return new StoredCount(server, expected, await server.place.countEvents());
	}

	/** @throws Error where the server answered otherwise than wrk says */
	async during(load: () => Promise<WrkResult>): Promise<{ result: WrkResult; uploads: number }> {
		const line = this.#expected;
		const { result, before, after } = await countedAnswers(this.#server.metricsUrl, line, load);
		const uploads = (after.eventsStored - before.eventsStored) / line.load.rows;
		this.#answers += result.requests;
		this.#uploads += uploads;
		this.#runs++;
		return { result, uploads };
	}

	/** @throws Error where the database does not hold exactly what was acknowledged and what was under way at the end */
	async check(): Promise<string> {
		const { name, status, load } = this.#expected;
		const events = (await this.#server.place.countEvents()) - this.#eventsBefore;
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
