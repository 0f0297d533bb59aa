import { apply, compareEntries, type HitEntry, isLatest, type Profile } from '../../domain/profile.ts';
import type { Row } from '../steps.ts';
import type { PlacedHit } from './merge-log.ts';
import { type StoredTouch, storedTouch } from './touches.ts';
import { foldedToOf, hitEntry, parseProfile } from './visitor-log.ts';

/** Profiles to which hits have been added that are their latest. */
export interface WithLatest {
	readonly visitors: ReadonlyMap<string, Profile>;
	readonly visits: ReadonlyMap<string, { readonly vid: string; readonly profile: Profile }>;
	/** Visitors to whom, or to whose visits, not all could be added. */
	readonly stale: ReadonlySet<string>;
	/** Of those to whom all could be added. */
	readonly touches: readonly StoredTouch[];
}

/**
 * Adds hits that have got into the log to the profiles of their visitors and visits, where they all are the latest.
 * @param loaded what is known of them
 * @param mayAdd not to those of whom more has changed
 */
export function addLatest(
	hits: readonly PlacedHit[],
	loaded: { readonly visitors: readonly Row[]; readonly visits: readonly Row[] },
	mayAdd: (vid: string, sid: string) => boolean,
): WithLatest {
	const [knownVisitors, knownVisits] = [byName(loaded.visitors, 'vid'), byName(loaded.visits, 'sid')];
	const foldedToMs = foldedToOf([...loaded.visitors, ...loaded.visits]);
	const isLater = (known: Profile | undefined, name: string, entry: HitEntry) =>
		isLatest(known ?? null, entry) && entry.atMs > (foldedToMs.get(name) ?? Number.NEGATIVE_INFINITY);
	const visitors = new Map<string, Profile>();
	const visits = new Map<string, { vid: string; profile: Profile }>();
	const stale = new Set<string>();
	const touches: StoredTouch[] = [];
	const inOrder = hits.map((hit) => ({ ...hit, entry: hitEntry(hit) }));
	for (const { vid, sid, entry, body } of inOrder.sort((a, b) => compareEntries(a.entry, b.entry))) {
		const isLast =
			mayAdd(vid, sid) &&
			isLater(knownVisitors.get(vid), vid, entry) &&
			isLater(knownVisits.get(sid), sid, entry);
		if (!isLast) stale.add(vid);
		visitors.set(vid, apply(visitors.get(vid) ?? knownVisitors.get(vid) ?? null, entry));
		const visit = visits.get(sid)?.profile ?? knownVisits.get(sid) ?? null;
		touches.push(...storedTouch({ vid, atMs: entry.atMs, body }, visit === null));
		visits.set(sid, { vid, profile: apply(visit, entry) });
	}
	for (const [sid, { vid }] of visits) if (stale.has(vid)) visits.delete(sid);
	for (const vid of stale) if (knownVisitors.has(vid)) visitors.delete(vid);
	return { visitors, visits, stale, touches: touches.filter(({ vid }) => !stale.has(vid)) };
}

function byName(rows: readonly Row[], name: 'vid' | 'sid'): Map<string, Profile> {
	return new Map(rows.map((row) => [String(row[name]), parseProfile(row) as Profile]));
}
