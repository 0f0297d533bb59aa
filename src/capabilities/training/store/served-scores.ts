import type { Band } from '../../../core/domain/goal.ts';
import { dayMs } from '../../../core/durations.ts';
import {
	type Query,
	type Reading,
	raw,
	rowsOf,
	type Steps,
	select,
	sql,
	values,
} from '../../../core/store/steps.ts';

/** A score that a page was told. */
export interface ServedScore {
	readonly vid: string;
	readonly goal: string;
	/** Milliseconds since 1970. */
	readonly atMs: number;
	readonly band: Band;
	readonly millionths: number;
}

/** What is kept of a goal, a band and a day of UTC: of a goal's three bands at most 2,000 a day. */
export const keptOfStratum = 666;
/** Rows per transaction of whatever deletes many. */
const pageRows = 500;

/** Keeps served scores. Those of visitors who are being erased are left out. */
export function* keepServedScores(scores: readonly ServedScore[]): Steps<void> {
	const rows = scores.map(({ vid, goal, atMs, band, millionths }) => [vid, goal, atMs, band, millionths]);
	yield* sql`INSERT INTO @served_score (vid, goal, at, band, score) SELECT column1, column2, column3, column4, column5 FROM (${values(rows)}) AS drawn WHERE EXISTS (SELECT 1 FROM @visitor AS visitor WHERE visitor.vid = drawn.column1) ON CONFLICT (vid, goal, at) DO NOTHING /* keep served scores */`;
}

/** The kept scores of a period, in order. */
export function* servedScores(fromMs: number, toMs: number): Reading<ServedScore[]> {
	const rows =
		yield* select`vid, goal, at, band, score FROM @served_score WHERE at >= ${Math.max(0, fromMs)} AND at < ${Math.min(Number.MAX_SAFE_INTEGER, toMs)} ORDER BY at, vid, goal /* served scores */`;
	return rows.map(({ vid, goal, at, band, score }) => ({
		vid: String(vid),
		goal: String(goal),
		atMs: Number(at),
		band: band as Band,
		millionths: Number(score),
	}));
}

/**
 * Deletes a page of the scores from before a moment, and of those above what is kept of a day, which several servers may
 * have drawn. Ids of visitors are random, so the first ones are a random sample.
 * @returns how many; 0 at the end
 */
export function* pruneServedScores(beforeMs: number, fullFromMs: number): Steps<number> {
	const page = raw(`LIMIT ${pageRows}) RETURNING vid /* prune served scores */`);
	const ranked = raw(`row_number() OVER (PARTITION BY goal, band, at / ${dayMs} ORDER BY vid, at)`);
	const gone = yield* rowsOf([
		sql`DELETE FROM @served_score WHERE (vid, goal, at) IN (SELECT vid, goal, at FROM @served_score WHERE at < ${beforeMs} ${page}`,
		sql`DELETE FROM @served_score WHERE (vid, goal, at) IN (SELECT vid, goal, at FROM (SELECT vid, goal, at, ${ranked} AS place FROM @served_score WHERE at >= ${fullFromMs}) AS ranked WHERE place > ${raw(keptOfStratum)} ${page}`,
	]);
	return gone.length;
}

/** A figure that is compared with what comes later. */
export interface KeptFigure {
	readonly name: string;
	/** Milliseconds since 1970. */
	readonly atMs: number;
	/** JSON. */
	readonly body: string;
}

/** Keeps a figure, in place of one of the same name. */
export function keepFigure({ name, atMs, body }: KeptFigure): Query {
	return sql`INSERT INTO @kept_figure (name, at, body) ${values([[name, atMs, body]])} ON CONFLICT (name) DO UPDATE SET at = excluded.at, body = excluded.body /* keep figure */`;
}

/** The kept figures whose names begin so, earliest first. */
export function* keptFigures(prefix: string): Reading<KeptFigure[]> {
	const end = `${prefix}\uffff`;
	const rows =
		yield* select`name, at, body FROM @kept_figure WHERE name >= ${prefix} AND name < ${end} ORDER BY at, name /* kept figures */`;
	return rows.map(({ name, at, body }) => ({ name: String(name), atMs: Number(at), body: String(body) }));
}
