import type { LatestHits, Query, Row, Settle, Steps } from '../steps.ts';

/**
 * Hits wait in `recent_hit`, in order of arrival, until they are settled: moved to `hit`, whose indexes by visitor and by
 * visit are written at random places. Of one visitor many go together and share these places, and most never go.
 */

/** Characters of a visitor's list of recent hits: some 60 of them, so that settling them costs no request much. */
const maxListCharacters = 512;

/** Adds hits to the recent ones, and with them saves their visitors, who list them. */
export function* addRecentHits({ hits, visitors, others }: LatestHits): Steps<void> {
	const [added = []] = yield [
		{
			sql: 'INSERT INTO @recent_hit (vid, sid, at, body) ?rows RETURNING id, vid /* add recent hits */',
			rows: hits.map(({ vid, sid, atMs, text }) => [vid, sid, atMs, text]),
		},
	];
	const idsOf = Map.groupBy(added, ({ vid }) => vid);
	const [lists = []] = yield [
		{
			sql: "INSERT INTO @visitor (vid, profile, recent) ?rows ON CONFLICT (vid) DO UPDATE SET profile = excluded.profile, recent = concat_ws(',', recent, excluded.recent) RETURNING vid, length(recent) AS characters /* save visitors */",
			rows: visitors.map(([vid, profile]) => [
				vid,
				profile,
				idsOf
					.get(vid)
					?.map(({ id }) => id)
					.join() ?? null,
			]),
		},
		...others,
	];
	const full = lists.filter(({ characters }) => Number(characters) > maxListCharacters);
	if (full.length > 0) yield [{ settle: full.map(({ vid }) => String(vid)) }];
}

const listedBy = "SELECT value FROM @visitor, json_each('[' || recent || ']') WHERE vid IN ?list";

/** Settles hits. What finds nothing to settle costs a look-up. */
export function* settling({ settle }: Settle): Steps<readonly Row[]> {
	if (!('beforeMs' in settle)) {
		yield settlingOf(settle);
		return [];
	}
	const [oldest = []] = yield [
		{
			sql: `SELECT id, vid FROM @recent_hit WHERE at < ? ORDER BY at, id LIMIT ${settle.max} /* oldest recent hits */`,
			values: [settle.beforeMs],
		},
	];
	yield settlingOf([...new Set(oldest.map(({ vid }) => String(vid)))]);
	// In a damaged database nobody lists some.
	yield moving('?list', [oldest.map(({ id }) => String(id))]);
	return oldest;
}

function settlingOf(vids: readonly string[]): Query[] {
	return [
		...moving(`(${listedBy})`, [vids]),
		{
			sql: 'UPDATE @visitor SET recent = NULL WHERE vid IN ?list AND recent IS NOT NULL /* settle */',
			values: [vids],
		},
	];
}

function moving(ids: string, values: NonNullable<Query['values']>): Query[] {
	return [
		{
			sql: `INSERT INTO @hit (vid, sid, at, body) SELECT vid, sid, at, body FROM @recent_hit WHERE id IN ${ids} ORDER BY id /* settle */`,
			values,
		},
		{ sql: `DELETE FROM @recent_hit WHERE id IN ${ids} /* settle */`, values },
	];
}
