import { type Raw, raw, select } from '../steps.ts';
import type { ControlDoors } from './control-tables.ts';
import type { UploadAnswers, UploadProblem } from './request-counts.ts';

/** Of an account and of no account of its client. */
const of = (clientId: number, aid: string): Raw => raw("client_id = ? AND aid IN ('', ?)", clientId, aid);
/** Null where there is none. */
const columns = raw('client_id AS "clientId", nullif(aid, \'\') AS aid');

/** How uploads were answered. */
export function uploadAnswerStore({ read }: ControlDoors) {
	return {
		/** By day and cause, of an account and of no account of its client. @param fromDay the first one */
		byDay: (clientId: number, aid: string, fromDay: string) =>
			read(
				select<UploadAnswers>`${columns}, day, cause, requests FROM @upload_answer WHERE ${of(clientId, aid)} AND day >= ${fromDay} ORDER BY day, cause`,
			),

		/** The latest of an account and of no account of its client, the latest first. */
		problems: (clientId: number, aid: string) =>
			read(
				select<UploadProblem>`${columns}, at AS "atMs", request_id AS "requestId", key_id AS "keyId", cause, detail FROM @upload_problem WHERE ${of(clientId, aid)} ORDER BY at DESC`,
			),
	};
}
