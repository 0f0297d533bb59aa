import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
	apply,
	compareEntries,
	type DecayedCounts,
	decay,
	isLatest,
	type LogEntry,
	type Profile,
	profileOf,
} from '../../../src/core/domain/profile.ts';
import { dayMs, minuteMs } from '../../../src/core/durations.ts';
import { anyLog, hit, startMs, subscription } from './log.ts';

const secondSid = 'b'.repeat(32);

function profileAfter(...log: LogEntry[]): Profile {
	const profile = profileOf(log);
	assert(profile);
	return profile;
}

test('an empty log has no profile', () => {
	assert.equal(profileOf([]), null);
});

describe('hits', () => {
	test('are counted, and those of a page as pages, too', () => {
		const { hits, pages } = profileAfter(hit(startMs), hit(startMs + 1, { page: null }));
		assert.deepEqual({ hits, pages }, { hits: 2, pages: 1 });
	});

	test('of another sid start another visit, which becomes the latest', () => {
		const { visits, visit } = profileAfter(
			hit(startMs),
			hit(startMs + minuteMs),
			hit(startMs + dayMs, { sid: secondSid, page: 'offer' }),
			hit(startMs + dayMs + minuteMs, { sid: secondSid, page: 'basket' }),
		);
		assert.equal(visits, 2);
		assert.deepEqual(visit, {
			sid: secondSid,
			startedAtMs: startMs + dayMs,
			lastHitAtMs: startMs + dayMs + minuteMs,
			hits: 2,
			landingPage: 'offer',
		});
	});

	test('dwell is the time between hits of the same visit', () => {
		const { dwellMs } = profileAfter(
			hit(startMs),
			hit(startMs + 3 * minuteMs),
			hit(startMs + dayMs, { sid: secondSid }),
			hit(startMs + dayMs + 2 * minuteMs, { sid: secondSid }),
		);
		assert.equal(dwellMs, 5 * minuteMs);
	});

	test('days are counted in UTC, also where a visit passes midnight', () => {
		const { activeDays } = profileAfter(
			hit(startMs - minuteMs),
			hit(startMs),
			hit(startMs + minuteMs),
			hit(startMs + 3 * dayMs, { sid: secondSid }),
		);
		assert.equal(activeDays, 3);
	});

	test('a subscription event between two hits does not count as another day', () => {
		const { activeDays, visits } = profileAfter(
			hit(startMs),
			subscription(startMs + 1),
			hit(startMs + minuteMs),
		);
		assert.deepEqual({ activeDays, visits }, { activeDays: 1, visits: 1 });
	});

	test('a visit counts for the channel of its first hit', () => {
		const { firstChannel, lastChannel, channels } = profileAfter(
			hit(startMs, { channel: 'email' }),
			hit(startMs + 1, { channel: 'direct' }),
			hit(startMs + dayMs, { sid: secondSid, channel: 'paid-search' }),
			hit(startMs + 2 * dayMs, { channel: 'email' }),
		);
		assert.deepEqual(
			{ firstChannel, lastChannel, channels },
			{
				firstChannel: 'email',
				lastChannel: 'email',
				channels: [
					['paid-search', 1],
					['email', 2],
				],
			},
		);
	});

	test('the landing page is that of the first hit, for ever', () => {
		const { landingPage } = profileAfter(hit(startMs, { page: 'offer' }), hit(startMs + 1));
		assert.equal(landingPage, 'offer');
		assert.equal(profileAfter(hit(startMs, { page: null }), hit(startMs + 1)).landingPage, null);
	});

	test('the device is the latest', () => {
		assert.equal(profileAfter(hit(startMs), hit(startMs + 1, { device: 'mobile' })).device, 'mobile');
	});

	test('pages and events have their last time, in that order', () => {
		const { pageTimes, events } = profileAfter(
			hit(startMs, { page: '/', events: ['play', 'play'] }),
			hit(startMs + 1, { page: 'pricing', events: ['add_to_cart'] }),
			hit(startMs + 2, { page: '/', events: ['play'] }),
		);
		assert.deepEqual(pageTimes, [
			['pricing', startMs + 1],
			['/', startMs + 2],
		]);
		assert.deepEqual(events, [
			['add_to_cart', 1, startMs + 1],
			['play', 3, startMs + 2],
		]);
	});
});

