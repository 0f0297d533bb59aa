import type { LatestHits } from '../../account/arriving/hits.ts';
import { type Query, type Row, raw, type Settle, type Steps, select, sql, values } from '../../steps.ts';

/**
 * Hits are stored in `recent_hit`, in order of arrival, until they are settled: moved to `hit`, whose indexes by
 * visitor and visit are written at random places. All hits of a visitor are settled together and share these places.
 * Most visitors have so few hits that theirs are never settled.
 */

/** Maximum length of a visitor's list of recent hits: about 60 hits, so that settling them is cheap for a request. */
const maxListCharacters = 512;

/** Stores hits as recent ones, and saves their visitors, who list them. */
export function* addRecentHits({ hits, visitors, others }: LatestHits): Steps<void> {
	const rows = hits.map(({ vid, sid, atMs, text }) => [vid, sid, atMs, text]);
	const added =
		yield* sql`INSERT INTO @recent_hit (vid, sid, at, body) ${values(rows)} RETURNING id, vid /* add recent hits */`;
	const idsOf = Map.groupBy(added, ({ vid }) => vid);
	const listed = visitors.map(([vid, profile]) => {
		const ids = idsOf.get(vid)?.map(({ id }) => id);
		return [vid, JSON.stringify(profile), ids?.join() ?? null];
	});
	yield others;
	const lists =
		yield* sql`INSERT INTO @visitor (vid, profile, recent) ${values(listed)} ON CONFLICT (vid) DO UPDATE SET profile = excluded.profile, recent = concat_ws(',', recent, excluded.recent) RETURNING vid, length(recent) AS characters /* save visitors */`;
	const full = lists.filter(({ characters }) => Number(characters) > maxListCharacters);
	if (full.length > 0) yield [{ settle: full.map(({ vid }) => String(vid)) }];
}

const listedBy = "SELECT value FROM @visitor, json_each('[' || recent || ']') WHERE vid IN ?list";

/** Settles hits. If there is nothing to settle, this costs one look-up. */
export function* settling({ settle }: Settle): Steps<readonly Row[]> {
	if (!('beforeMs' in settle)) {
		yield settlingOf(settle);
		return [];
	}
	const oldest =
		yield* select`id, vid FROM @recent_hit WHERE at < ${settle.beforeMs} ORDER BY at, id LIMIT ${raw(settle.max)} /* oldest recent hits */`;
	yield settlingOf([...new Set(oldest.map(({ vid }) => String(vid)))]);
	// In a damaged database, no visitor lists some of the hits.
	yield moving('?list', [oldest.map(({ id }) => String(id))]);
	return oldest;
}

function settlingOf(vids: readonly string[]): Query[] {
	return [
		...moving(`(${listedBy})`, [vids]),
		sql`UPDATE @visitor SET recent = NULL WHERE vid IN ${vids} AND recent IS NOT NULL /* settle */`,
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
