import { samePageMs } from '../../../domain/touch.ts';
import { dayMs } from '../../../durations.ts';
import { isoTime } from '../../../format/iso-time.ts';
import { type Query, type Reading, raw, rowsOf, select, sql } from '../../steps.ts';

/** Forgets the figures of the days of some moments: something was stored or deleted there. What repeats it may be of the next. */
export function forgetDays(momentsMs: Iterable<number>): Query {
	const days = new Set<number>();
	for (const ms of momentsMs) {
		days.add(Math.floor(ms / dayMs));
		days.add(Math.floor((ms + samePageMs) / dayMs));
	}
	return sql`DELETE FROM @kept_day WHERE day IN ${[...days].map((day) => isoTime(day * dayMs).slice(0, 10))} /* forget days */`;
}

/**
 * Forgets the figures of the days of what started some subscriptions, and first paid for them: events that come before them make
 * renewals of them. Nothing here knows which `evt` is a cancellation, so each has its own first.
 * @returns what forgets them
 */
export function* forgetAcquisitionsOf(subids: readonly string[]): Reading<Query> {
	const firsts = yield* rowsOf(
		['named > 0', 'named = 0'].map(
			(part) =>
				select`MIN(received_at) AS received_at FROM @subscription_event WHERE subid IN ${subids} AND ${raw(part)} AND rvn >= 0 GROUP BY subid, evt, rvn > 0 /* forget acquisitions */`,
		),
	);
	return forgetDays(firsts.map(({ received_at }) => Number(received_at)));
}
