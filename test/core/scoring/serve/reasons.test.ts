import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { profileFeatures, vocabularyOf } from '../../../../src/capabilities/training/rows/vocabulary.ts';
import { type LogEntry, type Profile, profileOf } from '../../../../src/core/domain/profile.ts';
import { dayMs, hourMs, minuteMs } from '../../../../src/core/durations.ts';
import { profileRows } from '../../../../src/core/scoring/rows/profile-features.ts';
import { type Fact, factsOf, type Wording } from '../../../../src/core/scoring/serve/reasons.ts';
import { anyLog, hit, startMs, subscription } from '../../domain/log.ts';

const pounds: Wording = { currency: 'GBP', cancellationEvt: null };

function facts(profile: Profile, nowMs: number, wording = pounds): Fact[] {
	const features = profileFeatures(vocabularyOf([{ vid: '1', profile }]));
	return factsOf(features, profileRows(features)(profile, nowMs), { profile, nowMs, wording }, 'raise');
}

function phrases(log: readonly LogEntry[], nowMs: number, wording = pounds): string[] {
	return facts(profileOf(log) as Profile, nowMs, wording).map(({ phrase }) => phrase);
}

test('facts about a visitor are in plain language', () => {
	const log = [
		hit(startMs, { sid: '1', page: '/', channel: 'email', events: ['play'] }),
		hit(startMs + 14 * minuteMs, { sid: '1', page: 'pricing', channel: 'email', events: ['play', 'stop'] }),
		hit(startMs + 2 * dayMs, { sid: '2', page: 'docs/start', channel: 'direct', device: 'mobile' }),
		subscription(startMs + 3 * dayMs, { evt: 'trial', tid: 'a', revenuePence: 5000 }),
		subscription(startMs + 3 * dayMs, { evt: 'newsletter', tid: 'b', revenuePence: 400 }),
	];
	assert.deepEqual(
		phrases(log, startMs + 5 * dayMs).toSorted(),
		[
			'2 subscription events, the latest 2 days ago',
			'2 visits in 7 days',
			'3 different pages in 30 days',
			'3 events',
			'3 hits',
			'14 minutes on the site',
			'came by email',
			'came directly',
			'event play 2 times',
			'event stop',
			'first seen 5 days ago',
			'last seen 3 days ago',
			'on a phone',
			'spent £54.00',
			'subscribed to newsletter',
			'subscribed to trial',
			'viewed docs/start 3 days ago',
			'viewed pricing 4 days ago',
			'viewed the home page 5 days ago',
		].toSorted(),
	);
});

test('money is in the currency of the account, and what it calls a cancellation is one', () => {
	const log = [
		hit(startMs),
		subscription(startMs, { tid: 'a', revenuePence: 123_456 }),
		subscription(startMs + 1, { tid: 'b', evt: 'goodbye', revenuePence: 0 }),
	];
	const said = (wording: Wording) => phrases(log, startMs + dayMs, wording);
	assert.ok(said(pounds).includes('spent £1,234.56'));
	assert.ok(said(pounds).includes('subscribed to goodbye'));
	const yen = said({ currency: 'JPY', cancellationEvt: 'goodbye' });
	assert.ok(yen.includes('spent JP¥123,456'));
	assert.ok(yen.includes('cancelled') && !yen.some((phrase) => phrase.includes('goodbye')));
});

test('singular and plural are right, and short histories neither repeat a fact nor say what all visitors have', () => {
	const log = [
		hit(startMs, { page: 'pricing', channel: 'organic search', events: ['play'] }),
		subscription(startMs, { evt: 'trial' }),
	];
	assert.deepEqual(phrases(log, startMs + hourMs).toSorted(), [
		'came by organic search',
		'event play',
		'last seen 1 hour ago',
		'on a desktop computer',
		'subscribed 1 hour ago',
		'viewed pricing 1 hour ago',
	]);
});

test('times are in suitable units', () => {
	for (const [passedMs, said] of [
		[59_999, 'just now'],
		[minuteMs, '1 minute ago'],
		[hourMs - 1, '59 minutes ago'],
		[hourMs, '1 hour ago'],
		[dayMs - 1, '23 hours ago'],
		[dayMs, '1 day ago'],
		[400.5 * dayMs, '400 days ago'],
	] as const)
		assert.ok(phrases([hit(startMs)], startMs + passedMs).includes(`viewed pricing ${said}`), said);
});

test('visits are described with the period in which all of them were', () => {
	const log = [hit(startMs, { sid: '1' }), hit(startMs + dayMs, { sid: '2' })];
	assert.ok(phrases(log, startMs + 7 * dayMs).includes('2 visits in 7 days'));
	assert.ok(phrases(log, startMs + 7 * dayMs + 1).includes('2 visits in 30 days'));
	assert.ok(phrases(log, startMs + 31 * dayMs).includes('2 visits'));
});

test('a name from the web becomes plain text on one line, cut at 60 characters', () => {
	const page = (name: string) =>
		phrases([hit(startMs, { page: name })], startMs).find((phrase) => phrase.startsWith('viewed'));
	assert.equal(page('<script>alert("1")</script>'), 'viewed <script>alert("1")</script> just now');
	assert.equal(page(' a\r\n\u2028b\u202e\u0007c\ud800 '), 'viewed a b c\ufffd just now');
	assert.equal(page('x'.repeat(60)), `viewed ${'x'.repeat(60)} just now`);
	assert.equal(page('🦊'.repeat(61)), `viewed ${'🦊'.repeat(59)}… just now`);
});

test('for any visitor, each column belongs to one fact, and each text fits on a line', () => {
	fc.assert(
		fc.property(anyLog, fc.nat(400 * dayMs), (log, laterMs) => {
			const profile = profileOf(log);
			fc.pre(profile !== null);
			const found = facts(profile, profile.lastAtMs + laterMs);
			const columns = found.flatMap((fact) => fact.columns);
			assert.equal(new Set(columns).size, columns.length);
			for (const { phrase } of found) assert.match(phrase, /^[^\p{C}\u2028\u2029]{1,120}$/u);
		}),
	);
});
