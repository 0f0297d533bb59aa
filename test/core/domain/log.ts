import fc from 'fast-check';
import type { HitEntry, LogEntry, SubscriptionEntry } from '../../../src/core/domain/profile.ts';
import { hourMs } from '../../../src/core/durations.ts';
import { codePoint } from '../../code-point.ts';

/** The time from which tests count: midnight UTC. */
export const startMs = Date.UTC(2026, 10, 2);

let hits = 0;

/** A page view, with the given fields. */
export function hit(atMs: number, differences: Partial<HitEntry> = {}): HitEntry {
	return {
		type: 'hit',
		atMs,
		sid: 'a'.repeat(32),
		page: 'pricing',
		channel: 'direct',
		device: 'desktop',
		events: [],
		tieBreak: String(++hits),
		...differences,
	};
}

/** A subscription event, with the given fields. */
export function subscription(atMs: number, differences: Partial<SubscriptionEntry> = {}): SubscriptionEntry {
	return {
		type: 'subscription',
		atMs,
		tid: 'order-1',
		subid: 'sub-1',
		evt: 'membership',
		revenuePence: 0,
		...differences,
	};
}

const name = fc.oneof(
	fc.constantFrom('/', 'pricing', '0', '1', 'constructor', '__proto__', 'toString'),
	fc.string({ unit: codePoint, maxLength: 12 }),
);
/** A few moments only, so that many entries share one. */
const moment = fc.integer({ min: 0, max: 40 }).map((step) => startMs + step * 7 * hourMs);

const anyHit: fc.Arbitrary<HitEntry> = fc.record({
	type: fc.constant('hit'),
	atMs: moment,
	sid: fc.constantFrom('1', '2', '3').map((digit) => digit.repeat(32)),
	page: fc.option(name),
	channel: name,
	device: fc.constantFrom('desktop', 'mobile', 'tablet'),
	events: fc.array(name, { maxLength: 4 }),
	tieBreak: fc.uuid(),
});

const anySubscription: fc.Arbitrary<SubscriptionEntry> = fc.record({
	type: fc.constant('subscription'),
	atMs: moment,
	tid: fc.uuid(),
	subid: name,
	evt: name,
	revenuePence: fc.integer({ min: -5000, max: 100_000 }),
});

/** Logs in any order. Hits and transactions are unique, as in a database. */
export const anyLog: fc.Arbitrary<LogEntry[]> = fc.uniqueArray(
	fc.oneof({ weight: 3, arbitrary: anyHit }, { weight: 1, arbitrary: anySubscription }),
	{ maxLength: 60, selector: (entry) => (entry.type === 'hit' ? entry.tieBreak : entry.tid) },
);
