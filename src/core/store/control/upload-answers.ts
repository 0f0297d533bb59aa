import { dayMs } from '../../durations.ts';
import { ask, type Raw, raw, select } from '../steps.ts';
import type { ControlDoors } from './control-tables.ts';
import type { UploadAnswers, UploadProblem } from './request-counts.ts';

/** Of an account and of no account of its client. */
const of = (clientId: number, aid: string): Raw => raw("client_id = ? AND aid IN ('', ?)", clientId, aid);
/** Null where there is none. */
const columns = raw('client_id AS "clientId", nullif(aid, \'\') AS aid');

/** How often uploads were answered in one way on a day. */
interface AnswersOfDay extends Omit<UploadAnswers, 'atMs'> {
	readonly day: string;
}

/** How uploads were answered. */
export function uploadAnswerStore({ read }: ControlDoors) {
	return {
		/**
		 * By cause, of an account and of no account of its client. What is kept by days of UTC is of the days of these names.
		 * @param days that follow each other
		 * @param dayOf which of them a moment is in
		 */
		byDay: async (
			clientId: number,
			aid: string,
			days: readonly string[],
			dayOf: (ms: number) => string | undefined,
		): Promise<AnswersOfDay[]> => {
			const [first, last] = [days[0], days.at(-1)];
			if (first === undefined || last === undefined) return [];
			const own = of(clientId, aid);
			// No zone's day begins a day before that of UTC, or ends a day after it.
			const { whole, quarters } = await read(
				ask({
					whole: select<AnswersOfDay>`${columns}, day, cause, requests FROM @upload_answer WHERE ${own} AND day BETWEEN ${first} AND ${last}`,
					quarters: select<UploadAnswers>`${columns}, at AS "atMs", cause, requests FROM @upload_quarter WHERE ${own} AND at BETWEEN ${Date.parse(first) - dayMs} AND ${Date.parse(last) + 2 * dayMs}`,
				}),
			);
			const inDays = quarters.flatMap(({ atMs, ...answers }) => {
				const day = dayOf(atMs);
				return day === undefined ? [] : { ...answers, day };
			});
			return [...whole, ...inDays];
		},

		/** The latest of an account and of no account of its client, the latest first. */
		problems: (clientId: number, aid: string) =>
			read(
				select<UploadProblem>`${columns}, at AS "atMs", request_id AS "requestId", key_id AS "keyId", cause, detail FROM @upload_problem WHERE ${of(clientId, aid)} ORDER BY at DESC`,
			),
	};
}
