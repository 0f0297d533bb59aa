import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { defaultGoals } from '../../../../src/core/domain/goal.ts';
import { type Profile, profileOf } from '../../../../src/core/domain/profile.ts';
import { dayMs, hourMs } from '../../../../src/core/durations.ts';
import type { GoalModel } from '../../../../src/core/scoring/serve/goal-model.ts';
import { type GoalScore, VisitorScorer } from '../../../../src/core/scoring/serve/visitor-scorer.ts';
import type { KnownAccount, ModelName } from '../../../../src/core/store/control/control-store.ts';
import type { NumberedProfile, ServingReader } from '../../../../src/core/store/serving.ts';
import { hit, startMs } from '../../domain/log.ts';

const profile = profileOf([hit(startMs)]) as Profile;

function accountWith(models: ModelName[], highFrom = 90): KnownAccount {
	const goals = defaultGoals.slice(0, 1).map((goal) => ({ ...goal, highFrom }));
	return {
		id: 1,
		clientId: 1,
		aid: 'c-a-acme-uk',
		goals,
		models,
		baseRates: new Map(),
	} as unknown as KnownAccount;
}

function version(text: string): ModelName {
	return { goal: 'subscription', scope: 'vid', version: text };
}

/** A scorer for which the visitor with `hits` hits converts with a probability of `hits` %. */
function scorerOf(
	visitors: readonly Profile[],
	probability: GoalModel['probability'] = ({ hits }) => hits / 100,
) {
	const clock = { nowMs: startMs };
	const forgotten: string[] = [];
	const errors: unknown[] = [];
	const store = { fails: false };
	const latest: ServingReader['latest'] = (_accountId, _scope, { beforeId, limit }) => {
		if (store.fails) throw new Error('the store failed');
		const numbered: NumberedProfile[] = visitors.map((each, index) => ({ id: index + 1, profile: each }));
		return numbered
			.reverse()
			.filter(({ id }) => id < beforeId)
			.slice(0, limit);
	};
	const scorer = new VisitorScorer({
		reader: { latest } as ServingReader,
		models: {
			get: (_accountId, { version: text }) => ({
				version: text,
				probability,
				reasons: ({ hits }) => [`${hits} hits`],
			}),
			forget: (_accountId, name) => forgotten.push(name.version),
		},
		now: () => clock.nowMs,
		onError: (error) => errors.push(error),
	});
	const ask = (account: KnownAccount, explain = false) => scorer.scores(account, 'vid', profile, explain);
	return { ask, clock, forgotten, errors, store, scorer };
}

const visitors = Array.from({ length: 99 }, (_, index) => ({ ...profile, hits: index + 1 }));

function modelOf(scores: readonly GoalScore[]): string | undefined {
	return scores[0]?.model;
}

/** Waits until references are made, which takes some turns of the event loop. */
async function aMoment(): Promise<void> {
	for (let turn = 0; turn < 30; turn++) await nextTurn();
}

test("a model's score has a percentile among recent visitors, a band and reasons", async () => {
	const { ask, scorer, clock } = scorerOf(visitors);
	const account = accountWith([version('7')]);
	const some = await scorer.scores(account, 'vid', { ...profile, hits: 95 }, true);
	assert.deepEqual(some, [
		{ goal: 'subscription', score: 0.95, percentile: 96, band: 'high', model: '7', reasons: ['95 hits'] },
	]);
	clock.nowMs += 1;
	assert.deepEqual(ask(account), [
		{ goal: 'subscription', score: 0.01, percentile: 0, band: 'low', model: '7' },
	]);
});

test('visitors are ranked among those of like recency: present ones among others as of their last activity', async () => {
	const leavers = visitors.map((each) => ({ ...each, lastAtMs: startMs - hourMs * each.hits }));
	const { scorer } = scorerOf(leavers, ({ hits, lastAtMs }, nowMs) => hits / (lastAtMs < nowMs ? 1000 : 100));
	const account = accountWith([version('7')]);
	const percentileOf = async (hits: number, lastAtMs: number) =>
		(await scorer.scores(account, 'vid', { ...profile, hits, lastAtMs }, false))[0]?.percentile;
	assert.equal(await percentileOf(30, startMs), 30);
	assert.equal(await percentileOf(30, startMs - dayMs), 30);
});

test('changed models and bands apply at once, without delay for an account in use', async () => {
	const { ask, clock, forgotten } = scorerOf(visitors);
	assert.equal(modelOf(await ask(accountWith([version('1')]))), '1');
	clock.nowMs += 500;
	const meanwhile = ask(accountWith([version('2')]));
	assert.ok(!(meanwhile instanceof Promise));
	assert.equal(modelOf(meanwhile), '1');
	await aMoment();
	const then = ask(accountWith([version('2')]));
	assert.ok(!(then instanceof Promise));
	assert.equal(modelOf(then), '2');
	assert.deepEqual(forgotten, ['1']);
	assert.equal(modelOf(ask(accountWith([])) as GoalScore[]), '2');
	await aMoment();
	assert.equal(modelOf(ask(accountWith([])) as GoalScore[]), 'prior');
	assert.equal((ask(accountWith([], 40)) as GoalScore[])[0]?.band, 'medium');
	await aMoment();
	assert.equal((ask(accountWith([], 40)) as GoalScore[])[0]?.band, 'high');
});

test('an account that was not in use never gets the score of a replaced model', async () => {
	const { ask, clock } = scorerOf(visitors);
	await ask(accountWith([version('1')]));
	clock.nowMs += 1001;
	const answer = ask(accountWith([version('2')]));
	assert.ok(answer instanceof Promise);
	assert.equal(modelOf(await answer), '2');
});

test('old references stay in use if new ones cannot be made', async () => {
	const { ask, clock, store, errors } = scorerOf(visitors);
	await ask(accountWith([version('1')]));
	store.fails = true;
	clock.nowMs += dayMs;
	assert.equal(modelOf(await ask(accountWith([version('2')]))), '1');
	assert.equal(errors.length, 1);
	store.fails = false;
	clock.nowMs += dayMs;
	assert.equal(modelOf(await ask(accountWith([version('2')]))), '2');
});

test('a model of another scope is not used', async () => {
	const { ask } = scorerOf(visitors);
	assert.equal(modelOf(await ask(accountWith([{ ...version('1'), scope: 'sid' }]))), 'prior');
});
