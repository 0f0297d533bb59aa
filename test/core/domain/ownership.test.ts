import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import {
	compareHolders,
	eventKeys,
	type Holder,
	type IsAnothers,
	namedOwner,
	neverProven,
	ownerOf,
	ownersOver,
	type ShownKey,
	subscribersAmong,
} from '../../../src/core/domain/ownership.ts';

interface Event {
	readonly tid: string;
	readonly subid: string;
	readonly cid: string | null;
	readonly atMs: number;
	readonly revenuePence: number;
	readonly evt: string;
}

interface Shown {
	readonly key: string;
	readonly vid: string;
	readonly atMs: number;
	readonly isProven: boolean;
}

const moment = fc.nat({ max: 20 });
const cid = fc.constantFrom('C1', 'C2', ' None ');
const anyEvents = fc
	.array(
		fc.record({
			subid: fc.constantFrom('S1', 'S2', 'null'),
			cid: fc.option(cid),
			atMs: moment,
			revenuePence: fc.constantFrom(-5, 0, 5),
			evt: fc.constantFrom('E1', 'E2'),
		}),
		{ maxLength: 6 },
	)
	.map((events): Event[] => events.map((event, index) => ({ ...event, tid: `T${index + 1}` })));
const anyShown = fc.array(
	fc.record({
		key: fc.oneof(
			fc.integer({ min: 1, max: 6 }).map((number) => `t:T${number}`),
			cid.map((name) => `c:${name}`),
		),
		vid: fc.constantFrom('a', 'b', 'c'),
		atMs: moment,
		isProven: fc.boolean(),
	}),
	{ maxLength: 8 },
);

/** The rule in the words of the documentation, for what was uploaded and shown up to a moment. */
function documentedOwner(
	event: Event,
	events: readonly Event[],
	shown: readonly Shown[],
): string | undefined {
	/** Of those who prove it, else of all. */
	const firstToShow = (key: string) => {
		const all = shown.filter((one) => one.key === key);
		const proving = all.filter(({ isProven }) => isProven);
		const begunMs = ({ vid }: Shown) =>
			Math.min(...all.filter((one) => one.vid === vid).map((one) => one.atMs));
		return (proving.length > 0 ? proving : all)
			.toSorted((a, b) => a.atMs - b.atMs || begunMs(a) - begunMs(b) || a.vid.localeCompare(b.vid))
			.at(0);
	};
	const isNobody = (name: string) => ['none', 'null'].includes(name.trim().toLowerCase());
	const mayHave = (vid: string, { cid }: Event) => {
		const customers = shown
			.filter((one) => one.vid === vid && one.key.startsWith('c:'))
			.map(({ key }) => key.slice(2))
			.filter((name) => !isNobody(name));
		return cid === null || isNobody(cid) || customers.length === 0 || customers.includes(cid);
	};
	const named = (one: Event) => {
		const byTid = firstToShow(`t:${one.tid}`);
		const byCid = one.cid === null || isNobody(one.cid) ? undefined : firstToShow(`c:${one.cid}`);
		const isBetter = byCid?.isProven && !byTid?.isProven;
		if (byTid !== undefined && mayHave(byTid.vid, one) && !isBetter) return byTid.vid;
		return byCid?.vid;
	};
	const acquisition = events
		.filter((one) => one.subid === event.subid && named(one) !== undefined)
		.toSorted((a, b) => a.tid.localeCompare(b.tid))
		.toSorted((a, b) => a.evt.localeCompare(b.evt))
		.toSorted((a, b) => b.revenuePence - a.revenuePence)
		.toSorted((a, b) => a.atMs - b.atMs)
		.toSorted((a, b) => (a.revenuePence < 0 ? 1 : 0) - (b.revenuePence < 0 ? 1 : 0))
		.at(0);
	const own = named(event);
	if (own !== undefined || isNobody(event.subid)) return own;
	const subscriber = acquisition && named(acquisition);
	return subscriber !== undefined && mayHave(subscriber, event) ? subscriber : undefined;
}

function isAnothersOf(shown: readonly Shown[]): IsAnothers {
	return (vid, cid) => {
		const own = shownCids(shown, vid);
		return own.length > 0 && !own.some((one) => one.cid === cid);
	};
}

function shownCids(shown: readonly Shown[], vid: string) {
	return shown
		.filter((one) => one.vid === vid && one.key.startsWith('c:') && one.key !== 'c: None ')
		.map(({ key, atMs }) => ({ cid: key.slice(2), atMs }));
}

/** The links of each key, the holder's first. */
function linksOf(shown: readonly Shown[]): Map<string, ShownKey[]> {
	const linksIn = (all: readonly Shown[]) =>
		Map.groupBy(all, ({ vid }) => vid)
			.entries()
			.map(([vid, own]) => ({
				vid,
				atMs: Math.min(...own.map(({ atMs }) => atMs)),
				provenAtMs: Math.min(neverProven, ...own.filter((one) => one.isProven).map(({ atMs }) => atMs)),
			}));
	return new Map(
		Map.groupBy(shown, ({ key }) => key)
			.entries()
			.map(([key, all]) => [key, [...linksIn(all)].sort(compareHolders)]),
	);
}

