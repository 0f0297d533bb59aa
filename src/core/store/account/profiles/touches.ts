import { compareEntries, type HitEntry } from '../../../domain/profile.ts';
import type { HitRecord } from '../../../domain/stored-hit.ts';
import { type Touch, touchOf } from '../../../domain/touch.ts';
import { type Query, type Reading, type Row, type Steps, select, sql, values } from '../../steps.ts';
import { forgetDays } from '../arriving/forget-days.ts';

/**
 * A stored touch; a visitor has at most one per moment. Touches are derived from the log, like profiles, and updated
 * together with them.
 */
export interface StoredTouch {
	readonly vid: string;
	readonly atMs: number;
	/** JSON: channel, source, medium, campaign, landing page. */
	readonly origin: string;
}

/** The touch of a hit, if it is one. */
export function storedTouch(
	{ vid, atMs, body }: { readonly vid: string; readonly atMs: number; readonly body: HitRecord },
	isFirstOfVisit: boolean,
): StoredTouch[] {
	const touch = touchOf({ atMs, body }, isFirstOfVisit);
	return touch ? [{ vid, atMs, origin: originOf(touch) }] : [];
}

function originOf({ channel, source, medium, campaign, landing }: Touch): string {
	return JSON.stringify([channel, source, medium, campaign, landing]);
}

/** The fields of a stored touch besides its moment. */
export function parseOrigin(origin: string): Omit<Touch, 'atMs'> {
	const [channel, source, medium, campaign, landing] = JSON.parse(origin);
	return { channel, source, medium, campaign, landing };
}

/** A logged hit, with the fields that order the log, see `compareEntries`. */
export interface LoggedHit {
	readonly vid: string;
	readonly entry: HitEntry;
	readonly body: HitRecord;
}

/**
 * The touches of logged hits.
 * @param beganMs when a visit's first hit was if it is not among these hits, by `sid`
 */
export function touchesOf(
	hits: readonly LoggedHit[],
	beganMs: ReadonlyMap<string, number> = new Map(),
): StoredTouch[] {
	const seen = new Set<string>();
	return hits
		.toSorted((a, b) => compareEntries(a.entry, b.entry))
		.flatMap(({ vid, entry: { sid, atMs }, body }) => {
			const isFirst = !seen.has(sid) && atMs <= (beganMs.get(sid) ?? atMs);
			seen.add(sid);
			return storedTouch({ vid, atMs, body }, isFirst);
		});
}

/** Saves touches. Of several at one moment, the first by text stays, whatever the order of arrival. */
export function saveTouches(touches: readonly StoredTouch[]): Query {
	const kept = new Map<string, StoredTouch>();
	for (const touch of touches) {
		const name = `${touch.vid} ${touch.atMs}`;
		const known = kept.get(name);
		if (!known || touch.origin < known.origin) kept.set(name, touch);
	}
	const rows = [...kept.values()].map(({ vid, atMs, origin }) => [vid, atMs, origin]);
	return sql`INSERT INTO @touch (vid, at, origin) ${values(rows)} ON CONFLICT (vid, at) DO UPDATE SET origin = excluded.origin WHERE excluded.origin < touch.origin /* save touches */`;
}

/** The touches of visitors, those kept of deleted hits included. */
export function loadTouches(vids: readonly string[]): Query {
	return select`vid, at, origin, kept FROM @touch WHERE vid IN ${vids} ORDER BY vid, at /* load touches */`;
}

/**
 * Replaces the touches of visitors by those of their logs, and counts the visitors whose touches differed.
 * @param loaded rows of `loadTouches`
 */
export function correctTouches(
	vids: readonly string[],
	loaded: readonly Row[],
	touches: readonly StoredTouch[],
): { changed: number; queries: Query[] } {
	const save = saveTouches(touches);
	const { stored = [], kept = [] } = Object.groupBy(loaded, (row) => (row.kept === null ? 'stored' : 'kept'));
	// An import may bring hits again of which a touch was kept.
	const keptOrigins = new Map(kept.map(({ vid, at, origin }) => [`${vid} ${at}`, String(origin)]));
	const added = (save.rows ?? []).filter(([vid, at, origin]) => {
		const keptOrigin = keptOrigins.get(`${vid} ${at}`);
		return keptOrigin === undefined || String(origin) < keptOrigin;
	});
	const wanted = Map.groupBy(added, ([vid]) => String(vid));
	const known = Map.groupBy(stored, ({ vid }) => String(vid));
	const textOf = (rows: readonly (readonly unknown[])[]) =>
		rows
			.map(([, at, origin]) => `${at} ${origin}`)
			.sort()
			.join('\n');
	const wrong = vids.filter((vid) => {
		const before = (known.get(vid) ?? []).map(({ at, origin }) => [vid, at, origin]);
		return textOf(before) !== textOf(wanted.get(vid) ?? []);
	});
	const isWrong = new Set(wrong);
	const moments = [...stored, ...touches.map(({ vid, atMs }) => ({ vid, at: atMs }))].flatMap(
		({ vid, at }) => (isWrong.has(String(vid)) ? [Number(at)] : []),
	);
	return {
		changed: wrong.length,
		queries: [
			forgetDays(moments),
			sql`DELETE FROM @touch WHERE vid IN ${wrong} AND kept IS NULL /* correct touches */`,
			{ ...save, rows: wrong.flatMap((vid) => wanted.get(vid) ?? []) },
		],
	};
}

/** The touches of a part of a visitor's log. */
export function* touchesWithin(hits: readonly LoggedHit[]): Reading<StoredTouch[]> {
	const visits =
		yield* select`key AS sid, (SELECT at FROM @hit WHERE sid = list.key ORDER BY at LIMIT 1) AS at, (SELECT began FROM @visit WHERE sid = list.key) AS began FROM ${[...new Set(hits.map(({ entry }) => entry.sid))]} AS list /* visits began */`;
	return touchesOf(
		hits,
		new Map(visits.map(({ sid, at, began }) => [String(sid), Math.min(Number(at), Number(began ?? at))])),
	);
}

/** When visits began whose first hits retention has deleted. @param visits rows with `sid` and `began` */
export function beginningsIn(visits: readonly Row[]): Map<string, number> {
	const cut = visits.filter(({ began }) => began !== null);
	return new Map(cut.map(({ sid, began }) => [String(sid), Number(began)]));
}

/** Replaces the touches of a part of a visitor's log. @param toMs NaN: to the end */
export function* replaceTouches(
	vid: string,
	{ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
	touches: readonly StoredTouch[],
): Steps<void> {
	const deleted =
		yield* sql`DELETE FROM @touch WHERE vid = ${vid} AND at > ${fromMs} AND at <= ${Number.isNaN(toMs) ? Number.MAX_SAFE_INTEGER : toMs} AND kept IS NULL RETURNING at /* replace touches */`;
	yield [
		saveTouches(touches),
		forgetDays([...deleted.map(({ at }) => Number(at)), ...touches.map(({ atMs }) => atMs)]),
	];
}
