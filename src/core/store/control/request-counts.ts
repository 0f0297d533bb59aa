import type { CountedBits } from '../../domain/distinct-count.ts';
import type { ExperimentGroup } from '../../domain/experiment-group.ts';
import { dayMs } from '../../durations.ts';
import { isoTime } from '../../format/iso-time.ts';
import type { Steps } from '../steps.ts';

/** So long counts by day are kept: this year and the one before, as far as it matters. */
const keptMs = 400 * dayMs;
/** So many problems of a client are kept. */
const keptProblems = 100;

/** A visitor of an experiment who asked for its segment. */
export interface ExperimentRead extends CountedBits {
	readonly accountId: number;
	readonly experiment: string;
	readonly group: ExperimentGroup;
}

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

/** What a server has counted of its requests. What is missing is empty. */
export interface RequestCounts {
	/** When keys were used last. */
	readonly keyUses?: readonly { readonly keyId: string; readonly atMs: number }[];
	readonly experimentReads?: readonly ExperimentRead[];
	readonly uploadAnswers?: readonly UploadAnswers[];
	readonly uploadProblems?: readonly UploadProblem[];
}

/**
 * Records what servers have counted, in any order. Of keys the latest use counts, and visitors may be counted again. A
 * transaction that is repeated although it was stored counts answers twice.
 */
export function* recordCounts({
	keyUses = [],
	experimentReads = [],
	uploadAnswers = [],
	uploadProblems = [],
}: RequestCounts): Steps<void> {
	const clients = [...new Set([...uploadAnswers, ...uploadProblems].map(({ clientId }) => clientId))];
	const firstDay = uploadAnswers.map(({ day }) => day).sort()[0];
	yield [
		{
			sql: 'UPDATE @api_key AS api_key SET last_used_at = used.column2 FROM (?rows) AS used WHERE api_key.id = used.column1 AND (api_key.last_used_at IS NULL OR api_key.last_used_at < used.column2) /* key uses */',
			rows: keyUses.map(({ keyId, atMs }) => [keyId, atMs]),
		},
		{
			sql: 'INSERT INTO @experiment_read AS counted (account_id, name, held_out, register, rank) ?rows ON CONFLICT (account_id, name, held_out, register) DO UPDATE SET rank = excluded.rank WHERE excluded.rank > counted.rank /* experiment reads */',
			rows: experimentReads.map(({ accountId, experiment, group, register, rank }) => [
				accountId,
				experiment,
				group === 'holdout' ? 1 : 0,
				register,
				rank,
			]),
		},
		{
			sql: 'INSERT INTO @upload_answer AS known (client_id, aid, day, cause, requests) ?rows ON CONFLICT (client_id, aid, day, cause) DO UPDATE SET requests = known.requests + excluded.requests /* upload answers */',
			rows: uploadAnswers.map(({ clientId, aid, day, cause, requests }) => [
				clientId,
				aid ?? '',
				day,
				cause,
				requests,
			]),
		},
		{
			sql: 'INSERT INTO @upload_problem (client_id, at, request_id, aid, key_id, cause, detail) ?rows ON CONFLICT DO NOTHING /* upload problems */',
			rows: uploadProblems.map(({ clientId, atMs, requestId, aid, keyId, cause, detail }) => [
				clientId,
				atMs,
				requestId,
				aid ?? '',
				keyId,
				cause,
				detail,
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
