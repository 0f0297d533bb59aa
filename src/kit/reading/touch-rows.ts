import { samePageMs } from '../../core/domain/touch.ts';
import { type Reading, raw, select } from '../../core/store/steps.ts';
import { each, forNames, inPages, pageRows } from './row-pages.ts';

/** A touch as its row. There may be millions, so no object is made for each. */
export type TouchRow = readonly [vid: string, atMs: number, origin: string];

/** Passes on the touches of all visitors up to a moment, by `vid` and time. */
export function* eachTouch(asOfMs: number, take: (touch: TouchRow) => void): Reading<void> {
	yield* inPages<TouchRow>(
		(last) =>
			select`vid, at, origin FROM @touch WHERE (vid, at) > (${last?.[0] ?? ''}, ${last?.[1] ?? Number.MIN_SAFE_INTEGER}) AND at <= ${asOfMs} ORDER BY vid, at LIMIT ${raw(pageRows)} /* each touch */`,
		take,
	);
}

/** Passes on the touches of some visitors up to a moment. */
export function* touchesOfVisitors(
	vids: readonly string[],
	asOfMs: number,
	take: (touch: TouchRow) => void,
): Reading<void> {
	yield* forNames(
		vids,
		[
			(some) =>
				select`vid, at, origin FROM @touch WHERE vid IN ${some} AND at <= ${asOfMs} ORDER BY vid, at /* touches of */`,
		],
		each(take),
	);
}

/** Visitors with a touch in a period. */
export function* visitorsTouchedIn({ fromMs, toMs }: { fromMs: number; toMs: number }): Reading<Set<string>> {
	const vids = new Set<string>();
	yield* inPages<[atMs: number, vid: string]>(
		(last) =>
			select`at, vid FROM @touch WHERE (at, vid) > (${last?.[0] ?? fromMs}, ${last?.[1] ?? ''}) AND at < ${toMs} ORDER BY at, vid LIMIT ${raw(pageRows)} /* touched in */`,
		([, vid]) => vids.add(vid),
	);
	return vids;
}

/** Passes on when and how visitors arrived in a period, in order of time, without touches that repeat the previous one. */
export function* arrivalsIn(
	{ fromMs, toMs }: { fromMs: number; toMs: number },
	take: (atMs: number, origin: string, vid: string) => void,
): Reading<void> {
	const repeats = new Repeats();
	yield* inPages<[atMs: number, vid: string, origin: string]>(
		(last) =>
			select`at, vid, origin FROM @touch WHERE (at, vid) > (${last?.[0] ?? fromMs - samePageMs}, ${last?.[1] ?? ''}) AND at < ${toMs} ORDER BY at, vid LIMIT ${raw(pageRows)} /* arrivals in */`,
		([atMs, vid, origin]) => {
			const isRepeat = repeats.add(atMs, vid, origin);
			if (atMs >= fromMs && !isRepeat) take(atMs, origin, vid);
		},
	);
}

/** When the parts of a period begin in which there are many touches, in order. Parts are counted from 1970. */
export function* crowdedParts(
	{ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
	{ lengthMs, minArrivals }: { readonly lengthMs: number; readonly minArrivals: number },
): Reading<number[]> {
	// By the index alone, which takes a tenth of reading where all of them came from.
	const rows =
		yield* select`at / ${raw(lengthMs)} AS part FROM @touch WHERE at >= ${fromMs} AND at < ${toMs} GROUP BY at / ${raw(lengthMs)} HAVING count(*) >= ${minArrivals} ORDER BY 1 /* crowded parts */`;
	return rows.map(({ part }) => Number(part) * lengthMs);
}

/** Touches of a period by mail, in order of time. */
export function* mailTouchesIn(
	{ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
	take: (atMs: number, vid: string, origin: string) => void,
): Reading<void> {
	const begin = '["email",';
	yield* inPages<[atMs: number, vid: string, origin: string]>(
		(last) =>
			select`at, vid, origin FROM @touch WHERE (at, vid) > (${last?.[0] ?? fromMs}, ${last?.[1] ?? ''}) AND at < ${toMs} AND substr(origin, 1, ${raw(begin.length)}) = ${begin} ORDER BY at, vid LIMIT ${raw(pageRows)} /* mail touches in */`,
		([atMs, vid, origin]) => take(atMs, vid, origin),
	);
}

/** Touches of a period, the latest first: after the last one of an earlier page, if there is one. */
export function* latestTouches(
	{ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
	limit: number,
	last: TouchRow = ['', toMs, ''],
): Reading<TouchRow[]> {
	const rows =
		yield* select`vid, at, origin FROM @touch WHERE (at, vid) < (${last[1]}, ${last[0]}) AND at >= ${fromMs} ORDER BY at DESC, vid DESC LIMIT ${limit} /* latest touches */`;
	return rows.map(({ vid, at, origin }) => [String(vid), Number(at), String(origin)]);
}

/** Tells which touches of many visitors, in order of time, repeat their visitor's previous one. Remembers an hour at most. */
class Repeats {
	#recent = new Map<string, readonly [atMs: number, origin: string]>();
	#earlier = this.#recent;
	#beganMs = Number.NEGATIVE_INFINITY;

	/** @returns whether it is a repeat */
	add(atMs: number, vid: string, origin: string): boolean {
		if (atMs - this.#beganMs >= samePageMs) {
			this.#earlier = this.#recent;
			this.#recent = new Map();
			this.#beganMs = atMs;
		}
		const [beforeMs, before] = this.#recent.get(vid) ?? this.#earlier.get(vid) ?? [];
		this.#recent.set(vid, [atMs, origin]);
		return before === origin && atMs - (beforeMs as number) < samePageMs;
	}
}
