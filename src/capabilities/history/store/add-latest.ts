import { apply, compareEntries, type Profile } from '../../../core/domain/profile.ts';
import { type HistoryHit, hitEntry } from '../../../core/domain/stored-hit.ts';
import { LoadedProfiles } from '../../../core/store/account/profiles/stored-profiles.ts';
import { type StoredTouch, storedTouch } from '../../../core/store/account/profiles/touches.ts';
import type { Row } from '../../../core/store/steps.ts';

/** A hit in its visit. */
type PlacedHit = HistoryHit & { readonly sid: string; readonly text: string };

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
	const [loadedVisitors, loadedVisits] = [
		new LoadedProfiles(loaded.visitors),
		new LoadedProfiles(loaded.visits),
	];
	const [knownVisitors, knownVisits] = [loadedVisitors.profiles, loadedVisits.profiles];
	const visitors = new Map<string, Profile>();
	const visits = new Map<string, { vid: string; profile: Profile }>();
	const stale = new Set<string>();
	const touches: StoredTouch[] = [];
	const inOrder = hits.map((hit) => ({ ...hit, entry: hitEntry(hit) }));
	for (const { vid, sid, entry, body } of inOrder.sort((a, b) => compareEntries(a.entry, b.entry))) {
		const isLast =
			mayAdd(vid, sid) && loadedVisitors.isLatest(vid, entry) && loadedVisits.isLatest(sid, entry);
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
