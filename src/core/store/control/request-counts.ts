import type { CountedBits } from '../../domain/distinct-count.ts';
import type { ExperimentGroup } from '../../domain/experiment-group.ts';
import { dayMs } from '../../durations.ts';
import { isoTime } from '../../format/iso-time.ts';
import { having, rowsOf, type Steps, sql, values } from '../steps.ts';

/** So long counts by day are kept: this year and the one before, as far as it matters. */
const keptMs = 400 * dayMs;
/** So long counts tell quarters of an hour apart, so that every time zone has its days. */
const quartersKeptMs = 35 * dayMs;
/** So many problems of a client are kept. */
const keptProblems = 100;

/** A visitor of an experiment who asked for its segment. */
export interface ExperimentRead extends CountedBits {
	readonly accountId: number;
	readonly experiment: string;
	readonly group: ExperimentGroup;
}

/** How often uploads of a client were answered in one way within a quarter of an hour. */
export interface UploadAnswers {
	readonly clientId: number;
	/** Null where the request has named no account of the client. */
	readonly aid: string | null;
	/** Where the quarter begins. */
	readonly atMs: number;
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
	const clients = [...new Set(uploadProblems.map(({ clientId }) => clientId))];
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
			sql: 'INSERT INTO @upload_quarter AS known (client_id, aid, at, cause, requests) ?rows ON CONFLICT (client_id, aid, at, cause) DO UPDATE SET requests = known.requests + excluded.requests /* upload answers */',
			rows: uploadAnswers.map(({ clientId, aid, atMs, cause, requests }) => [
				clientId,
				aid ?? '',
				atMs,
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
		...clients.map((clientId) => ({
			sql: `DELETE FROM @upload_problem WHERE client_id = ? AND at < (SELECT at FROM @upload_problem WHERE client_id = ? ORDER BY at DESC LIMIT 1 OFFSET ${keptProblems - 1}) /* old upload problems */`,
			values: [clientId, clientId],
		})),
	];
	if (uploadAnswers.length > 0) yield* addUpDays(uploadAnswers);
}

/** Of those of whom answers were just told: what is too old to tell quarters apart becomes days of UTC, and old days go. */
function* addUpDays(told: readonly UploadAnswers[]): Steps<void> {
	const firstMs = Math.min(...told.map(({ atMs }) => atMs));
	const cutMs = firstMs - (firstMs % dayMs) - quartersKeptMs;
	const theirs = new Map(
		told.map(({ clientId, aid }) => [`${clientId} ${aid}`, [clientId, aid ?? '', cutMs]]),
	);
	const due =
		yield* sql`SELECT column1 AS client_id, column2 AS aid FROM (${values([...theirs.values()])}) AS told WHERE EXISTS (SELECT 1 FROM @upload_quarter WHERE client_id = column1 AND aid = column2 AND at < column3) /* due quarters */`;
	const oneOf = due.map(({ client_id = 0, aid = '' }) => having({ client_id, aid }));
	const dayOf = (ms: number) => isoTime(ms).slice(0, 10);
	const old = yield* rowsOf(
		oneOf.map(
			(own) =>
				sql`DELETE FROM @upload_quarter WHERE ${own} AND at < ${cutMs} RETURNING client_id, aid, at, cause, requests /* old quarters */`,
		),
	);
	const days = old.map(({ client_id = 0, aid = '', at, cause = '', requests = 0 }) => [
		client_id,
		aid,
		dayOf(Number(at)),
		cause,
		requests,
	]);
	yield [
		sql`INSERT INTO @upload_answer AS known (client_id, aid, day, cause, requests) SELECT column1, column2, column3, column4, sum(column5) FROM (${values(days)}) AS old GROUP BY column1, column2, column3, column4 ON CONFLICT (client_id, aid, day, cause) DO UPDATE SET requests = known.requests + excluded.requests /* days of upload answers */`,
		...oneOf.map(
			(own) =>
				sql`DELETE FROM @upload_answer WHERE ${own} AND day < ${dayOf(firstMs - keptMs)} /* old upload answers */`,
		),
	];
}