describe('subscription events', () => {
	test('are counted and summed; one of a subid that was acquired is a renewal', () => {
		const { subscriptions, hits, visit } = profileAfter(
			subscription(startMs, { tid: '1', subid: 's1', evt: 'trial' }),
			subscription(startMs + dayMs, { tid: '2', subid: 's1', evt: 'membership', revenuePence: 2500 }),
			subscription(startMs + 2 * dayMs, { tid: '3', subid: 's2', evt: 'membership', revenuePence: -500 }),
		);
		assert.deepEqual(subscriptions, {
			count: 3,
			renewals: 1,
			revenuePence: 2000,
			lastAtMs: startMs + 2 * dayMs,
			lastEvt: 'membership',
			evts: [
				['trial', 1, startMs],
				['membership', 2, startMs + 2 * dayMs],
			],
			kinds: {
				trial: [['trial', 1, startMs]],
				conversion: [['membership', 1, startMs + dayMs]],
				refund: [['membership', 1, startMs + 2 * dayMs]],
			},
			subids: ['s1'],
			latest: [
				[
					's1',
					'trial',
					[
						[startMs, 0],
						[startMs + dayMs, 2500],
					],
				],
				['s2', 'membership', [[startMs + 2 * dayMs, -500]]],
			],
			recent: [1.75, 2.72606, 2.932],
			longTerm: [2.97704, 2.99431],
		});
		assert.deepEqual({ hits, visit }, { hits: 0, visit: null });
	});

	test('a hit after one starts the first visit', () => {
		const { visits, landingPage } = profileAfter(subscription(startMs), hit(startMs + 1));
		assert.deepEqual({ visits, landingPage }, { visits: 1, landingPage: 'pricing' });
	});
});

describe('recent counts', () => {
	test('halve with each half-life of 1, 7 and 30 days', () => {
		assert.deepEqual(decay([8, 8, 8], 0), [8, 8, 8]);
		assert.equal(decay([8, 8, 8], dayMs)[0], 4);
		assert.equal(decay([8, 8, 8], 14 * dayMs)[1], 2);
		assert.equal(decay([8, 8, 8], 30 * dayMs)[2], 4);
	});

	test('are as of the last entry', () => {
		const { recentHits, recentVisits, recentEvents } = profileAfter(
			hit(startMs, { events: ['play', 'stop'] }),
			hit(startMs + 7 * dayMs, { sid: secondSid }),
		);
		assert.equal(recentHits[1], 1.5);
		assert.equal(recentVisits[1], 1.5);
		assert.equal(recentEvents[1], 1);
	});

	test('decay in one step as in many, except for rounding', () => {
		fc.assert(
			fc.property(fc.array(fc.integer({ min: 0, max: 20 * dayMs }), { maxLength: 20 }), (steps) => {
				const stepwise = steps.reduce<DecayedCounts>((counts, ms) => decay(counts, ms), [100, 100, 100]);
				const atOnce = decay(
					[100, 100, 100],
					steps.reduce((sum, ms) => sum + ms, 0),
				);
				for (const [index, count] of atOnce.entries())
					assert(Math.abs(count - (stepwise[index] as number)) < 1e-3);
			}),
		);
	});
});

