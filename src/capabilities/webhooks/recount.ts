import { compareTexts } from '../../core/domain/compare-texts.ts';
import type { Standing } from './domain/standing.ts';
import type { Recount, SegmentCount } from './store/evaluation.ts';

/** Starts a recount. Counts of an unfinished one are kept, because its changes are stored. */
export function begunAgain(before: Recount | null, reason: Recount['reason']): Recount {
	return {
		reason: before?.reason ?? reason,
		segments: (before?.segments ?? []).map(([id, count]) => [id, { ...count, members: 0 }]),
		bands: before?.bands ?? [],
	};
}

/** Adds the changes of one visitor. */
export function recounted(recount: Recount, before: Standing, after: Standing): Recount {
	const segments = new Map(recount.segments);
	const add = (segment: string, key: keyof SegmentCount) => {
		const count = segments.get(segment) ?? { members: 0, entered: 0, left: 0 };
		segments.set(segment, { ...count, [key]: count[key] + 1 });
	};
	for (const segment of after.segments) add(segment, 'members');
	for (const segment of after.segments.difference(before.segments)) add(segment, 'entered');
	for (const segment of before.segments.difference(after.segments)) add(segment, 'left');
	const bands = new Map(recount.bands);
	for (const [goal, band] of after.bands)
		if (before.bands.get(goal) !== band) bands.set(goal, (bands.get(goal) ?? 0) + 1);
	return { ...recount, segments: [...segments], bands: [...bands] };
}

/** The content of the message about a recount. */
export function summaryOf({ reason, segments, bands }: Recount) {
	const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) => compareTexts(a, b);
	return {
		reason,
		segments: segments.toSorted(byName).map(([segment, count]) => ({ segment, ...count })),
		bands: bands.toSorted(byName).map(([goal, changed]) => ({ goal, changed })),
	};
}
