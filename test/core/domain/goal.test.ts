import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type GoalCounts, goalCounts, reachedAtMs, reachedOf } from '../../../src/core/domain/goal.ts';
import { compareEntries, profileOf } from '../../../src/core/domain/profile.ts';
import { anyLog, hit, startMs, subscription } from './log.ts';

/** A refund that came before its sale, the sale, a renewal of another type, a refund, and another subscription. */
const log = [
	subscription(startMs, { tid: '1', revenuePence: -100 }),
	subscription(startMs + 1, { tid: '2', revenuePence: 500 }),
	subscription(startMs + 2, { tid: '3', evt: 'gift', revenuePence: 0 }),
	subscription(startMs + 3, { tid: '4', revenuePence: -500 }),
	subscription(startMs + 4, { tid: '5', subid: 'sub-2', evt: 'gift' }),
	hit(startMs + 5, { events: ['gift'] }),
];

test('a goal is reached by the upload events that it counts', () => {
	const timesOf = (counts: GoalCounts, ...evts: string[]) =>
		reachedAtMs(log, { evts, counts }, null).map((atMs) => atMs - startMs);
	assert.deepEqual(timesOf('acquisition', '*'), [1, 4]);
	assert.deepEqual(timesOf('renewal', '*'), [2]);
	assert.deepEqual(timesOf('refund', '*'), [0, 3]);
	assert.deepEqual(timesOf('any', '*'), [0, 1, 2, 3, 4]);
	assert.deepEqual(timesOf('any', 'membership'), [0, 1, 3]);
	// Of the page's events, all count.
	assert.deepEqual(timesOf('acquisition', 'gift'), [4, 5]);
	assert.deepEqual(timesOf('renewal', 'gift'), [2, 5]);
});

test('names of events that mean something else are no events of the page', () => {
	const odd = [hit(startMs, { events: ['*', 'visit'] }), subscription(startMs + 1, { evt: 'visit' })];
	assert.deepEqual(reachedAtMs(odd, { evts: ['*'], counts: 'refund' }, null), []);
	assert.deepEqual(reachedAtMs(odd, { evts: ['visit'], counts: 'any' }, null), []);
});

test('a profile knows how often and when its log reached a goal', () => {
	fc.assert(
		fc.property(anyLog, fc.constantFrom(...goalCounts), (entries, counts) => {
			const sorted = entries.toSorted(compareEntries);
			const profile = profileOf(sorted);
			for (const evts of [['*'], ['pricing']]) {
				const timesMs = reachedAtMs(
					sorted.filter(({ type }) => type === 'subscription'),
					{ evts, counts },
					null,
				);
				const reached = profile && reachedOf({ ...profile, events: [] }, { evts, counts }, null);
				assert.deepEqual(
					reached ?? undefined,
					timesMs.length > 0 ? { count: timesMs.length, lastAtMs: timesMs.at(-1) } : undefined,
				);
			}
		}),
	);
});
