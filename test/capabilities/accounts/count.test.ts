import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { openStore } from '../../../src/assembly/open-store.ts';
import { countMatches, type MatchCount } from '../../../src/capabilities/accounts/count.ts';
import { type Profile, profileOf } from '../../../src/core/domain/profile.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { compileRule } from '../../../src/core/segments/rule.ts';
import { hit, startMs } from '../../core/domain/log.ts';
import { storeVisitors } from '../../core/segments/stored-visitors.ts';
import { addAccount } from '../../core/store/engines.ts';
import { temporaryFolder } from '../../support.ts';

function profileOfVisits(visits: number): Profile | null {
	return profileOf(
		Array.from({ length: visits }, (_, index) => hit(startMs + index * dayMs, { sid: String(index) })),
	);
}

/** A store of visitors that have 1, 2, 3, 4 visits by turns, five days after the first ones. */
async function storeOf(t: TestContext, visitors: number) {
	const store = await openStore(`sqlite:${temporaryFolder(t)}/data`, { now: () => startMs + 5 * dayMs });
	t.after(() => store.close());
	const accountId = await addAccount(store, 'c-a-acme-uk');
	await storeVisitors(
		store,
		accountId,
		Array.from({ length: visitors }, (_, index) => profileOfVisits((index % 4) + 1)),
	);
	const count = async (
		rule: string,
		onProgress?: (done: number, total: number) => void,
	): Promise<MatchCount> => {
		const account = (await store.control.accessSnapshot()).accounts.get('c-a-acme-uk');
		assert.ok(account);
		return countMatches(store, account, compileRule(rule), onProgress ? { onProgress } : {});
	};
	return { store, accountId, count };
}

test('all visitors are evaluated as of one moment, a page at a time', async (t) => {
	const { count } = await storeOf(t, 634);
	const seen: [number, number][] = [];
	const rule = 'visitor.visits >= 2 && visitor.daysSinceLast < 3.5';
	assert.deepEqual(await count(rule, (done, total) => seen.push([done, total])), {
		visitors: 634,
		matching: 316,
	});
	assert.deepEqual(seen, [
		[250, 634],
		[500, 634],
		[634, 634],
	]);
});

test('a rule may read scores; where a model cannot be used they are base rates, as on pages', async (t) => {
	const { store, accountId, count } = await storeOf(t, 8);
	const rule = 'scores["subscription"] < 0.5 && visitor.visits == 1';
	assert.equal((await count(rule)).matching, 2);
	const { version } = await store.control.insertModel(accountId, {
		goal: 'subscription',
		scope: 'vid',
		body: '{"format":99}',
		report: '{}',
	});
	await store.control.activateModel(accountId, { goal: 'subscription', scope: 'vid', version });
	assert.equal((await count(rule)).matching, 2);
});

test('an account without visitors has a count of 0', async (t) => {
	const { count } = await storeOf(t, 0);
	assert.deepEqual(await count('true'), { visitors: 0, matching: 0 });
});
