import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scoredFor } from '../../../src/core/domain/active-subscriptions.ts';
import { type LogEntry, type Profile, profileOf } from '../../../src/core/domain/profile.ts';
import { Cadences, monthDays } from '../../../src/core/domain/subscription-cadence.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { hit, startMs } from './log.ts';

const cadences = new Cadences(
	{
		prices: [],
		evts: [
			['news', [monthDays]],
			['archive', [7]],
		],
		all: [],
	},
	{},
);

function paid(days: number, subid: string, evt = 'news', revenuePence = 999): LogEntry {
	const atMs = startMs + days * dayMs;
	return { type: 'subscription', atMs, tid: `${subid}-${days}`, subid, evt, revenuePence };
}

function scored(
	days: number,
	log: readonly LogEntry[],
	goal: { evts?: string[]; counts?: 'acquisition' } = {},
) {
	const profile = profileOf([hit(startMs), ...log]) as Profile;
	const asked = { evts: ['*'], counts: 'renewal', ...goal } as const;
	return scoredFor(asked, profile, startMs + days * dayMs, cadences);
}

test('a goal of renewals is scored for those who subscribe now, and for nobody else', () => {
	assert.equal(scored(1, []), undefined, 'has never subscribed');
	assert.equal(scored(1, [paid(0, 'A', 'news', -999)]), undefined, 'has only been paid back');
	assert.equal(scored(20, [paid(1, 'A')])?.renewing?.subid, 'A');
	assert.equal(scored(44, [paid(1, 'A')])?.renewing?.subid, 'A', 'is due, and may still renew');
	assert.equal(scored(60, [paid(1, 'A')]), undefined, 'has ended');
	assert.equal(scored(60, [paid(1, 'A'), paid(58, 'A')])?.renewing?.subid, 'A', 'has come back');
	assert.equal(scored(5, [paid(1, 'A'), paid(2, 'A', 'news', -999)]), undefined, 'was paid back');
});

test('a goal of renewals is about the subscription that is due next, of those that it names', () => {
	const both = [paid(1, 'A'), paid(2, 'B', 'archive')];
	assert.equal(scored(5, both)?.renewing?.subid, 'B');
	assert.equal(scored(5, both, { evts: ['news'] })?.renewing?.subid, 'A');
	assert.equal(scored(5, both, { evts: ['other'] }), undefined);
	const { cover, paidAtMs } = scored(5, both)?.renewing ?? {};
	assert.equal(paidAtMs, startMs + 2 * dayMs);
	assert.deepEqual(cover, {
		cadenceDays: 7,
		dueAtMs: startMs + 9 * dayMs,
		lapsesAtMs: startMs + 12.5 * dayMs,
	});
});

test('a subscription of which nobody knows how often it is paid is active, and due at no known time', () => {
	assert.deepEqual(scored(500, [paid(1, 'C', 'gift')])?.renewing, {
		subid: 'C',
		evt: 'gift',
		paidAtMs: startMs + dayMs,
		paymentsInRow: 1,
		cover: null,
		isCancelled: false,
	});
});

test('payments in a row are those since the subscription began, or began again', () => {
	const inRow = (day: number, ...days: number[]) =>
		scored(
			day,
			days.map((at) => paid(at, 'A', 'news')),
		)?.renewing?.paymentsInRow;
	assert.equal(inRow(70, 1, 31, 61), 3);
	assert.equal(inRow(330, 1, 31, 61, 300), 1, 'it had ended');
	assert.equal(inRow(330, 1, 31, 61, 300, 330), 2);
});

test('other goals are scored for everybody', () => {
	assert.deepEqual(scored(1, [], { counts: 'acquisition' }), {});
});