describe('whatever the log', () => {
	test('the order of arrival makes no difference', () => {
		fc.assert(
			fc.property(
				anyLog.chain((log) =>
					fc.tuple(
						fc.constant(log),
						fc.shuffledSubarray(log, { minLength: log.length, maxLength: log.length }),
					),
				),
				([log, shuffled]) => {
					assert.deepEqual(profileOf(shuffled), profileOf(log));
				},
			),
		);
	});

	test('adding entry by entry, like a server, gives the profile of the whole log', () => {
		fc.assert(
			fc.property(anyLog, (log) => {
				const arrived: LogEntry[] = [];
				let live: Profile | null = null;
				// Late entries, and those of the same moment, have the profile made anew, as the store does it.
				for (const entry of log) {
					arrived.push(entry);
					live = isLatest(live, entry) ? apply(live, entry) : profileOf(arrived);
				}
				assert.deepEqual(live, profileOf(log));
			}),
		);
	});

	test('a profile is its own JSON', () => {
		fc.assert(
			fc.property(anyLog, (log) => {
				const profile = profileOf(log);
				assert.deepEqual(JSON.parse(JSON.stringify(profile)), profile);
			}),
		);
	});

	test('a profile read back from JSON continues unchanged', () => {
		fc.assert(
			fc.property(anyLog, (log) => {
				const [last, ...earlier] = log.toSorted(compareEntries).reverse();
				if (!last) return;
				const stored: Profile | null = JSON.parse(JSON.stringify(profileOf(earlier)));
				assert.deepEqual(apply(stored, last), profileOf(log));
			}),
		);
	});

	test('adding an entry does not mutate the profile', () => {
		fc.assert(
			fc.property(anyLog, (log) => {
				log.toSorted(compareEntries).reduce<Profile | null>((profile, entry) => {
					const before = structuredClone(profile);
					const after = apply(profile, entry);
					assert.deepEqual(profile, before);
					return after;
				}, null);
			}),
		);
	});

	test('counts match the log', () => {
		fc.assert(
			fc.property(anyLog, (log) => {
				const profile = profileOf(log);
				const hits = log.filter((entry) => entry.type === 'hit');
				assert.equal(profile?.hits ?? 0, hits.length);
				assert.equal(profile?.pages ?? 0, hits.filter(({ page }) => page !== null).length);
				assert.equal(
					profile?.activeDays ?? 0,
					new Set(hits.map(({ atMs }) => Math.floor(atMs / dayMs))).size,
				);
				assert.equal(profile?.subscriptions?.count ?? 0, log.length - hits.length);
			}),
		);
	});
});

test('a profile stays small, however long the log', () => {
	let profile: Profile | null = null;
	for (let index = 0; index < 2000; index++) {
		const name = `${index}`.padEnd(index % 2000 < 1000 ? 255 : 40, 'x');
		const atMs = startMs + 2 * index * minuteMs;
		profile = apply(profile, hit(atMs, { sid: name, page: name, channel: name, events: [name] }));
		profile = apply(profile, subscription(atMs + minuteMs, { tid: name, subid: name, evt: name }));
	}
	assert(profile?.subscriptions);
	assert.equal(profile.pageTimes.length, 50);
	assert.equal(profile.channels.length, 50);
	assert.equal(profile.events.length, 50);
	assert.equal(profile.subscriptions.evts.length, 50);
	assert.equal(profile.subscriptions.subids.length, 100);
	assert.equal(profile.pageTimes.at(-1)?.[0].startsWith('1999'), true);
	assert(JSON.stringify(profile).length < 25_000);
});

test('a profile keeps fewer long names, and always the last one', () => {
	let profile: Profile | null = null;
	for (let index = 0; index < 100; index++) {
		const name = `${index}`.padEnd(255, 'x');
		profile = apply(profile, hit(startMs + index, { page: name, channel: name, events: [name] }));
		profile = apply(profile, subscription(startMs + index, { tid: name, subid: name, evt: name }));
	}
	assert.deepEqual([profile?.pageTimes.length, profile?.subscriptions?.subids.length], [15, 15]);
	const huge = 'y'.repeat(10_000);
	assert.deepEqual(
		apply(profile, hit(startMs + 100, { page: huge })).pageTimes.map(([page]) => page),
		[huge],
	);
	assert(JSON.stringify(profile).length < 30_000);
});

test('equal hits of the same moment in two visits give one profile, in either order', () => {
	const [one, other] = ['a'.repeat(32), secondSid].map((sid) => hit(startMs, { sid, tieBreak: 'same' })) as [
		LogEntry,
		LogEntry,
	];
	assert.notEqual(compareEntries(one, other), 0);
	assert.deepEqual(profileAfter(other, one), profileAfter(one, other));
});

test('a hit is ordered before a subscription event of the same moment, so that its page counts before the sale', () => {
	const log = [subscription(startMs), hit(startMs)];
	assert.deepEqual(
		log.toSorted(compareEntries).map(({ type }) => type),
		['hit', 'subscription'],
	);
});
