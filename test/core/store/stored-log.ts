import type { HitRecord } from '../../../src/core/domain/stored-hit.ts';
import type { Reading } from '../../../src/core/store/steps.ts';
import type { OpenStore } from '../../../src/core/store/store.ts';
import type { Touch } from '../../histories/model.ts';

/** A stored hit. */
export interface LoggedHit {
	readonly vid: string;
	readonly sid: string;
	readonly atMs: number;
	/** The body as it is stored. */
	readonly text: string;
	readonly body: HitRecord;
}

/** A stored subscription event. */
export interface LoggedEvent {
	readonly tid: string;
	readonly subid: string;
	readonly cid: string | null;
	readonly evt: string;
	readonly rvn: number;
	readonly atMs: number;
}

/** What is not derived from anything else: hits, and subscription events in order of arrival. */
export interface Log {
	readonly hits: readonly LoggedHit[];
	readonly events: readonly LoggedEvent[];
	readonly kept: Kept;
	/** Keys that too many share: `c:…`, `t:…`, `s:…`. */
	readonly shared: ReadonlySet<string>;
}

/** What retention has left of hits that it deleted. */
export interface Kept {
	/** What a visitor showed first, and when. */
	readonly links: readonly {
		readonly key: string;
		readonly vid: string;
		readonly atMs: number;
		/** When it was first shown with proof; Infinity if it never was. */
		readonly provenAtMs: number;
	}[];
	readonly touches: readonly Touch[];
	/** When visits began, by `sid`, of which not all hits are deleted. */
	readonly began: ReadonlyMap<string, number>;
}

/** Everything that is derived from the log, as it is stored. */
export interface Derived {
	readonly visitors: ReadonlyMap<string, unknown>;
	readonly visits: ReadonlyMap<string, unknown>;
	/** Whose each event is, and why: 2 by its `tid`, 1 by its `cid`, 0 by its subscription. */
	readonly owners: ReadonlyMap<string, unknown>;
	/** When each visitor first showed a `tid` (`t:…`) or `cid` (`c:…`), and when it first proved it. */
	readonly links: ReadonlyMap<string, unknown>;
	readonly touches: ReadonlyMap<string, unknown>;
}

function* read(): Reading<{ log: Log; derived: Derived }> {
	const [hits = [], events = [], visitors = [], visits = [], links = [], touches = [], shared = []] = yield [
		{ sql: 'SELECT vid, sid, at, body FROM @logged_hit ORDER BY at, body' },
		{
			sql: 'SELECT tid, subid, cid, evt, rvn, received_at, vid, named FROM @subscription_event ORDER BY id',
		},
		{ sql: 'SELECT vid, profile FROM @visitor' },
		{ sql: 'SELECT sid, vid, profile, began FROM @visit' },
		{ sql: 'SELECT vid, key, at, unproven_until, kept FROM @claim ORDER BY vid, key' },
		{ sql: 'SELECT vid, at, origin, kept FROM @touch ORDER BY vid, at' },
		{ sql: 'SELECT key FROM @shared_key' },
	];
	return {
		log: {
			hits: hits.map(({ vid, sid, at, body }) => {
				const text = String(body);
				return { vid: String(vid), sid: String(sid), atMs: Number(at), text, body: JSON.parse(text) };
			}),
			events: events.map(({ tid, subid, cid, evt, rvn, received_at }) => ({
				tid: String(tid),
				subid: String(subid),
				cid: cid as string | null,
				evt: String(evt),
				rvn: Number(rvn),
				atMs: Number(received_at),
			})),
			shared: new Set(shared.map(({ key }) => String(key))),
			kept: {
				began: new Map(
					visits.filter(({ began }) => began !== null).map(({ sid, began }) => [String(sid), Number(began)]),
				),
				links: links
					.filter(({ kept }) => kept !== null)
					.map(({ vid, key, at, unproven_until }) => ({
						vid: String(vid),
						key: String(key),
						atMs: Number(at),
						provenAtMs: provenAtMs(at, unproven_until),
					})),
				touches: touches
					.filter(({ kept }) => kept !== null)
					.map(({ vid, at, origin }) => ({
						vid: String(vid),
						atMs: Number(at),
						origin: JSON.parse(String(origin)),
					})),
			},
		},
		derived: {
			visitors: new Map(visitors.map(({ vid, profile }) => [String(vid), JSON.parse(String(profile))])),
			visits: new Map(
				visits.map(({ sid, vid, profile }) => [String(sid), { vid, ...JSON.parse(String(profile)) }]),
			),
			owners: new Map(events.map(({ tid, vid, named }) => [String(tid), { vid, named: Number(named) }])),
			links: new Map(
				links.map(({ vid, key, at, unproven_until }) => [
					`${vid} ${key}`,
					[Number(at), provenAtMs(at, unproven_until)],
				]),
			),
			touches: new Map(touches.map(({ vid, at, origin }) => [`${vid} ${at}`, JSON.parse(String(origin))])),
		},
	};
}

function provenAtMs(at: unknown, unprovenUntil: unknown): number {
	const atMs = Number(unprovenUntil ?? at);
	return atMs === Number.MAX_SAFE_INTEGER ? Number.POSITIVE_INFINITY : atMs;
}

export function readStored(store: OpenStore, accountId: number): Promise<{ log: Log; derived: Derived }> {
	return store.read(accountId, read());
}
