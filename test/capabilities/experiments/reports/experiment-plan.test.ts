import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planExperiment } from '../../../../src/capabilities/experiments/reports/experiment-plan.ts';
import { type HistoryEvent, storeHistory } from '../../../../src/capabilities/history/store/past-history.ts';
import type { HistoryHit } from '../../../../src/core/domain/stored-hit.ts';
import { dayMs, hourMs } from '../../../../src/core/durations.ts';
import { foldAll } from '../../../../src/core/store/fold-all.ts';
import { reportedAccount } from '../../../../src/kit/reports/report-query.ts';
import { assertRefuses, enginesAboveContract, openAccountOn } from '../../../core/store/engines.ts';
import { body } from '../../../core/store/made-hits.ts';

const nowMs = Date.UTC(2026, 10, 2);
const weekMs = 7 * dayMs;

for (const engine of enginesAboveContract)
	test(`a plan follows how many entered and converted in the last weeks, on ${engine.name}`, async () => {
		const { store, accountId, aid } = await openAccountOn(engine);
		const account = reportedAccount(await store.control.account(aid));
		const goal = (await store.control.goals(accountId)).find(({ name }) => name === 'subscription');
		assert.ok(goal);
		const plan = (rule = 'visitor.hits >= 1') => planExperiment(store, account, { rule, goal }, nowMs);
		await assertRefuses(plan(), /less than a week of hits/);
		const hits: HistoryHit[] = [];
		const events: HistoryEvent[] = [];
		// Forty came before and come again in the first week; twenty new ones come each week, and one of four of all buys.
		for (let number = 0; number < 40 + 12 * 20; number++) {
			const vid = number.toString(16).padStart(32, '0');
			const isOld = number < 40;
			const atMs =
				nowMs - 12 * weekMs + (isOld ? dayMs : Math.floor((number - 40) / 20) * weekMs + 2 * dayMs);
			if (isOld) hits.push({ vid, sid: null, atMs: atMs - 30 * dayMs, body: body({}) });
			const tid = `T-${number}`;
			const buys = number % 4 === 0;
			hits.push({ vid, sid: null, atMs, body: body({}) });
			if (!buys) continue;
			const shown = body({ events: [{ name: 'order', tid }] });
			hits.push({ vid, sid: null, atMs: atMs + hourMs, body: shown });
			events.push({
				tid,
				subid: tid,
				cid: null,
				evt: 'membership',
				rvn: 100,
				receivedAtMs: atMs + 2 * hourMs,
			});
		}
		for (let from = 0; from < hits.length; from += 300)
			await store.transact(accountId, () => storeHistory(hits.slice(from, from + 300), []));
		await store.transact(accountId, () => storeHistory([], events));
		await foldAll(store, accountId);
		const { plans, ...history } = await plan();
		assert.deepEqual(history, {
			goal: 'subscription',
			weeksOfHistory: 12,
			enteredInFirstWeek: 60,
			entersAWeek: 20,
			conversionRate: 0.25,
			varianceReduction: 0,
		});
		assert.equal(plans.length, 12);
		const of = (held: number, lift: number) => {
			const found = plans.find((one) => one.holdoutPercent === held && one.relativeLiftPercent === lift);
			assert.ok(found);
			return found;
		};
		const half = of(50, 20);
		// The true variance of a visitor is (0.3 · 0.7 + 0.25 · 0.75) ÷ 0.5 = 0.795. The report tells (0.21 + 0.19875) ÷ 0.5 = 0.8175, because
		// the smaller one counts as that of both: ((1.96 · √0.8175 + 0.8416 · √0.795) ÷ 0.05)².
		assert.ok(Math.abs(half.visitors - 2545) <= 1, String(half.visitors));
		// 280 in twelve weeks, then twenty a week, then a week until the last one's horizon is over.
		assert.equal(half.weeks, Math.ceil(12 + (half.visitors - 280) / 20 + 1));
		for (const { visitors, visitorsAtEveryLook, weeks, weeksAtEveryLook } of plans) {
			assert.ok(visitors < visitorsAtEveryLook);
			assert.ok(weeks === null || weeksAtEveryLook === null || weeks <= weeksAtEveryLook);
		}
		assert.ok(of(5, 20).visitors > of(10, 20).visitors && of(10, 20).visitors > half.visitors);
		assert.equal(of(5, 5).weeks, null, 'longer than ten years');
		await assertRefuses(
			plan('visitor.hits >= 99'),
			/0 visitors entered .* none of them reached subscription/,
		);
	});
