import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Profile, profileOf } from '../../src/domain/profile.ts';
import { noCadences } from '../../src/domain/subscription-cadence.ts';
import { dayMs } from '../../src/durations.ts';
import { countMatches, type MatchCount, type ScoresOf } from '../../src/segments/count.ts';
import { compileRule } from '../../src/segments/rule.ts';
import { hit, startMs } from '../domain/log.ts';
import { addAccount, openFor } from '../store/engines.ts';
import { temporaryFolder } from '../support.ts';
import { storeVisitors } from './stored-visitors.ts';

function profileOfVisits(visits: number): Profile | null {
	return profileOf(
		Array.from({ length: visits }, (_, index) => hit(startMs + index * dayMs, { sid: String(index) })),
	);
}

const scoresOf: ScoresOf = ({ visits }) => [
	{ goal: 'return', score: visits / 10, percentile: 50, band: 'medium', model: 'prior' },
];

const nobodyAsks = () => {
	throw new Error('asked for scores');
};

/** Counts in a store of visitors that have 1, 2, 3, 4 visits by turns. */
async function storeOf(t: TestContext, visitors: number) {
	const folder = join(temporaryFolder(t), 'data');
	const store = await openFor(t, `sqlite:${folder}`);
	const accountId = await addAccount(store, 'c-a-acme-uk');
	await storeVisitors(
		store,
		accountId,
		Array.from({ length: visitors }, (_, index) => profileOfVisits((index % 4) + 1)),
	);
	return (
		rule: string,
		scores: ScoresOf,
		onProgress: (done: number, total: number) => void = () => {},
	): Promise<MatchCount> =>
		countMatches(
			(reading) => store.read(accountId, reading),
			compileRule(rule),
			scores,
			{ nowMs: startMs + 5 * dayMs, cadences: noCadences },
			onProgress,
		);
}

test('all visitors are evaluated as of one moment, a page at a time', async (t) => {
	const count = await storeOf(t, 1234);
	const seen: [number, number][] = [];
	const rule = 'visitor.visits >= 2 && visitor.daysSinceLast < 3.5';
	assert.deepEqual(await count(rule, nobodyAsks, (done, total) => seen.push([done, total])), {
		visitors: 1234,
		matching: 616,
	});
	assert.deepEqual(seen, [
		[500, 1234],
		[1000, 1234],
		[1234, 1234],
	]);
});

test('scores are computed only if the rule reads them', async (t) => {
	const count = await storeOf(t, 8);
	assert.equal((await count('scores["return"] > 0.25', scoresOf)).matching, 4);
	await assert.rejects(count('scores["return"] > 0.25', nobodyAsks), /asked for scores/);
	assert.equal((await count('visitor.visits == 1', nobodyAsks)).matching, 2);
});

test('an account without visitors has a count of 0', async (t) => {
	const count = await storeOf(t, 0);
	assert.deepEqual(await count('true', nobodyAsks), { visitors: 0, matching: 0 });
});
