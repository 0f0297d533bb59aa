import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import {
	compareHolders,
	eventKeys,
	type Holder,
	namedOwner,
	ownerOf,
	ownersOver,
	subscribersAmong,
} from '../../src/domain/ownership.ts';

interface Event {
	readonly id: number;
	readonly tid: string;
	readonly subid: string;
	readonly cid: string | null;
	readonly atMs: number;
	readonly revenuePence: number;
}

interface Shown extends Holder {
	readonly key: string;
}

const moment = fc.nat({ max: 20 });
const cid = fc.constantFrom('C1', 'C2');
const anyEvents = fc
	.array(
		fc.record({
			subid: fc.constantFrom('S1', 'S2'),
			cid: fc.option(cid),
			atMs: moment,
			revenuePence: fc.constantFrom(-5, 0, 5),
		}),
		{ maxLength: 6 },
	)
	.map((events): Event[] =>
		events.map((event, index) => ({ ...event, id: index + 1, tid: `T${index + 1}` })),
	);
const anyShown = fc.array(
	fc.record({
		key: fc.oneof(
			fc.integer({ min: 1, max: 6 }).map((number) => `t:T${number}`),
			cid.map((name) => `c:${name}`),
		),
		vid: fc.constantFrom('a', 'b', 'c'),
		atMs: moment,
	}),
	{ maxLength: 8 },
);

/** The rule in the words of the documentation, for what was uploaded and shown up to a moment. */
function documentedOwner(
	event: Event,
	events: readonly Event[],
	shown: readonly Shown[],
): string | undefined {
	const firstToShow = (key: string) =>
		shown
			.filter((one) => one.key === key)
			.toSorted((a, b) => a.atMs - b.atMs || a.vid.localeCompare(b.vid))
			.at(0)?.vid;
	const named = (one: Event) =>
		firstToShow(`t:${one.tid}`) ?? (one.cid === null ? undefined : firstToShow(`c:${one.cid}`));
	const acquisition = events
		.filter((one) => one.subid === event.subid && named(one) !== undefined)
		.toSorted((a, b) => a.id - b.id)
		.toSorted((a, b) => a.atMs - b.atMs)
		.toSorted((a, b) => (a.revenuePence < 0 ? 1 : 0) - (b.revenuePence < 0 ? 1 : 0))
		.at(0);
	return named(event) ?? (acquisition && named(acquisition));
}

function holdersOf(shown: readonly Shown[]): Map<string, Holder> {
	return new Map(
		Map.groupBy(shown, ({ key }) => key)
			.entries()
			.map(([key, all]) => [key, all.toSorted(compareHolders)[0] as Shown]),
	);
}

suite('whose an event is', () => {
	test('its tid names the visitor, else its cid, else its subscription', () => {
		const event = { tid: 'T', cid: 'C' };
		const held = (holders: Record<string, string>) => namedOwner(event, (key) => holders[key]);
		assert.deepEqual(eventKeys([event, { tid: 'U', cid: null }]), ['t:T', 'c:C', 't:U']);
		assert.deepEqual(held({ 't:T': 'a', 'c:C': 'b' }), { vid: 'a', named: 2 });
		assert.deepEqual(ownerOf(held({ 'c:C': 'b' }), 'c'), { vid: 'b', named: 1 });
		assert.deepEqual(ownerOf(held({}), 'c'), { vid: 'c', named: 0 });
		assert.equal(ownerOf(held({}), undefined), undefined);
	});

	test('is what the documentation says, in any order of events and hits', () => {
		fc.assert(
			fc.property(anyEvents, anyShown, (events, shown) => {
				const holders = holdersOf(shown);
				const named = (event: Event) => namedOwner(event, (key) => holders.get(key)?.vid);
				for (const order of [events, events.toReversed()]) {
					const subscribers = subscribersAmong(order, named);
					for (const event of order)
						assert.equal(
							ownerOf(named(event), subscribers.get(event.subid))?.vid,
							documentedOwner(event, events, shown),
						);
				}
			}),
		);
	});

	test('over time ends with the owner today, and is without gaps', () => {
		fc.assert(
			fc.property(anyEvents, anyShown, (all, shown) => {
				const events = all.filter(({ subid }) => subid === 'S1');
				const holders = holdersOf(shown);
				const over = ownersOver(events, (key) => holders.get(key));
				for (const [index, event] of events.entries()) {
					const periods = over[index] ?? [];
					assert.equal(periods.at(-1)?.vid, documentedOwner(event, events, shown));
					assert.ok(
						(periods[0]?.knownFromMs ?? event.atMs) >= event.atMs,
						'nobody knew it before its upload',
					);
					for (const [at, period] of periods.entries()) {
						assert.equal(period.knownUntilMs, periods[at + 1]?.knownFromMs ?? Number.POSITIVE_INFINITY);
						assert.ok(period.knownFromMs < period.knownUntilMs);
						assert.notEqual(period.vid, periods[at + 1]?.vid);
					}
				}
			}),
		);
	});
});
