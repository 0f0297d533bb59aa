import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backtest } from '../../../src/capabilities/training/follow/backtest.ts';
import { followLevel } from '../../../src/capabilities/training/follow/level-following.ts';
import { train } from '../../../src/capabilities/training/judge/train.ts';
import { accountRows } from '../../../src/capabilities/training/rows/account-rows.ts';
import { measureBaseRates } from '../../../src/capabilities/training/serve/base-rate.ts';
import { type Goal, goalDefaults } from '../../../src/core/domain/goal.ts';
import { dayMs, minuteMs } from '../../../src/core/durations.ts';
import { openModel } from '../../../src/core/scoring/serve/goal-model.ts';
import { madeUpHistories, madeUpStartMs } from '../../proof/made-up-histories.ts';
import { readerOf } from '../../proof/plain-visitors.ts';

/** A robot that came for two months, among visitors of whom a store gives all hits. */
const days = 60;
const asOfMs = madeUpStartMs + days * dayMs;
const others = madeUpHistories({
	visitors: 250,
	days,
	seed: 1,
	level: () => -1,
	signal: 1,
	visits: 3,
	withinDays: 5,
});
const goal: Goal = { name: 'sale', evts: ['sale', 'visit'], ...goalDefaults, horizonDays: 14 };

function robot(hits: number) {
	const betweenMs = (days * dayMs) / hits;
	return {
		hits: Array.from({ length: hits }, (_, number) => ({
			atMs: madeUpStartMs + Math.round(number * betweenMs),
			visit: Math.floor((number * betweenMs) / (40 * minuteMs)),
		})),
		sales: [{ atMs: asOfMs - 20 * dayMs, evt: 'sale', pence: 999 }],
	};
}

/** Serves at most the latest `max` hits of a visitor, as a store does, and counts how often a hit's time is read. */
function limitedReader(hits: number, max = Number.POSITIVE_INFINITY) {
	const plain = readerOf([...others, robot(hits)]);
	const reads = { count: 0 };
	return {
		reads,
		reader: {
			...plain,
			visitorHistories: async (vids: readonly string[], untilMs: number) =>
				(await plain.visitorHistories(vids, untilMs)).map((history) => ({
					...history,
					hits: history.hits.slice(-max).map(({ atMs, ...hit }) => ({
						...hit,
						get atMs() {
							reads.count++;
							return atMs;
						},
					})),
				})),
		},
	};
}

async function rowsOf(reader: ReturnType<typeof limitedReader>['reader']) {
	const { rows, vids } = await accountRows(reader, { goals: [goal], asOfMs, seed: 1, onProgress: () => {} });
	await measureBaseRates(reader, [goal], asOfMs, vids);
	const ofVisitors = rows.find(({ scope }) => scope === 'vid');
	assert.ok(ofVisitors);
	return ofVisitors;
}

const { dataset, horizonMs } = await rowsOf(limitedReader(2).reader);
const model = openModel('1', JSON.stringify(train(dataset, { seed: 1, horizonMs }).model));

async function follow({ reader }: ReturnType<typeof limitedReader>) {
	for (const scope of ['vid', 'sid'] as const)
		assert.ok(
			await followLevel(reader, {
				goal,
				scope,
				model,
				levels: undefined,
				nowMs: asOfMs,
				trainedToMs: asOfMs - 15 * dayMs,
			}),
		);
}

test('moments before the hits that a store gives of one visitor are left out', async () => {
	const limited = limitedReader(3000, 200);
	await follow(limited);
	const options = { goal, cutsMs: [asOfMs - 25 * dayMs], untilMs: asOfMs - 14 * dayMs, seed: 1 };
	const { all } = await backtest(limited.reader, { ...options, at: 'hit', onProgress: () => {} });
	assert.ok(all.scores > 100 && all.served.logLoss > 0);
});

test('a visitor costs no more than its hits and rows', async () => {
	const readsOf = async (hits: number) => {
		const limited = limitedReader(hits);
		await rowsOf(limited.reader);
		await follow(limited);
		return limited.reads.count;
	};
	const perHit = ((await readsOf(6000)) - (await readsOf(2))) / 6000;
	assert.ok(perHit < 400, `a hit's time was read ${perHit.toFixed(0)} times`);
});
