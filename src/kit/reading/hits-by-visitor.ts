import type { HitRecord } from '../../core/domain/stored-hit.ts';
import { rowsOfNames } from '../../core/store/account/reading/rows.ts';
import { type Reading, raw, select } from '../../core/store/steps.ts';
import { eventsUpTo } from './journey-events.ts';

/** Visitors of a page. */
const pageVisitors = 500;
/** Many times what a page of ordinary visitors has. Of whoever has more, the first are read. */
const limits = { maxRows: 50_000, maxRowsPerName: 2000 };

export interface VisitorsHit {
	readonly sid: string;
	readonly atMs: number;
	readonly body: HitRecord;
}

/**
 * Passes on the hits of all visitors up to a moment: those of one visitor together, in order of time.
 * @param meet is told of some visitors before their hits come
 */
export function* eachVisitorsHits(
	asOfMs: number,
	take: (vid: string, hits: readonly VisitorsHit[]) => void,
	meet?: (vids: readonly string[]) => Reading<void>,
): Reading<void> {
	for (let after: string | undefined = ''; after !== undefined; ) {
		const visitors: readonly { readonly vid?: unknown }[] =
			yield* select`vid FROM @visitor WHERE vid > ${after} ORDER BY vid LIMIT ${raw(pageVisitors)} /* visitors with hits */`;
		const vids = visitors.map(({ vid }) => String(vid));
		if (meet) yield* meet(vids);
		const rows = yield* rowsOfNames(vids, {
			sql: 'SELECT vid, sid, at, body FROM @logged_hit WHERE at <= ? AND vid IN ?list',
			values: [asOfMs],
			order: 'at',
			...limits,
		});
		const sorted = [...rows].sort(
			(a, b) => Number(a.at) - Number(b.at) || (String(a.body) < String(b.body) ? -1 : 1),
		);
		for (const [vid, own] of Map.groupBy(sorted, (row) => String(row.vid)))
			take(
				vid,
				own.map(({ sid, at, body }) => ({
					sid: String(sid),
					atMs: Number(at),
					body: JSON.parse(String(body)),
				})),
			);
		after = vids.length === pageVisitors ? vids.at(-1) : undefined;
	}
}

/** `tid`s in one statement. */
const maxTids = 1000;

/**
 * Of some `tid`s that were uploaded up to a moment: the visitor of each event; null where nobody has it.
 * @param isPast whether to give the owners as of that moment
 */
export function* ownersOfTids(
	tids: readonly string[],
	{ asOfMs, isPast }: { readonly asOfMs: number; readonly isPast: boolean },
): Reading<Map<string, string | null>> {
	const owners = new Map<string, string | null>();
	if (isPast) {
		const wanted = new Set(tids);
		for (const { tid, vid } of yield* eventsUpTo(asOfMs, true))
			if (tid !== undefined && wanted.has(tid)) owners.set(tid, vid);
		return owners;
	}
	for (let from = 0; from < tids.length; from += maxTids)
		for (const {
			tid,
			vid,
		} of yield* select`tid, vid FROM @subscription_event WHERE tid IN ${tids.slice(from, from + maxTids)} AND received_at <= ${asOfMs} /* owners of tids */`)
			owners.set(String(tid), vid === null ? null : String(vid));
	return owners;
}
