import { quietMetrics } from './metrics.ts';
import type { RunningCaskade } from './servers.ts';
import { whole } from './table.ts';
import { connections, type Load, type WrkResult } from './wrk.ts';

/** What a server is sent, and what it answers to all of it. */
export interface Expected {
	readonly name: string;
	readonly load: Load;
	readonly status: number;
}

/** @throws Error where an answer was cut off or had another kind of status than it should */
export function checkAnswers({ requests, refused, broken }: WrkResult, { name, status }: Expected): void {
	const expected = status < 400 ? 0 : requests;
	if (broken > 0 || refused !== expected || requests === 0)
		throw new Error(
			`${name}: of ${requests} requests ${refused} were refused, not ${expected}, and ${broken} broken.`,
		);
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
