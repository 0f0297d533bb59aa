import { type Reading, type Steps, select, sql, values } from '../../core/store/steps.ts';

/**
 * What came in on past days is kept, so that nobody counts it again. A row is a day in UTC. What a request stores is of today,
 * which is never kept, so it need not know of this. Whatever changes the past deletes the rows of its days in its transaction;
 * see `arriving/forget-days.ts`.
 */

/** Rows that one transaction begins. */
const maxBegun = 500;

/** The day of a moment in UTC, as 2026-01-31. */
export function utcDay(ms: number): string {
	return new Date(ms).toISOString().slice(0, 10);
}

/** Forgets all, so that they are made again. */
export function* forgetAllDays(): Steps<void> {
	yield* sql`DELETE FROM @kept_day /* forget all days */`;
}

/** Whether days were asked for at a later time than this: by a clock that was ahead. What was kept of them may not be all of it. */
export function* hasFutureDays(nowMs: number): Reading<boolean> {
	const rows = yield* select`day FROM @kept_day WHERE since > ${nowMs} LIMIT 1 /* future days */`;
	return rows.length > 0;
}

/** Forgets these days. */
export function* forgetFutureDays(nowMs: number): Steps<void> {
	yield* sql`DELETE FROM @kept_day WHERE since > ${nowMs} /* forget future days */`;
}

/** A day that is kept, or asked for. */
export interface KeptDay {
	readonly day: string;
	readonly sinceMs: number;
	/** JSON; null until they are made. */
	readonly figures: string | null;
}

/** The rows of days from one to another, both included, in order. */
export function* keptDays(fromDay: string, toDay: string): Reading<KeptDay[]> {
	const rows =
		yield* select`day, since, figures FROM @kept_day WHERE day >= ${fromDay} AND day <= ${toDay} ORDER BY day /* kept days */`;
	return rows.map(({ day, since, figures }) => ({
		day: String(day),
		sinceMs: Number(since),
		figures: figures as string | null,
	}));
}

/** Which days are kept, without their figures. */
export function* daysKept(fromDay: string, toDay: string): Reading<(KeptDay & { isMade: boolean })[]> {
	const rows =
		yield* select`day, since, figures IS NOT NULL AS made FROM @kept_day WHERE day >= ${fromDay} AND day <= ${toDay} ORDER BY day /* days kept */`;
	return rows.map(({ day, since, made }) => ({
		day: String(day),
		sinceMs: Number(since),
		figures: null,
		isMade: Boolean(made),
	}));
}

/** Asks for days: whatever changes them from now on deletes their rows. */
export function* beginDays(days: readonly string[], nowMs: number): Steps<void> {
	for (let from = 0; from < days.length; from += maxBegun) {
		const rows = days.slice(from, from + maxBegun).map((day) => [day, nowMs]);
		yield* sql`INSERT INTO @kept_day (day, since) ${values(rows)} ON CONFLICT (day) DO NOTHING /* begin days */`;
	}
}

/** Keeps the figures of a day, unless it has changed since it was asked for. */
export function* keepDay({ day, sinceMs }: KeptDay, figures: string): Steps<void> {
	yield* sql`UPDATE @kept_day SET figures = ${figures} WHERE day = ${day} AND since = ${sinceMs} /* keep day */`;
}
