import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { HistoryWriter } from '../../../../src/capabilities/history/store/history-writer.ts';
import { ScoreUpkeep } from '../../../../src/capabilities/training/jobs/score-upkeep.ts';
import { type Goal, goalDefaults } from '../../../../src/core/domain/goal.ts';
import { dayMs, minuteMs } from '../../../../src/core/durations.ts';
import { startMs } from '../../../core/domain/log.ts';
import {
	addAccount,
	type Engine,
	engines,
	enginesAboveContract,
	openFor,
	subscriptionEvent,
} from '../../../core/store/engines.ts';
import { eventually } from '../../../eventually.ts';
import { collectWork } from '../../../support.ts';
import { logEndMs, madeUpVisitors, storeVisitors } from '../made-up-log.ts';
import { trainedOnVisitors } from '../made-up-profiles.ts';

const [sqlite] = engines as [Engine];
const comesBack: Goal = { name: 'return', evts: ['visit'], ...goalDefaults };

/** An account with history, and upkeep that is run round by round at the clock's time. */
async function place(t: TestContext) {
	const store = await openFor(t, await sqlite.freshAddress(t));
	const accountId = await addAccount(store, 'c-a-acme-uk');
	await storeVisitors(store, accountId, madeUpVisitors(200));
	const clock = { nowMs: logEndMs };
	const { log, lines: reports } = collectWork();
	const stopping = new AbortController();
	const upkeep = new ScoreUpkeep(store, {
		now: () => clock.nowMs,
		log,
		signal: stopping.signal,
	});
	const ratesOf = async (goal: string) => (await store.control.baseRates(accountId)).get(goal);
	return { store, accountId, clock, reports, stopping, upkeep, ratesOf };
}

test('base rates are measured within the horizon, by recency, in the first round', async (t) => {
	const { upkeep, ratesOf, reports } = await place(t);
	assert.equal(await ratesOf('return'), undefined);
	await upkeep.round();
	const rates = (await ratesOf('return')) as readonly number[];
	assert.equal(rates.length, 3);
	assert.ok(
		rates.every((rate) => rate > 0 && rate < 1),
		String(rates),
	);
	assert.ok((rates[0] as number) > (rates[2] as number), 'who was here lately comes back more often');
	assert.deepEqual(reports, []);
});

test('an account whose rates have not changed is measured less and less often', async (t) => {
	const { store, accountId, clock, upkeep, ratesOf } = await place(t);
	// Each measurement begins with the base rates that are served.
	let measured = 0;
	const baseRates = store.control.baseRates.bind(store.control);
	store.control.baseRates = (...args) => {
		measured++;
		return baseRates(...args);
	};
	await upkeep.round();
	for (const pauseMinutes of [1, 2, 4, 8]) {
		measured = 0;
		clock.nowMs += pauseMinutes * minuteMs - 1;
		await upkeep.round();
		assert.equal(measured, 0, `${pauseMinutes} minutes are not over`);
		clock.nowMs += 1;
		await upkeep.round();
		assert.equal(measured, 1, `${pauseMinutes} minutes are over`);
	}
	// Whatever changes is soon measured again.
	await store.control.createGoal(accountId, { ...comesBack, name: 'again' });
	clock.nowMs += 16 * minuteMs;
	await upkeep.round();
	assert.ok(await ratesOf('again'));
	measured = 0;
	clock.nowMs += minuteMs;
	await upkeep.round();
	assert.equal(measured, 1);
});

test('a failing account is reported and retried after 10 minutes, and others are not delayed', async (t) => {
	const { store, accountId, clock, upkeep, reports, ratesOf } = await place(t);
	const other = await addAccount(store, 'c-a-globex-uk', 'globex');
	await storeVisitors(store, other, madeUpVisitors(1));
	const read = store.read.bind(store);
	let failing = true;
	store.read = ((id, work) =>
		failing && id === accountId
			? Promise.reject(new Error('the disk is on fire'))
			: read(id, work)) as typeof read;
	await upkeep.round();
	assert.deepEqual(reports, [['training failed', { aid: 'c-a-acme-uk', reason: 'the disk is on fire' }]]);
	assert.equal(await ratesOf('return'), undefined);
	assert.ok((await store.control.baseRates(other)).get('return'));
	failing = false;
	clock.nowMs += 10 * minuteMs - 1;
	await upkeep.round();
	assert.equal(await ratesOf('return'), undefined);
	clock.nowMs += 1;
	await upkeep.round();
	assert.ok(await ratesOf('return'));
});

test('an account is measured once it has a visitor; until then nothing of it is changed, which would tell every server', async (t) => {
	const { store, clock, upkeep } = await place(t);
	await upkeep.round();
	const empty = await addAccount(store, 'c-a-globex-uk', 'globex');
	const revision = await store.control.revision();
	for (const pauseMinutes of [0, 1, 2]) {
		clock.nowMs += pauseMinutes * minuteMs;
		await upkeep.round();
	}
	assert.equal((await store.control.baseRates(empty)).size, 0);
	assert.equal(await store.control.revision(), revision);
	await storeVisitors(store, empty, madeUpVisitors(1));
	clock.nowMs += 4 * minuteMs;
	await upkeep.round();
	assert.notEqual((await store.control.baseRates(empty)).size, 0);
});

