import type { UploadAnswers, UploadProblem } from './request-counts.ts';
import type { ControlDoors } from './tables.ts';

/** How uploads were answered. */
export function uploadAnswerStore({ database }: ControlDoors) {
	return {
		/** By day and cause, of an account and of no account of its client. @param fromDay the first one */
		async byDay(clientId: number, aid: string, fromDay: string): Promise<UploadAnswers[]> {
			const rows = await database
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
		},

		/** The latest of an account and of no account of its client, the latest first. */
		async problems(clientId: number, aid: string): Promise<UploadProblem[]> {
			const rows = await database
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
		},
	};
}
