import assert from 'node:assert/strict';
import { test } from 'node:test';
import { measureBaseRates } from '../../../src/capabilities/training/serve/base-rate.ts';
import { scoredFor } from '../../../src/core/domain/active-subscriptions.ts';
import { type Goal, goalDefaults } from '../../../src/core/domain/goal.ts';
import { type Profile, profileOf } from '../../../src/core/domain/profile.ts';
import { Cadences } from '../../../src/core/domain/subscription-cadence.ts';
import { dayMs } from '../../../src/core/durations.ts';
import type { GoalModel } from '../../../src/core/scoring/serve/goal-model.ts';
import { ScoreReferenceBuilder, scoreGoal } from '../../../src/core/scoring/serve/score-reference.ts';
import { seededRandom } from '../../../src/kit/random.ts';
import { hit, startMs, subscription } from '../../core/domain/log.ts';
import { type PlainVisitor, readerOf } from '../../proof/plain-visitors.ts';

const goal: Goal = { name: 'renewal', evts: ['*'], ...goalDefaults, counts: 'renewal' };
const yearly = new Cadences({ prices: [], evts: [], all: [365.25] }, {});

test('subscribers of whom nobody was on the site for weeks are ranked among each other, from low to high', () => {
	/** The chance is the day of the payment. */
	const model: GoalModel = {
		version: '1',
		probability: (profile) => (((profile.subscriptions?.lastAtMs ?? 0) - startMs) / dayMs) * 0.01,
		reasons: () => [],
	};
	const nowMs = startMs + 300 * dayMs;
	const subscribers = Array.from(
		{ length: 100 },
		(_, day) =>
			profileOf([
				hit(startMs),
				subscription(startMs + day * dayMs, { subid: String(day), tid: String(day) }),
			]) as Profile,
	);
	const builder = new ScoreReferenceBuilder([{ goal, model, baseRate: undefined }], nowMs, yearly);
	for (const profile of [...subscribers, profileOf([hit(nowMs - 1)]) as Profile]) builder.add(profile);
	const [reference] = builder.references();
	assert.ok(reference);
	const scores = subscribers.map((profile) => {
		const scored = scoredFor(goal, profile, nowMs, yearly);
		assert.ok(scored);
		return scoreGoal(reference, model, profile, nowMs, scored, null);
	});
	assert.deepEqual([scores[10]?.band, scores[70]?.band, scores[95]?.band], ['low', 'medium', 'high']);
	assert.deepEqual([scores[10]?.percentile, scores[95]?.percentile], [10, 96]);
});

test('the base rate of renewals is that of the latest dues', async () => {
	const [days, yearDays] = [3000, 365.25];
	const random = seededRandom(1);
	/** Half of those who are due renew; from day 2,000 on, nine of ten. */
	const subscribers = Array.from({ length: 1500 }, (): PlainVisitor => {
		const sales: NonNullable<PlainVisitor['sales']>[number][] = [];
		const joinedDay = days * random();
		for (let day = joinedDay, goesOn = true; goesOn && day < days; ) {
			sales.push({ atMs: startMs + Math.floor(day * dayMs), evt: 'news', pence: 4900 });
			day += yearDays;
			goesOn = random() < (day < 2000 ? 0.5 : 0.9);
		}
		return { hits: [{ atMs: startMs + Math.floor(joinedDay * dayMs), visit: 0 }], sales };
	});
	const reader = { ...readerOf(subscribers), cadences: async () => yearly };
	const rates = await measureBaseRates(reader, [{ ...goal, evts: ['news'] }], startMs + days * dayMs);
	const rate = rates.get(goal.name)?.byRecency[2] as number;
	assert.ok(Math.abs(rate - 0.9) < 0.05, `told ${rate}`);
});
