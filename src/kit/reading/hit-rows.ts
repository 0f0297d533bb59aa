import type { HitRecord } from '../../core/domain/stored-hit.ts';
import { type Reading, raw, rowsOf, select, tuplesOf } from '../../core/store/steps.ts';
import { firstReceivedMs } from './journey-events.ts';
import { each, forNames } from './row-pages.ts';

/** A hit as its row: as many as there are, no object is made for each. */
export type HitRow = readonly [vid: string, atMs: number, body: string];

/** Passes on some visitors' hits, later than a moment and up to another. All hits of a visitor come together. */
export function* hitsOfVisitors(
	vids: readonly string[],
	{ fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
	take: (hits: readonly HitRow[]) => void,
): Reading<void> {
	yield* forNames(
		vids,
		[
			(some) =>
				select`vid, at, body FROM @logged_hit WHERE vid IN ${some} AND at > ${fromMs} AND at <= ${untilMs} /* hits of */`,
		],
		(rows) => take(tuplesOf(rows)),
	);
}

/** Those among some visitors of whom one hit is stored up to a moment, without an event or a customer id. */
export function* quietVisitors(vids: readonly string[], asOfMs: number): Reading<Set<string>> {
	const quiet = new Set<string>();
	yield* forNames(
		vids,
		[
			(some) =>
				select`vid, min(body) AS body FROM @logged_hit WHERE vid IN ${some} AND at <= ${asOfMs} GROUP BY vid HAVING count(*) = 1 /* quiet visitors */`,
		],
		each<[vid: string, body: string]>(([vid, body]) => {
			const { events, cid } = JSON.parse(body) as HitRecord;
			if (events.length === 0 && cid === null) quiet.add(vid);
		}),
	);
	return quiet;
}

/** When the first stored hit was, or the first touch that is kept of a deleted one; infinite if there is none. */
export function* firstVisitMs(): Reading<number> {
	// With `min`, SQLite would read them all.
	const firsts = yield* rowsOf([
		select`at FROM @every_hit ORDER BY at LIMIT 1 /* first hit */`,
		select`at FROM @touch ORDER BY at LIMIT 1 /* first touch */`,
	]);
	return Math.min(...firsts.map(({ at }) => Number(at)));
}

/** When the first hit, kept touch or event was. */
export function* firstMomentMs(): Reading<number> {
	return Math.min(yield* firstVisitMs(), yield* firstReceivedMs());
}

/** How many hits there are in each of some spans. */
export function* hitsIn(spans: readonly { fromMs: number; toMs: number }[]): Reading<number[]> {
	const counts = yield* rowsOf(
		spans.map(
			({ fromMs, toMs }) =>
				select`count(*) AS hits FROM @every_hit WHERE at >= ${fromMs} AND at < ${toMs} /* hits in */`,
		),
	);
	return counts.map(({ hits }) => Number(hits));
}

/** How many hits there are in parts of a period, by the number of the part since 1970. @param partMs a whole number */
export function* hitsByPart(
	{ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
	partMs: number,
): Reading<Map<number, number>> {
	const rows =
		yield* select`at / ${raw(partMs)} AS part, count(*) AS hits FROM @every_hit WHERE at >= ${fromMs} AND at < ${toMs} GROUP BY at / ${raw(partMs)} ORDER BY 1 /* hits by part */`;
	return new Map(rows.map(({ part, hits }) => [Number(part), Number(hits)]));
}
