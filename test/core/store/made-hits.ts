import type { ArrivingHit, HitRecord } from '../../../src/core/domain/stored-hit.ts';
import type { Steps } from '../../../src/core/store/steps.ts';
import type { OpenStore } from '../../../src/core/store/store.ts';
import { receivedAtMs } from './engines.ts';

export const startMs = receivedAtMs;

let number = 0;

/** Ids that no other test uses. */
export function newId(): string {
	number++;
	return number.toString(16).padStart(32, '0');
}

export function body(fields: Partial<HitRecord> = {}): HitRecord {
	return {
		page: 'pricing',
		url: 'https://shop.example/pricing',
		referrer: null,
		title: null,
		events: [],
		cid: null,
		channel: 'direct',
		device: 'desktop',
		...fields,
	};
}

export function hit(fields: Partial<ArrivingHit> = {}, bodyFields: Partial<HitRecord> = {}): ArrivingHit {
	return {
		vid: null,
		sid: null,
		freshVid: newId(),
		freshSid: newId(),
		atMs: startMs,
		visitorSecret: 'a secret of tests',
		body: body(bodyFields),
		...fields,
	};
}

/** Everything derived from an account's log. */
export function derived(store: OpenStore, accountId: number): Promise<unknown> {
	return store.transact(accountId, () => readDerived());
}

function* readDerived(): Steps<unknown> {
	const [visitors = [], visits = [], links = [], events = [], touches = []] = yield [
		{ sql: 'SELECT vid, profile FROM @visitor ORDER BY vid' },
		{ sql: 'SELECT sid, vid, profile FROM @visit ORDER BY sid' },
		{ sql: 'SELECT key, vid, at FROM @claim ORDER BY vid, at, key' },
		{ sql: 'SELECT tid, cid, vid FROM @subscription_event ORDER BY tid' },
		{ sql: 'SELECT vid, at, origin FROM @touch ORDER BY vid, at' },
	];
	const copies = (rows: readonly object[]) => rows.map((row) => ({ ...row }));
	return {
		visitors: copies(visitors),
		visits: copies(visits),
		links: copies(links),
		events: copies(events),
		touches: copies(touches),
	};
}

/** All orders of some things. */
export function ordersOf<T>(all: readonly T[]): T[][] {
	if (all.length === 0) return [[]];
	return all.flatMap((one, index) => ordersOf(all.toSpliced(index, 1)).map((others) => [one, ...others]));
}
