import { emptyProfile, isLatest, type LogEntry, type Profile } from '../../../domain/profile.ts';
import {
	type Askable,
	ask,
	type Query,
	type Row,
	type Select,
	type Steps,
	select,
	sql,
	values,
} from '../../steps.ts';
import { withVid } from '../owners/subscription-owners.ts';
import { type HiddenLevel, hiddenIn } from './hidden-events.ts';

/** Profiles of visitors by `vid`, or of visits by `sid`, as they were loaded. */
export class LoadedProfiles {
	readonly profiles = new Map<string, Profile | null>();
	/** How far the background has replayed those that it is rebuilding. */
	readonly foldedToMs = new Map<string, number>();
	/** Visitors whose profile leaves events out, see `hidden-events.ts`. */
	readonly hidden = new Map<string, HiddenLevel>();

	/** @param rows of `loadVisitors` or `loadVisits` */
	constructor(rows: readonly Row[]) {
		for (const { sid, vid, profile, folded_to, hidden } of rows) {
			const name = String(sid ?? vid);
			this.profiles.set(name, JSON.parse(String(profile)));
			if (folded_to !== null) this.foldedToMs.set(name, Number(folded_to));
			if (hidden != null) this.hidden.set(name, hiddenIn(hidden));
		}
	}

	/**
	 * Whether an entry is later than everything in a profile, that which the background has replayed included. It may be
	 * added; after any other, the profile is stale and must be folded again.
	 * @param profile what it has become since it was loaded
	 */
	isLatest(
		name: string,
		entry: LogEntry,
		profile: Profile | null = this.profiles.get(name) ?? null,
	): boolean {
		return isLatest(profile, entry) && entry.atMs > (this.foldedToMs.get(name) ?? Number.NEGATIVE_INFINITY);
	}
}

/** Locks visitors, so that no hit is added to them before the transaction ends. */
export function lockVisitors(vids: readonly string[]): Query {
	return sql`SELECT vid FROM @visitor WHERE vid IN ${vids} ORDER BY vid FOR UPDATE /* lock visitors */`;
}

/** Locks visitors and loads their profiles. */
export function loadVisitors(vids: readonly string[]): Askable<Query> {
	return sql`SELECT vid, profile, folded_to, hidden FROM @visitor WHERE vid IN ${vids} ORDER BY vid FOR UPDATE /* load visitors */`;
}

/**
 * Asks which of some visitors own events. One without a row may: retention deletes a visitor with its last hit, and may keep what joins its
 * events. If such a visitor comes back, its log does not begin with that hit.
 */
export function findOwning(vids: readonly string[]): Askable<Select> {
	return select`vid FROM (SELECT (SELECT vid FROM @subscription_event AS event WHERE event.vid = list.key LIMIT 1) AS vid FROM ${vids} AS list ${withVid} /* who owns events */`;
}

/** Of them, those that come back. @param owning rows of `findOwning` @param loaded rows of `loadVisitors` */
export function returningAmong(owning: readonly Row[], loaded: readonly Row[]): ReadonlySet<string> {
	const known = new Set(loaded.map(({ vid }) => vid));
	return new Set(owning.filter(({ vid }) => !known.has(vid)).map(({ vid }) => String(vid)));
}

/**
 * Locks and loads visitors where the transaction may have locked others, so that waiting could be a deadlock.
 * @returns also the visitors that others have locked
 */
export function* loadFreeVisitors(vids: readonly string[]): Steps<{ rows: readonly Row[]; busy: string[] }> {
	const { rows, all } = yield* ask({
		rows: sql`SELECT vid, profile, folded_to, hidden FROM @visitor WHERE vid IN ${vids} ORDER BY vid FOR UPDATE SKIP LOCKED /* load free visitors */`,
		all: select`vid FROM @visitor WHERE vid IN ${vids} /* load free visitors */`,
	});
	const free = new Set(rows.map(({ vid }) => vid));
	return { rows, busy: all.filter(({ vid }) => !free.has(vid)).map(({ vid }) => String(vid)) };
}

export function loadVisits(sids: readonly string[]): Askable<Query> {
	return select`sid, vid, profile, folded_to FROM @visit WHERE sid IN ${sids} /* load visits */`;
}

export function saveVisitors(visitors: Iterable<readonly [vid: string, profile: Profile | null]>): Query {
	const rows = Array.from(visitors, ([vid, profile]) => [vid, JSON.stringify(profile)]);
	return sql`INSERT INTO @visitor (vid, profile) ${values(rows)} ON CONFLICT (vid) DO UPDATE SET profile = excluded.profile /* save visitors */`;
}

export function saveVisits(
	visits: readonly (readonly [sid: string, visit: { vid: string; profile: Profile | null }])[],
): Query {
	const rows = visits.map(([sid, { vid, profile }]) => [sid, vid, JSON.stringify(profile)]);
	return sql`INSERT INTO @visit (sid, vid, profile) ${values(rows)} ON CONFLICT (sid) DO UPDATE SET profile = excluded.profile /* save visits */`;
}

/** Adds rows for visits that have none, until they are rebuilt. */
export function addMissingVisits(
	visits: readonly { readonly sid: string; readonly vid: string; readonly firstMs: number }[],
): Query {
	const rows = visits.map(({ sid, vid, firstMs }) => [sid, vid, JSON.stringify(emptyProfile(firstMs))]);
	return sql`INSERT INTO @visit (sid, vid, profile) ${values(rows)} ON CONFLICT (sid) DO NOTHING /* add visits */`;
}
