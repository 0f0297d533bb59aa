import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareEvents, type OrderedEvent } from '../../../src/core/domain/event-order.ts';
import { profileOf } from '../../../src/core/domain/profile.ts';
import { subscriptionOf } from '../../../src/core/domain/subscription-steps.ts';

const events = [
	{ tid: 'refund', revenuePence: -499, evt: 'newsletter' },
	{ tid: 'small', revenuePence: 100, evt: 'audio' },
	{ tid: 'b', revenuePence: 499, evt: 'newsletter' },
	{ tid: 'a', revenuePence: 499, evt: 'magazine' },
].map((event) => ({ ...event, subid: 'S', atMs: 1000, shownAtMs: null }));

test('of one moment, who pays more comes first, then by event type; refunds come last', () => {
	const sorted = events.toSorted(compareEvents).map(({ tid }) => tid);
	assert.deepEqual(sorted, ['a', 'b', 'small', 'refund']);
	const refund: OrderedEvent = { atMs: 999, revenuePence: -499, evt: 'newsletter' };
	assert.ok(
		events.every((event) => compareEvents(refund, event) < 0),
		'an earlier moment comes first',
	);
});

test('the acquisition of one moment is the same in reports and in profiles, in any order of arrival', () => {
	for (const order of [events, events.toReversed(), events.toSorted(() => 1)]) {
		const { evt, acquisition } = subscriptionOf(order, null);
		assert.deepEqual([evt, acquisition?.revenuePence], ['magazine', 499]);
		const profile = profileOf(order.map((event) => ({ type: 'subscription', ...event })));
		assert.equal(profile?.subscriptions?.kinds?.acquisition?.[0]?.[0], 'magazine');
		assert.deepEqual(
			profile?.subscriptions?.latest?.[0]?.[2].map(([, pence]) => pence),
			[499, 499, 100, -499],
		);
	}
});
