import { ofEventSql, provenAtSql } from '../../core/store/account/owners/identity-links.ts';
import { type Reading, raw, select, values } from '../../core/store/steps.ts';
import { eventsOfSubscriptions, type JourneyEvent } from './journey-events.ts';

/** Rows of a page. */
const pageRows = 1000;

type OwnedEvent = Pick<JourneyEvent, 'id' | 'subid' | 'vid' | 'named'>;

/**
 * Which events only a claim joins to their visitors, as of a moment: nothing proves a link between the visitor and the event or, where it follows its
 * subscription, an event of that which names the visitor.
 * @param isWhole whether the events are all of their subscriptions, up to the moment
 * @returns their ids
 */
export function* claimedEvents(
	events: readonly OwnedEvent[],
	{ asOfMs, isWhole }: { readonly asOfMs: number; readonly isWhole: boolean },
): Reading<ReadonlySet<number>> {
	const claiming = yield* claimingVisitors(asOfMs);
	const claimed = new Set<number>();
	if (claiming.size === 0) return claimed;
	const theirs = events.filter(({ vid }) => vid !== null && claiming.has(vid));
	const followed = new Set(theirs.filter(({ named }) => named === 0).map(({ subid }) => subid));
	const naming = isWhole ? theirs : [...theirs, ...(yield* eventsOfSubscriptions([...followed], asOfMs))];
	const proven = yield* provenEvents(
		naming.filter(({ vid, named }) => named > 0 && vid !== null && claiming.has(vid)),
		asOfMs,
	);
	const pairOf = ({ vid, subid }: OwnedEvent) => `${vid} ${subid}`;
	const provenPairs = new Set(naming.filter(({ id }) => proven.has(id)).map(pairOf));
	for (const event of theirs)
		if (!(event.named > 0 ? proven.has(event.id) : provenPairs.has(pairOf(event)))) claimed.add(event.id);
	return claimed;
}

/** Visitors with links that nothing has proven at first. Where ids are trusted, or must be signed, there are none. */
function* claimingVisitors(asOfMs: number): Reading<Set<string>> {
	const rows =
		yield* select`DISTINCT vid FROM @claim WHERE unproven_until IS NOT NULL AND at <= ${asOfMs} /* claiming visitors */`;
	return new Set(rows.map(({ vid }) => String(vid)));
}

/** Those of events that name their visitor of which a link is proven. */
function* provenEvents(events: readonly OwnedEvent[], asOfMs: number): Reading<Set<number>> {
	const proven = new Set<number>();
	for (let from = 0; from < events.length; from += pageRows) {
		const pairs = events.slice(from, from + pageRows).map(({ id, vid }) => [id, vid]);
		const rows =
			yield* select`event.id AS id FROM (SELECT CAST(${asOfMs} AS bigint) AS at) AS moment CROSS JOIN (${values(pairs)}) AS owned JOIN @subscription_event AS event ON event.id = CAST(owned.column1 AS bigint) WHERE EXISTS (SELECT 1 FROM @claim AS own WHERE own.vid = owned.column2 AND ${raw(ofEventSql('own', 'event'))} AND ${raw(provenAtSql('own'))} <= moment.at) /* proven events */`;
		for (const { id } of rows) proven.add(Number(id));
	}
	return proven;
}