test('a first look at an account with events of nobody takes few transactions, and sets no rates', async (t) => {
	const { store, upkeep } = await place(t);
	await upkeep.round();
	const uploading = await addAccount(store, 'c-a-globex-uk', 'globex');
	const writer = new HistoryWriter(store, uploading, { initial: 500, max: 500 });
	await writer.add([], [{ ...subscriptionEvent(), receivedAtMs: startMs }]);
	const read = store.read.bind(store);
	let reads = 0;
	store.read = ((id, reading) => {
		if (id === uploading) reads++;
		return read(id, reading);
	}) as typeof read;
	await upkeep.round();
	assert.ok(reads > 0 && reads <= 5, `${reads} transactions`);
	assert.equal((await store.control.baseRates(uploading)).size, 0);
});

test('disabled accounts are left alone, and nothing begins after the signal', async (t) => {
	const { store, upkeep, ratesOf, stopping } = await place(t);
	await store.control.setAccountDisabled('c-a-acme-uk', true);
	await upkeep.round();
	assert.equal(await ratesOf('return'), undefined);
	await store.control.setAccountDisabled('c-a-acme-uk', false);
	stopping.abort();
	await upkeep.round();
	assert.equal(await ratesOf('return'), undefined);
});

test('the scores of an active model are compared with the outcomes, week by week, and that is reported', async (t) => {
	const { store, accountId, clock, upkeep, reports } = await place(t);
	const { model, report } = trainedOnVisitors('logistic');
	const asOf = new Date(logEndMs - 30 * dayMs).toISOString();
	clock.nowMs = logEndMs - 8 * dayMs;
	const texts = { body: JSON.stringify(model), report: JSON.stringify({ ...report, asOf }) };
	const name = await store.control.insertModel(accountId, { goal: 'return', scope: 'vid', ...texts });
	await store.control.activateModel(accountId, name);
	await upkeep.round();
	const [[text, fields] = assert.fail()] = reports;
	const { predicted, observed, isOutside, ...rest } = fields as Record<string, unknown>;
	assert.equal(text, isOutside ? 'observed rate is outside the predicted interval' : 'scores compared');
	assert.deepEqual(rest, {
		aid: 'c-a-acme-uk',
		goal: 'return',
		scope: 'vid',
		version: name.version,
	});
	assert.ok(predicted !== null && observed !== null);
	const levels = await store.control.modelLevels(accountId, name);
	assert.ok((levels?.weeks.length ?? 0) >= 3);

	clock.nowMs += 2 * minuteMs;
	await upkeep.round();
	assert.equal(reports.length, 1, 'no outcome has become known since');
	clock.nowMs += 7 * dayMs - minuteMs;
	await upkeep.round();
	assert.equal(reports.length, 2);
	clock.nowMs += 10 * dayMs;
	await upkeep.round();
	assert.equal(reports.length, 2, 'since the log ended, nothing is known');
});

for (const engine of enginesAboveContract)
	test(`how often subscriptions are paid is learned, whosever they are, on ${engine.name}`, async (t) => {
		const store = await openFor(t, await engine.freshAddress(t));
		const aid = 'c-a-acme-uk';
		const accountId = await addAccount(store, aid);
		const other = await addAccount(store, 'c-a-globex-uk', 'globex');
		const clock = { nowMs: startMs };
		const { log, lines } = collectWork();
		const upkeep = new ScoreUpkeep(store, {
			now: () => clock.nowMs,
			log,
			signal: new AbortController().signal,
		});
		await upkeep.round();
		assert.equal(await store.control.cadences(accountId), null, 'nothing is known yet');
		const markOf = async () => (await store.marks([accountId])).get(accountId);
		const before = await markOf();
		const pay = (subid: string, days: number, times: number, rvn: number) =>
			Array.from({ length: times }, (_, index) => ({
				...subscriptionEvent({ tid: `${subid}-${index}`, subid, evt: 'plan', rvn }),
				receivedAtMs: startMs + index * days * dayMs,
			}));
		await new HistoryWriter(store, accountId, { initial: 500, max: 500 }).add(
			[],
			[
				...Array.from({ length: 12 }, (_, index) => pay(`m${index}`, 30, 13, 999)).flat(),
				...Array.from({ length: 4 }, (_, index) => pay(`a${index}`, 365, 2, 9900)).flat(),
			],
		);
		await eventually('the account has news', async () => (await markOf()) !== before);
		clock.nowMs = startMs + 400 * dayMs;
		await upkeep.round();
		const table = await store.control.cadences(accountId);
		assert.deepEqual(
			table?.prices.map(([evt, pence, days]) => [evt, pence, days.map(Math.round)]),
			[
				['plan', 999, [30]],
				['plan', 9900, [365]],
			],
		);
		assert.equal(await store.control.cadences(other), null);
		const known = (await store.control.accessSnapshot()).accounts.get(aid)?.cadences;
		const paidOnce = { evt: 'plan', payments: [{ atMs: clock.nowMs, pricePence: 9900, refundedAtMs: null }] };
		assert.equal(Math.round(known?.of(paidOnce, clock.nowMs)[0]?.days ?? 0), 365);
		const { revision } = await store.control.accessSnapshot();
		clock.nowMs += dayMs;
		await upkeep.round();
		assert.equal((await store.control.accessSnapshot()).revision, revision, 'nothing has changed');
		assert.deepEqual(lines, []);
	});