/** Who has held each key: whoever had claimed it first, then whoever had proved it first. */
function holdersOf(shown: readonly Shown[]): Map<string, Holder[]> {
	return new Map(
		linksOf(shown)
			.entries()
			.map(([key, links]) => {
				const [best] = links as [ShownKey];
				const [begun] = links.toSorted((a, b) => a.atMs - b.atMs || a.vid.localeCompare(b.vid)) as [ShownKey];
				const { vid, atMs, provenAtMs } = best;
				const proven = { vid, atMs, fromMs: provenAtMs, isProven: true };
				const claimed = { ...begun, fromMs: begun.atMs, isProven: false };
				return [
					key,
					[...(begun.atMs < provenAtMs ? [claimed] : []), ...(provenAtMs < neverProven ? [proven] : [])],
				];
			}),
	);
}

suite('whose an event is', () => {
	test('its tid names the visitor, else its cid, else its subscription', () => {
		const event = { tid: 'T', cid: 'C' };
		const isAnothers: IsAnothers = (vid) => vid === 'other';
		const held = (holders: Record<string, string>, proven: readonly string[] = Object.keys(holders)) =>
			namedOwner(event, {
				holderOf: (key) =>
					holders[key] === undefined ? undefined : { vid: holders[key], isProven: proven.includes(key) },
				isAnothers,
			});
		const joined = { ...event, subid: 'S' };
		assert.deepEqual(eventKeys([event, { tid: 'U', cid: null }]), ['t:T', 'c:C', 't:U']);
		assert.deepEqual(held({ 't:T': 'a', 'c:C': 'b' }), { vid: 'a', named: 2 });
		assert.deepEqual(held({ 't:T': 'other', 'c:C': 'b' }), { vid: 'b', named: 1 });
		assert.deepEqual(held({ 't:T': 'a', 'c:C': 'b' }, []), { vid: 'a', named: 2 });
		assert.deepEqual(held({ 't:T': 'a', 'c:C': 'b' }, ['t:T']), { vid: 'a', named: 2 });
		assert.deepEqual(held({ 't:T': 'a', 'c:C': 'b' }, ['c:C']), { vid: 'b', named: 1 }, 'a claim yields');
		assert.deepEqual(held({ 't:T': 'b', 'c:C': 'b' }, ['c:C']), { vid: 'b', named: 2 });
		assert.equal(held({ 't:T': 'other' }), undefined);
		assert.deepEqual(ownerOf(joined, held({ 'c:C': 'b' }), 'c', isAnothers), { vid: 'b', named: 1 });
		assert.deepEqual(ownerOf(joined, held({}), 'c', isAnothers), { vid: 'c', named: 0 });
		assert.equal(ownerOf(joined, held({}), 'other', isAnothers), undefined);
		assert.equal(ownerOf(joined, held({}), undefined, isAnothers), undefined);
		// Nobody is called so.
		assert.deepEqual(eventKeys([{ tid: 'undefined', cid: ' NULL ' }]), []);
		assert.equal(ownerOf({ ...joined, subid: 'N/A' }, undefined, 'c', isAnothers), undefined);
	});

	test('is what the documentation says, in any order of events and hits', () => {
		fc.assert(
			fc.property(anyEvents, anyShown, (events, shown) => {
				const links = linksOf(shown);
				const isAnothers = isAnothersOf(shown);
				const holderOf = (key: string) => {
					const [first] = links.get(key) ?? [];
					return first && { vid: first.vid, isProven: first.provenAtMs < neverProven };
				};
				const named = (event: Event) => namedOwner(event, { holderOf, isAnothers });
				for (const order of [events, events.toReversed()]) {
					const subscribers = subscribersAmong(order, named);
					for (const event of order)
						assert.equal(
							ownerOf(event, named(event), subscribers.get(event.subid), isAnothers)?.vid,
							documentedOwner(event, events, shown),
						);
				}
			}),
		);
	});

	test('over time is at each moment that of what had been shown, with the holders and the subscriber of today', () => {
		fc.assert(
			fc.property(anyEvents, anyShown, (all, shown) => {
				const events = all.filter(({ subid }) => subid === 'S1');
				const holders = holdersOf(shown);
				const over = ownersOver(events, {
					holdersOf: (key) => holders.get(key) ?? [],
					shownBy: (vid) => shownCids(shown, vid),
					shared: new Set(),
				});
				for (const [index, event] of events.entries()) {
					const periods = over[index] ?? [];
					const today = periods.find(({ knownUntilMs }) => knownUntilMs === Number.POSITIVE_INFINITY);
					assert.equal(today?.vid, documentedOwner(event, events, shown));
					assert.ok(
						(periods[0]?.knownFromMs ?? event.atMs) >= event.atMs,
						'nobody knew it before its upload',
					);
					for (const [at, period] of periods.entries()) {
						const next = periods[at + 1];
						assert.ok(period.knownFromMs < period.knownUntilMs);
						assert.ok(period.knownUntilMs <= (next?.knownFromMs ?? Number.POSITIVE_INFINITY));
						if (period.knownUntilMs === next?.knownFromMs) assert.notEqual(period.vid, next.vid);
						// Whoever had it was no other customer's then.
						const until = shown.filter(({ atMs }) => atMs <= period.knownFromMs);
						const { cid } = event;
						if (cid !== null && cid !== ' None ')
							assert.ok(!isAnothersOf(until)(period.vid, cid), `${period.vid} at ${period.knownFromMs}`);
					}
				}
			}),
		);
	});
});
