import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Profile } from '../../../domain/profile.ts';
import { type Askable, type Reading, type Select, select } from '../../steps.ts';
import type { Store } from '../../store.ts';

export function* countVisitors(): Reading<number> {
	const [row] = yield* select`count(*) AS number FROM @visitor /* count visitors */`;
	return Number(row?.number);
}

/** A visitor with the position in the order of arrival. */
export interface NumberedVisitor {
	readonly id: number;
	readonly vid: string;
	readonly profile: Profile;
}

/**
 * A page of all visitors, in order of arrival.
 * @param every only visitors whose id it divides
 */
export function* visitorsFrom(afterId: number, limit: number, every = 1): Reading<NumberedVisitor[]> {
	const rows =
		yield* select`id, vid, profile FROM @visitor WHERE id > ${afterId} AND id % ${every} = 0 ORDER BY id LIMIT ${limit} /* visitors */`;
	return rows.map(({ id, vid, profile }) => ({
		id: Number(id),
		vid: String(vid),
		profile: JSON.parse(String(profile)),
	}));
}

/** Profiles as JSON. */
export function selectProfiles(vids: readonly string[]): Askable<Select> {
	return select`vid, profile FROM @visitor WHERE vid IN ${vids} /* profiles */`;
}

/** The profiles of these visitors, by `vid`. */
export function* profilesOf(vids: readonly string[]): Reading<Map<string, Profile>> {
	const rows = yield* selectProfiles(vids);
	return new Map(rows.map(({ vid, profile }) => [String(vid), JSON.parse(String(profile))]));
}

/** The next visitors in the order of their `vid`. */
export function* vidsAfter(vid: string, limit: number): Reading<string[]> {
	const rows = yield* select`vid FROM @visitor WHERE vid > ${vid} ORDER BY vid LIMIT ${limit} /* vids */`;
	return rows.map((row) => String(row.vid));
}

/** Bounds memory: a profile has a few kilobytes. */
const pageVisitors = 250;

/**
 * The profiles of visitors by `vid`, a page at a time; others are served between two pages.
 * @param max how many: those with the lowest `vid`s, which are random, so they are a fair sample
 */
export async function* profilePages(
	store: Pick<Store, 'read'>,
	accountId: number,
	max = Number.POSITIVE_INFINITY,
): AsyncGenerator<ReadonlyMap<string, Profile>> {
	let read = 0;
	for (let last = ''; read < max; ) {
		const vids = await store.read(accountId, vidsAfter(last, Math.min(pageVisitors, max - read)));
		if (vids.length === 0) return;
		last = vids.at(-1) as string;
		read += vids.length;
		yield await store.read(accountId, profilesOf(vids));
		await nextTurn();
	}
}

/** Visitors with a hit in a period: of one day, because it is one statement. */
export function* visitorsSeenIn({ fromMs, toMs }: { fromMs: number; toMs: number }): Reading<string[]> {
	const rows =
		yield* select`DISTINCT vid FROM @every_hit WHERE at >= ${fromMs} AND at < ${toMs} /* seen in */`;
	return rows.map(({ vid }) => String(vid));
}
