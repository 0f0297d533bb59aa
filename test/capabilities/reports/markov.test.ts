import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AttributionOptions, attribute } from '../../../src/capabilities/reports/attribution.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { seededRandom } from '../../../src/kit/random.ts';
import { LostPaths, lostAfterMs } from '../../../src/kit/reports/lost-paths.ts';
import { coverage, type Rule, sharesOf, trueShares } from '../../proof/markov.ts';
import { allTime, journey, lostPaths, touch } from './made-up.ts';

const options: AttributionOptions = {
	by: ['channel'],
	models: ['markov'],
	period: allTime,
	basis: 'event',
	halfLifeDays: 7,
	intervals: true,
	random: seededRandom(1),
};

test('a visitor is lost who has stayed away longer than 99 of 100 subscribers', () => {
	const path = (...days: number[]) => days.map((day) => ({ atMs: day * dayMs }));
	const subscriber = { path: path(0, 4, 6), convertedAtMs: 9 * dayMs };
	assert.equal(lostAfterMs([subscriber], 90), 4 * dayMs);
	assert.equal(lostAfterMs([{ ...subscriber, convertedAtMs: 20 * dayMs }], 90), 14 * dayMs);
	assert.equal(lostAfterMs([{ path: path(0), convertedAtMs: 1 }], 90), dayMs, 'a day at least');
	assert.equal(lostAfterMs([{ path: [], convertedAtMs: 1 }], 90), 90 * dayMs, 'nothing is known');
	const patient = { path: path(0), convertedAtMs: 80 * dayMs };
	assert.equal(lostAfterMs([...Array(99).fill(subscriber), patient], 90), 4 * dayMs);
	assert.equal(lostAfterMs([...Array(98).fill(subscriber), patient, patient], 90), 80 * dayMs);
	assert.equal(lostAfterMs([patient], 30), 30 * dayMs, 'no longer than a path may be');
});

test('paths of those who were there lately are left out', () => {
	const lost = new LostPaths();
	for (const [label, day] of [
		['email', 1],
		['social', 8],
		['email', 5],
	] as const) {
		for (const name of ['direct', label]) lost.step(lost.labels.numberOf(name));
		lost.end(day * dayMs);
	}
	lost.decide(9 * dayMs, 4 * dayMs);
	assert.deepEqual(Object.fromEntries(lost.counts()), { direct: 2, email: 2, social: 0 });
	assert.deepEqual(
		lost.labelled((name) => name.length),
		[{ labels: [6, 5], visitors: 2 }],
	);
});

test('with visitors whose chain is known, shares are near the truth, also of a period that has just ended', () => {
	const truth = trueShares();
	const errorOf = (rule: Rule, log: { days: number; visitors: number; fromDay?: number }) => {
		const random = seededRandom(1);
		const made = Array.from({ length: 4 }, () => sharesOf(rule, log, random));
		const errors = made.map(({ shares }) =>
			Math.max(...truth.map((share, label) => Math.abs(share - (shares[label] as number)))),
		);
		return { error: errors.reduce((sum, error) => sum + error, 0) / 4, lost: made[0]?.lost ?? 0 };
	};
	const whole = { days: 120, visitors: 6000 };
	const [now, before] = [errorOf('chance has passed', whole), errorOf('whole look-back', whole)];
	assert.ok(now.error < before.error && now.error < 0.025, `${now.error} ${before.error}`);
	const recent = { ...whole, fromDay: 60 };
	assert.equal(errorOf('whole look-back', recent).lost, 0);
	const { error, lost } = errorOf('chance has passed', recent);
	assert.ok(lost > 50 && error < 0.025, `${lost} ${error}`);
});

test('intervals contain the truth in about 95 of 100 cases where a row is in five paths', () => {
	const shown = coverage(120, 60, 7).filter(({ contain }) => contain >= 5);
	const covered = shown.filter((one) => one.covered).length / shown.length;
	assert.ok(shown.length > 100 && covered > 0.9, `${covered}`);
	const rare = Array.from({ length: 40 }, (_, number) =>
		journey(`S-${number}`, [[9, 100]], [touch(number < 4 ? 'rare' : 'email', 5)]),
	);
	const lost = lostPaths([{ labels: ['email'], visitors: 9 }]);
	const { rows } = attribute(rare, { lost }, options);
	const bounds = rows.map(({ channel, models }) => [channel, typeof models.markov?.low]);
	assert.deepEqual(Object.fromEntries(bounds), { email: 'number', rare: 'undefined' });
});

test('the model says what it rests on, and is not shown without lost paths', () => {
	const some = [journey('S', [[9, 100]], [touch('email', 5)])];
	const shown = attribute(some, { lost: lostPaths([{ labels: ['email'], visitors: 1200 }]) }, options);
	assert.deepEqual(shown.markov, { subscriptions: 1, lostPaths: 1200, lostAfterDays: null });
	assert.match(shown.notes[0] ?? '', /compares 1 subscription with 1,200 lost paths\./);
	const hidden = attribute(some, { lost: lostPaths() }, { ...options, models: ['last', 'markov'] });
	assert.deepEqual(hidden.models, ['last']);
	assert.deepEqual(Object.keys(hidden.rows[0]?.models ?? {}), ['last']);
	assert.match(hidden.warnings[0] ?? '', /not shown: no visitor of this period is known to be lost yet/);
	assert.deepEqual(attribute(some, { lost: lostPaths() }, options).models, []);
});

test('only acquisitions are conversions of paths, and refunds stay with the path that had them', () => {
	const lost = lostPaths([{ labels: ['email'], visitors: 3 }]);
	const before = { fromMs: some(100), toMs: some(200) };
	const journeys = [
		journey(
			'A',
			[
				[20, 500],
				[150, 500],
			],
			[touch('social', 5)],
		),
		journey('B', [[120, 400]], [touch('email', 110)]),
		journey(
			'C',
			[
				[30, 300],
				[130, -300],
			],
			[touch('social', 5), touch('direct', 6)],
		),
	];
	const { rows, markov } = attribute(journeys, { lost }, { ...options, period: before });
	assert.equal(markov?.subscriptions, 1, 'the others only renewed, or were refunded');
	const creditOf = (channel: string) => rows.find((row) => row.channel === channel)?.models.markov;
	assert.deepEqual([creditOf('email')?.subscriptions, creditOf('email')?.renewalPence], [1, 500]);
	assert.deepEqual(
		['email', 'social', 'direct'].map((channel) => creditOf(channel)?.refundPence),
		[0, -150, -150],
	);
});

const some = (day: number) => Date.UTC(2026, 0, 1) + day * dayMs;
