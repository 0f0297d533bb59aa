import { dayMs } from '../../durations.ts';
import { isoTime } from '../../format/iso-time.ts';
import type { Steps } from '../steps.ts';
import type { ControlDoors } from './tables.ts';

/** So long counts by day are kept: this year and the one before, as far as it matters. */
const keptMs = 400 * dayMs;
/** So many problems of a client are kept. */
const keptProblems = 100;

/** How often uploads of a client were answered in one way on a day. */
export interface UploadAnswers {
	readonly clientId: number;
	/** Null where the request has named no account of the client. */
	readonly aid: string | null;
	/** Of UTC. */
	readonly day: string;
	/** `stored`, `simulated`, `conflict` where some were stored before with other content, or the code of an error. */
	readonly cause: string;
	readonly requests: number;
}

/** An upload that was refused, or had conflicts. Nothing of what was sent is kept. */
export interface UploadProblem extends Pick<UploadAnswers, 'clientId' | 'aid' | 'cause'> {
	readonly atMs: number;
	readonly requestId: string;
	readonly keyId: string;
	/** Which rows and fields. */
	readonly detail: string;
}

/** Adds to the counts of several servers. A transaction that is repeated although it was stored counts twice. */
export function* recordUploadAnswers(
	answers: readonly UploadAnswers[],
	problems: readonly UploadProblem[],
): Steps<void> {
	const clients = [...new Set([...answers, ...problems].map(({ clientId }) => clientId))];
	const firstDay = answers.map(({ day }) => day).sort()[0];
	yield [
		{
			sql: 'INSERT INTO @upload_answer AS known (client_id, aid, day, cause, requests) ?rows ON CONFLICT (client_id, aid, day, cause) DO UPDATE SET requests = known.requests + excluded.requests /* upload answers */',
			rows: answers.map(({ clientId, aid, day, cause, requests }) => [
				clientId,
				aid ?? '',
				day,
				cause,
				requests,
			]),
		},
		{
			sql: 'INSERT INTO @upload_problem (client_id, at, request_id, aid, key_id, cause, detail) ?rows ON CONFLICT DO NOTHING /* upload problems */',
			rows: problems.map(({ clientId, atMs, requestId, aid, keyId, cause, detail }) => [
				...[clientId, atMs, requestId, aid ?? '', keyId, cause, detail],
			]),
		},
		...clients.flatMap((clientId) => [
			...(firstDay === undefined
				? []
				: [
						{
							sql: 'DELETE FROM @upload_answer WHERE client_id = ? AND day < ? /* old upload answers */',
							values: [clientId, isoTime(Date.parse(firstDay) - keptMs).slice(0, 10)],
						},
					]),
			{
				sql: `DELETE FROM @upload_problem WHERE client_id = ? AND at < (SELECT at FROM @upload_problem WHERE client_id = ? ORDER BY at DESC LIMIT 1 OFFSET ${keptProblems - 1}) /* old upload problems */`,
				values: [clientId, clientId],
			},
		]),
	];
}

/** How uploads were answered. */
export class UploadAnswerStore {
	readonly #doors: ControlDoors;

	constructor(doors: ControlDoors) {
		this.#doors = doors;
	}

	/** By day and cause, of an account and of no account of its client. @param fromDay the first one */
	async byDay(clientId: number, aid: string, fromDay: string): Promise<UploadAnswers[]> {
		const rows = await this.#doors.database
			.selectFrom('upload_answer')
			.selectAll()
			.where('client_id', '=', clientId)
			.where('aid', 'in', ['', aid])
			.where('day', '>=', fromDay)
			.orderBy('day')
			.orderBy('cause')
			.execute();
		return rows.map((row) => ({
			clientId,
			aid: row.aid || null,
			day: row.day,
			cause: row.cause,
			requests: row.requests,
		}));
	}

	/** The latest of an account and of no account of its client, the latest first. */
	async problems(clientId: number, aid: string): Promise<UploadProblem[]> {
		const rows = await this.#doors.database
			.selectFrom('upload_problem')
			.selectAll()
			.where('client_id', '=', clientId)
			.where('aid', 'in', ['', aid])
			.orderBy('at', 'desc')
			.execute();
		return rows.map((row) => ({
			clientId,
			aid: row.aid || null,
			atMs: row.at,
			requestId: row.request_id,
			keyId: row.key_id,
			cause: row.cause,
			detail: row.detail,
		}));
	}
}
