import { apply, compareEntries, type HitEntry, isLatest, type Profile } from '../../../domain/profile.ts';
import type { Row } from '../../steps.ts';
import { type StoredTouch, storedTouch } from '../profiles/touches.ts';
import type { PlacedHit } from './merge-log.ts';
import { foldedToOf, hitEntry, parseProfile } from './visitor-log.ts';

/** Profiles after adding hits that were each their latest entry. */
export interface WithLatest {
	readonly visitors: ReadonlyMap<string, Profile>;
	readonly visits: ReadonlyMap<string, { readonly vid: string; readonly profile: Profile }>;
	/** Visitors with a hit that was not the latest entry, of the visitor or of a visit. */
	readonly stale: ReadonlySet<string>;
	/** The touches of all other visitors. */
	readonly touches: readonly StoredTouch[];
}

/**
 * Adds newly stored hits to the profiles of their visitors and visits, if all hits of a visitor are later than its
 * entries.
 * @param loaded the profiles so far
 * @param mayAdd whether nothing else of a visitor has changed
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
