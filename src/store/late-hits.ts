import type { Profile } from '../visitors/profile.ts';
import type { Query, Row } from './steps.ts';
import { type ArrivingHit, type HitBody, visitTimeoutMs } from './visitor-log.ts';

interface KnownHit {
	readonly sid: string;
	readonly atMs: number;
	readonly body: HitBody;
}

/**
 * The hits of history that the log may hold already, or hits after them: those that are no later than what their
 * visitor's profile knows. All others are new for certain, so that a first import in order of time looks nothing up.
 */
export function lateHits(
	hits: readonly ArrivingHit[],
	visitors: ReadonlyMap<string, Profile | null>,
): ArrivingHit[] {
	return hits.filter(
		({ isHistory, vid, atMs }) =>
			isHistory && vid !== null && atMs <= (visitors.get(vid)?.lastAtMs ?? Number.NEGATIVE_INFINITY),
	);
}

/** The hits of the log that late ones may repeat, or share a visit with. */
export function neighboursOf(late: readonly ArrivingHit[]): Query {
	const first = late.reduce((earliest, { atMs }) => Math.min(earliest, atMs), Number.MAX_SAFE_INTEGER);
	const last = late.reduce((latest, { atMs }) => Math.max(latest, atMs), 0);
	return {
		sql: 'SELECT vid, sid, at, body FROM @hit WHERE vid IN ?list AND at BETWEEN ? AND ? /* neighbours */',
		values: [
			[...new Set(late.map(({ vid }) => vid as string))],
			first - visitTimeoutMs,
			last + visitTimeoutMs,
		],
	};
}

/** The hits that late ones may repeat, or share a visit with: of the log, and of the transaction that stores them. */
export class KnownHits {
	readonly #ofVisitors = new Map<string, KnownHit[]>();

	/** @param rows what `neighboursOf` has found */
	constructor(rows: readonly Row[]) {
		for (const row of rows)
			this.add(String(row.vid), {
				sid: String(row.sid),
				atMs: Number(row.at),
				body: JSON.parse(String(row.body)),
			});
	}

	add(vid: string, hit: KnownHit): void {
		const hits = this.#ofVisitors.get(vid);
		if (hits) hits.push(hit);
		else this.#ofVisitors.set(vid, [hit]);
	}

	/** The visit of the same hit, where there is one. */
	sidOfSame(vid: string, atMs: number, body: HitBody): string | undefined {
		const same = (hit: KnownHit) => hit.atMs === atMs && contentOf(hit.body) === contentOf(body);
		return this.#ofVisitors.get(vid)?.find(same)?.sid;
	}

	/** The visit of the visitor's nearest hit, where one is near enough. */
	sidOfNearest(vid: string, atMs: number): string | undefined {
		let nearest: KnownHit | undefined;
		let leastMs = visitTimeoutMs;
		for (const hit of this.#ofVisitors.get(vid) ?? []) {
			const distanceMs = Math.abs(hit.atMs - atMs);
			if (distanceMs >= leastMs) continue;
			nearest = hit;
			leastMs = distanceMs;
		}
		return nearest?.sid;
	}
}

/** Without what the account's channel rules and later versions of Caskade may see otherwise. */
function contentOf({ url, referrer, title, events, cid }: HitBody): string {
	return JSON.stringify([url, referrer, title, events, cid]);
}
