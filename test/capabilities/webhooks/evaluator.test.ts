import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { drawOf } from '../../../src/capabilities/experiments/domain/draw.ts';
import { prune } from '../../../src/capabilities/upkeep/store/pruning.ts';
import { eraseVisitor } from '../../../src/capabilities/visitors/store/erasure.ts';
import { dayMs, hourMs, minuteMs } from '../../../src/core/durations.ts';
import { enginesAboveContract, subscriptionEvent, upload } from '../../core/store/engines.ts';
import { changeRows } from '../../core/store/rows.ts';
import { trainedOnVisitors } from '../training/made-up-profiles.ts';
import { aid, Site, secondMs } from './evaluated.ts';

for (const engine of enginesAboveContract)
	suite(`what webhooks are told on ${engine.name}`, () => {
		test('a new visitor enters segments, and later moves to others', async (t) => {
			const site = await Site.open(t, engine);
			await site.webhook();
			const evaluator = await site.evaluator();
			await evaluator.settle();
			assert.deepEqual(await site.news(), ['segments.recomputed started']);
			site.passes(secondMs);
			const visitor = await site.hit();
			await evaluator.settle();
			assert.deepEqual(await site.news(), ['segment.entered new']);
			site.passes(2 * hourMs);
			await site.hit(visitor);
			await evaluator.settle();
			assert.deepEqual(await site.news(), [
				'segment.left new',
				'segment.entered returning',
				'goal.reached return 1',
			]);
			await evaluator.settle();
			assert.deepEqual(await site.news(), [], 'nothing is told twice');
			const messages = await site.messages();
			const last = messages.findLast(({ type }) => type === 'segment.entered');
			assert.deepEqual(last, {
				type: 'segment.entered',
				timestamp: new Date(site.nowMs).toISOString(),
				data: {
					aid,
					vid: visitor.vid,
					sequence: last?.data.sequence,
					segment: 'returning',
					name: 'Returning visitors',
					since: new Date(site.nowMs).toISOString(),
				},
			});
			const sequences = messages.map(({ data }) => data.sequence);
			assert.deepEqual(
				sequences,
				[...new Set(sequences)].toSorted((a, b) => a - b),
			);
			const [member] = await site.rows('membership');
			assert.deepEqual(
				{ ...member },
				{ vid: visitor.vid, segment: 'returning', since: site.nowMs, sequence: last?.data.sequence },
			);
		});

		test('an experiment hides its segment for held-out visitors, from its begin to its end', async (t) => {
			const site = await Site.open(t, engine);
			await site.webhook(['segment.entered', 'segment.left']);
			const evaluator = await site.evaluator();
			await evaluator.settle();
			const { control } = site.store;
			const experiment = await control.createExperiment(site.accountId, {
				name: 'offer',
				segment: 'new',
				rule: 'visitor.visits <= 1',
				goal: 'subscription',
				holdoutPercent: 50,
				fromMs: site.nowMs,
				toMs: null,
			});
			await evaluator.settle();
			assert.deepEqual(await site.news(), ['segments.recomputed started', 'segments.recomputed changed']);
			const told = [];
			for (let visitor = 0; visitor < 10; visitor++) {
				site.passes(secondMs);
				const { vid } = await site.hit();
				if (drawOf(experiment, vid).group === 'treated') told.push('segment.entered new');
			}
			await evaluator.settle();
			assert.ok(told.length > 0 && told.length < 10);
			assert.deepEqual(await site.news(), told);
			await control.stopExperiment(site.accountId, 'offer');
			await evaluator.settle();
			assert.equal((await site.rows('membership')).length, 10);
		});

		test('an upload that belongs to a visitor reaches a goal, once for each event', async (t) => {
			const site = await Site.open(t, engine);
			await site.webhook(['goal.reached']);
			const evaluator = await site.evaluator();
			await evaluator.settle();
			site.passes(secondMs);
			const visitor = await site.hit({}, { cid: 'customer-1' });
			await evaluator.settle();
			const some = [subscriptionEvent({ cid: 'customer-1' }), subscriptionEvent({ cid: 'customer-1' })];
			await upload(site.writer, site.accountId, some, { atMs: site.nowMs + 1 });
			site.passes(secondMs);
			await evaluator.settle();
			assert.deepEqual(await site.news(), ['goal.reached subscription 1', 'goal.reached subscription 2']);
			site.passes(secondMs);
			await upload(site.writer, site.accountId, some, { atMs: site.nowMs });
			await evaluator.settle();
			assert.deepEqual(await site.news(), []);
			const [first] = await site.messages();
			assert.equal(first?.data.vid, visitor.vid);
			assert.ok(!('cid' in (first?.data ?? {})));
		});

		test('messages contain cid only if the webhook wants it', async (t) => {
			const site = await Site.open(t, engine);
			const withCid = await site.webhook(['segment.entered'], { withCid: true });
			const without = await site.webhook(['segment.entered']);
			const evaluator = await site.evaluator();
			await evaluator.settle();
			site.passes(secondMs);
			await site.hit({}, { cid: 'customer-1' });
			await evaluator.settle();
			const bodies = new Map(
				(await site.rows('outbox'))
					.filter(({ type }) => type === 'segment.entered')
					.map(({ webhook, body }) => [webhook, String(body)]),
			);
			assert.match(bodies.get(withCid) ?? '', /"cid":"customer-1"/);
			assert.doesNotMatch(bodies.get(without) ?? '', /customer-1|cid/);
		});

		test('changes caused by time alone are sent by a sweep within 15 minutes', async (t) => {
			const site = await Site.open(t, engine);
			const rule = 'visitor.daysSinceLast >= 1';
			await site.store.control.createSegment(site.accountId, { id: 'away', name: 'Away', rule });
			await site.webhook(['segment.entered']);
			const evaluator = await site.evaluator();
			await evaluator.settle();
			site.passes(secondMs);
			for (let visitor = 0; visitor < 150; visitor++) await site.hit();
			await evaluator.settle();
			await site.news();
			site.passes(dayMs - 10 * minuteMs);
			await evaluator.settle();
			assert.deepEqual(await site.news(), []);
			for (let quarter = 0; quarter < 15; quarter += 5) {
				site.passes(5 * minuteMs + secondMs);
				await evaluator.settle();
			}
			const news = await site.news();
			assert.equal(news.length, 150);
			assert.deepEqual([...new Set(news)], ['segment.entered away']);
		});

		test('a changed rule gives one summary, and memberships are updated', async (t) => {
			const site = await Site.open(t, engine);
			await site.webhook(['segment.left']);
			const evaluator = await site.evaluator();
			await evaluator.settle();
			site.passes(secondMs);
			for (let visitor = 0; visitor < 120; visitor++) await site.hit();
			await evaluator.settle();
			site.passes(minuteMs);
			await site.news();
			await site.store.control.deleteSegment(site.accountId, 'new');
			const keen = { id: 'keen', name: 'Keen', rule: 'visitor.hits >= 1' };
			await site.store.control.createSegment(site.accountId, keen);
			await evaluator.settle();
			assert.deepEqual(await site.news(), ['segments.recomputed changed']);
			assert.deepEqual((await site.messages()).at(-1)?.data.segments, [
				{ segment: 'keen', members: 120, entered: 120, left: 0 },
				{ segment: 'new', members: 0, entered: 0, left: 120 },
			]);
			const segments = (await site.rows('membership')).map(({ segment }) => segment);
			assert.deepEqual([segments.length, ...new Set(segments)], [120, 'keen']);
		});

		test('a model that is activated is one summary; then bands change, and segments with them', async (t) => {
			const site = await Site.open(t, engine);
			const { control } = site.store;
			await site.webhook(['score.band.changed', 'segment.entered']);
			const evaluator = await site.evaluator();
			for (let visitor = 0; visitor < 30; visitor++) await site.hit();
			site.passes(secondMs);
			await evaluator.settle();
			assert.deepEqual(
				await site.news(),
				['segments.recomputed started'],
				'without a model nobody has a band',
			);
			const { model, report } = trainedOnVisitors('logistic');
			const texts = { body: JSON.stringify(model), report: JSON.stringify(report) };
			const named = { goal: 'subscription', scope: 'vid', ...texts } as const;
			await control.insertModel(site.accountId, named, 'activate it');
			site.passes(secondMs);
			await evaluator.settle();
			assert.deepEqual(await site.news(), ['segments.recomputed changed']);
			assert.deepEqual((await site.messages()).at(-1)?.data.bands, [{ goal: 'subscription', changed: 30 }]);
			site.passes(minuteMs);
			const visitor = await site.hit();
			for (let hits = 0; hits < 40; hits++) {
				site.passes(secondMs);
				await site.hit(visitor, { page: 'pricing', events: [{ name: 'checkout' }] });
			}
			await evaluator.settle();
			const bands = (await site.messages()).filter(
				({ type, data }) => type === 'score.band.changed' && data.vid === visitor.vid,
			);
			assert.deepEqual(
				bands.map(({ data: { goal, previousBand } }) => ({ goal, previousBand })),
				[{ goal: 'subscription', previousBand: null }],
			);
		});

		test('a visitor whose hits are too old to be kept leaves its segments', async (t) => {
			const site = await Site.open(t, engine);
			await site.webhook(['segment.left']);
			const evaluator = await site.evaluator();
			await evaluator.settle();
			site.passes(secondMs);
			const visitor = await site.hit();
			await evaluator.settle();
			site.passes(20 * minuteMs);
			await site.store.transact(site.accountId, () => prune(site.nowMs));
			await evaluator.settle();
			const last = (await site.messages()).at(-1);
			assert.deepEqual([last?.type, last?.data.vid], ['segment.left', visitor.vid]);
			for (const table of ['membership', 'standing'] as const) assert.deepEqual(await site.rows(table), []);
		});

		test('messages are deleted after four days', async (t) => {
			const site = await Site.open(t, engine);
			await site.webhook(['segment.entered']);
			const evaluator = await site.evaluator();
			await evaluator.settle();
			for (let day = 0; day <= 5; day++) {
				site.passes(dayMs - minuteMs);
				await site.hit();
				await evaluator.settle();
			}
			const oldestMs = Math.min(...(await site.rows('outbox')).map(({ created_at }) => Number(created_at)));
			assert.ok(oldestMs >= site.nowMs - 4 * dayMs);
			assert.ok((await site.rows('outbox')).length >= 3);
		});

		test('a clock that steps back delays nothing', async (t) => {
			const site = await Site.open(t, engine);
			await site.webhook(['segment.entered']);
			const evaluator = await site.evaluator();
			await evaluator.settle();
			site.passes(-hourMs);
			await evaluator.settle();
			await site.news();
			const visitors = [];
			for (let minute = 0; minute < 3; minute++) {
				site.passes(minuteMs);
				visitors.push((await site.hit()).vid);
				await evaluator.settle();
			}
			// Visitors who seem to be from before the first webhook are counted.
			assert.deepEqual(new Set((await site.rows('standing')).map(({ vid }) => vid)), new Set(visitors));
		});

		test('an older database that is restored gives no sequence out again', async (t) => {
			const site = await Site.open(t, engine);
			await site.webhook(['segment.entered']);
			const evaluator = await site.evaluator();
			await evaluator.settle();
			site.passes(secondMs);
			await site.hit();
			await evaluator.settle();
			const last = (await site.messages()).at(-1)?.data.sequence ?? 0;
			await changeRows(site.store, site.accountId, 'evaluation', { sequence: 0 });
			site.passes(secondMs);
			await site.hit();
			await evaluator.settle();
			assert.ok(((await site.messages()).at(-1)?.data.sequence ?? 0) > last);
		});

		test('visitors from before the first webhook are counted, not sent', async (t) => {
			const site = await Site.open(t, engine);
			const known = await site.hit();
			site.passes(dayMs);
			await site.webhook();
			const evaluator = await site.evaluator();
			await evaluator.settle();
			assert.deepEqual(await site.news(), ['segments.recomputed started']);
			assert.deepEqual((await site.messages())[0]?.data.segments, [
				{ segment: 'new', members: 1, entered: 1, left: 0 },
			]);
			site.passes(minuteMs);
			await site.hit(known);
			await evaluator.settle();
			assert.deepEqual(await site.news(), [
				'segment.left new',
				'segment.entered returning',
				'goal.reached return 1',
			]);
		});

		test('conflicting uploads are sent, simulated ones are not', async (t) => {
			const site = await Site.open(t, engine);
			await site.webhook(['subscription.conflict']);
			const evaluator = await site.evaluator();
			await evaluator.settle();
			const event = subscriptionEvent();
			await upload(site.writer, site.accountId, [event]);
			const again = { events: [{ ...event, rvn: 1 }], receivedAtMs: site.nowMs, requestId: 'r-1' };
			const { Deadline } = await import('../../../src/core/deadline.ts');
			for (const simulate of [true, false]) {
				const deadline = new Deadline(60_000, () => {});
				const sent = { ...again, simulate, keepsConflicts: true };
				await site.writer.storeSubscriptionEvents(site.accountId, sent, deadline);
				deadline.clear();
			}
			await evaluator.settle();
			const messages = await site.messages();
			assert.equal(messages.length, 1);
			const { sequence: _, ...data } = messages[0]?.data ?? {};
			const receivedAt = new Date(site.nowMs).toISOString();
			assert.deepEqual(data, { aid, requestId: 'r-1', tids: [event.tid], receivedAt });
			assert.deepEqual(await site.rows('conflict'), []);
		});

		test('erasing a visitor deletes its memberships and waiting messages', async (t) => {
			const site = await Site.open(t, engine);
			await site.webhook();
			const evaluator = await site.evaluator();
			await evaluator.settle();
			site.passes(secondMs);
			const [one, other] = [await site.hit(), await site.hit()];
			await evaluator.settle();
			await eraseVisitor(site.store, site.accountId, one.vid);
			await evaluator.settle();
			for (const table of ['membership', 'standing', 'outbox'] as const) {
				const vids = (await site.rows(table)).map(({ vid }) => vid).filter((vid) => vid !== null);
				assert.deepEqual(vids, [other.vid], table);
			}
		});

		test('only one process evaluates an account at a time; when it dies another continues', async (t) => {
			const site = await Site.open(t, engine);
			if (!site.store.takesManyServers) return t.skip('one process serves');
			await site.webhook();
			const [one, other] = [await site.evaluator(), await site.evaluator('other')];
			await one.settle();
			await other.settle();
			site.passes(secondMs);
			await Promise.all(Array.from({ length: 30 }, () => site.hit()));
			const rounds = Array.from({ length: 6 }, (_, index) =>
				(index % 2 ? one : other).round().catch(() => {}),
			);
			await Promise.all(rounds);
			await one.settle();
			await other.settle();
			const entered = (await site.messages()).filter(({ type }) => type === 'segment.entered');
			assert.equal(entered.length, 30);
			assert.equal(new Set(entered.map(({ data }) => data.vid)).size, 30);
		});
	});
