import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { profileFeatures, vocabularyOf } from '../../../../src/capabilities/training/rows/vocabulary.ts';
import { apply, type LogEntry, type Profile, profileOf } from '../../../../src/core/domain/profile.ts';
import { dayMs, minuteMs } from '../../../../src/core/durations.ts';
import type { FeatureRow } from '../../../../src/core/scoring/rows/features.ts';
import { featureSet } from '../../../../src/core/scoring/rows/features.ts';
import { profileRows } from '../../../../src/core/scoring/rows/profile-features.ts';
import { anyLog, hit, startMs, subscription } from '../../domain/log.ts';

function profileAfter(...log: LogEntry[]): Profile {
	const profile = profileOf(log);
	assert(profile);
	return profile;
}

function named(profile: Profile, nowMs: number): Record<string, number | string> {
	const features = profileFeatures(vocabularyOf([{ vid: '1', profile }]));
	const row: FeatureRow = profileRows(features)(profile, nowMs);
	return Object.fromEntries([
		...features.numeric.map(({ name }, column) => [name, row.numeric[column]]),
		...features.categorical.map(({ name }, column) => [name, row.categorical[column]]),
	]);
}

test("a row has numbers, texts, and the account's names", () => {
	const profile = profileAfter(
		hit(startMs, { channel: 'email', page: '/', events: ['play'] }),
		hit(startMs + minuteMs, { channel: 'email', page: 'pricing', events: ['play'] }),
		subscription(startMs + dayMs, { evt: 'trial', revenuePence: 499 }),
	);
	const row = named(profile, startMs + 2 * dayMs);
	assert.equal(row.hits, 2);
	assert.equal(row.visits, 1);
	assert.equal(row.hitsPerVisit, 2);
	assert.equal(row.dwellMinutes, 1);
	assert.equal(row.daysSinceFirst, 2);
	assert.equal(row.subscriptions, 1);
	assert.equal(row.revenuePence, 499);
	assert.equal(row.daysSinceSubscription, 1);
	assert.equal(row.recentSubscriptions90d, 0.99233);
	assert.equal(row.recentSubscriptions365d, 0.9981);
	assert.equal(row['page:/'], 2);
	assert.equal(row['page:pricing'], 2 - 1 / 1440);
	assert.equal(row['channel:email'], 1);
	assert.equal(row['event:play'], 2);
	assert.equal(row['evt:trial'], 1);
	assert.equal(row.lastChannel, 'email');
	assert.equal(row.lastPage, 'pricing');
	assert.equal(row.lastEvt, 'trial');
});

test('what never happened is missing or none', () => {
	const features = profileFeatures({
		page: ['pricing'],
		channel: ['email'],
		event: ['play'],
		evt: ['trial'],
	});
	const row = profileRows(features)(profileAfter(hit(startMs, { page: null, channel: 'direct' })), startMs);
	const value = (name: string) => row.numeric[features.numeric.findIndex((feature) => feature.name === name)];
	assert(Number.isNaN(value('daysSinceSubscription')));
	assert(Number.isNaN(value('page:pricing')));
	assert.equal(value('channel:email'), 0);
	assert.equal(value('event:play'), 0);
	assert.equal(value('evt:trial'), 0);
});

test('seconds after a first hit, no feature but the times since has changed much', () => {
	const row = (laterMs: number) => named(profileAfter(hit(startMs), hit(startMs + 5)), startMs + 5 + laterMs);
	const [now, later] = [row(0), row(2000)];
	for (const [name, value] of Object.entries(now))
		if (typeof value === 'number' && !Number.isNaN(value))
			assert.ok(Math.abs((later[name] as number) - value) < 1e-4, `${name}: ${value}, then ${later[name]}`);
});

test('long-term counts of subscriptions are missing in profiles of earlier versions', () => {
	const profile = profileAfter(hit(startMs), subscription(startMs + 1, { tid: 'a' }));
	assert.equal(named(profile, startMs + 90 * dayMs + 1).recentSubscriptions90d, 0.5);
	assert.ok(profile.subscriptions);
	const { longTerm: _, ...earlier } = profile.subscriptions;
	const old = { ...profile, subscriptions: earlier };
	assert.ok(Number.isNaN(named(old, startMs + dayMs).recentSubscriptions90d));
	const renewed = apply(old, subscription(startMs + dayMs, { tid: 'b' }));
	assert.equal(renewed.subscriptions?.longTerm, undefined, 'a count of a part would be wrong');
	assert.equal(named(profileAfter(hit(startMs)), startMs).recentSubscriptions365d, 0);
});

test('every value of any profile is a finite number or missing', () => {
	fc.assert(
		fc.property(anyLog, fc.nat(400 * dayMs), (log, laterMs) => {
			const profile = profileOf(log);
			fc.pre(profile !== null);
			const features = profileFeatures(vocabularyOf([{ vid: '1', profile }]));
			const row = profileRows(features)(profile, profile.lastAtMs + laterMs);
			assert.equal(row.numeric.length, features.numeric.length);
			for (const value of Array.from(row.numeric)) assert(Number.isNaN(value) || Number.isFinite(value));
			for (const text of row.categorical) assert.equal(typeof text, 'string');
		}),
	);
});

test('the vocabulary is the most frequent names among visitors, most frequent first', () => {
	const profiles = Array.from({ length: 200 }, (_, index) => ({
		vid: String(index),
		profile: profileAfter(
			hit(startMs, { page: '/' }),
			hit(startMs + 1, { page: index < 20 ? 'pricing' : `p${index}` }),
		),
	}));
	assert.deepEqual(vocabularyOf(profiles).page, ['/', 'pricing']);
	const frequent = Array.from({ length: 100 }, () => ({
		vid: '199',
		profile: profiles[199]?.profile as Profile,
	}));
	assert.deepEqual(
		vocabularyOf([...profiles, ...frequent]).page,
		['/', 'pricing'],
		'one who comes often is one',
	);
});

test('a feature of another version is rejected', () => {
	assert.throws(() => profileRows(featureSet(['shoeSize'], [])), /unknown feature shoeSize/);
	assert.throws(() => profileRows(featureSet([], ['hat'])), /unknown feature hat/);
});
