import { type LogEntry, type Profile, profileOf } from '../visitors/profile.ts';
import { ownersOf } from './claims.ts';
import type { Row, Steps } from './steps.ts';
import { type EventRow, hitEntry, subscriptionEntry } from './visitor-log.ts';

/**
 * The profiles of some visitors as of a moment, from the log: nothing later is seen, neither hits nor subscription
 * events, nor claims that have joined them since. Who had no hit by then is left out.
 */
export function* profilesAsOf(vids: readonly string[], asOfMs: number): Steps<Map<string, Profile>> {
	const [hits = [], claims = []] = yield [
		{
			sql: 'SELECT vid, sid, at, body FROM @hit WHERE vid IN ?list AND at <= ? /* as of */',
			values: [vids, asOfMs],
		},
		{ sql: 'SELECT key FROM @claim WHERE vid IN ?list AND at <= ? /* as of */', values: [vids, asOfMs] },
	];
	const logs = new Map<string, LogEntry[]>();
	for (const { vid, sid, at, body } of hits) {
		const text = String(body);
		const entry = hitEntry({ sid: String(sid), atMs: Number(at), body: JSON.parse(text), text });
		const log = logs.get(String(vid));
		if (log) log.push(entry);
		else logs.set(String(vid), [entry]);
	}
	const events = yield* eventsOf(
		claims.map(({ key }) => String(key)),
		asOfMs,
	);
	// Who held the keys then; a later claim to a `tid` takes an event from the holder of its `cid`.
	const [holders = []] = yield [
		{
			sql: 'SELECT key, (SELECT vid FROM @claim AS claim WHERE claim.key = list.key AND claim.at <= ? ORDER BY at, vid LIMIT 1) AS vid FROM ?each AS list /* holders as of */',
			values: [
				asOfMs,
				events.flatMap(({ tid, cid }) => (cid === null ? [`t:${tid}`] : [`t:${tid}`, `c:${cid}`])),
			],
		},
	];
	const owners = ownersOf(events, holders);
	for (const event of events) logs.get(owners.get(event.tid) ?? '')?.push(subscriptionEntry(event));
	return new Map([...logs].map(([vid, log]) => [vid, profileOf(log) as Profile]));
}

/** Subscription events with these keys. */
function* eventsOf(keys: readonly string[], asOfMs: number): Steps<EventRow[]> {
	const named = (kind: string) => [
		...new Set(keys.filter((key) => key.startsWith(kind)).map((key) => key.slice(kind.length))),
	];
	const found = yield ['tid', 'cid'].map((column) => ({
		sql: `SELECT tid, subid, cid, evt, rvn, received_at FROM @subscription_event WHERE ${column} IN ?list AND received_at <= ? /* as of */`,
		values: [named(column === 'tid' ? 't:' : 'c:'), asOfMs],
	}));
	const rows = new Map(found.flat().map((row: Row) => [row.tid, row as unknown as EventRow]));
	return [...rows.values()];
}
