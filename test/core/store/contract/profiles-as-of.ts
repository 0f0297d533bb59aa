import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { storeHistory } from '../../../../src/capabilities/history/store/past-history.ts';
import {
	batchScores,
	type VisitorRef,
	type VisitorScores,
} from '../../../../src/capabilities/training/serve/batch-scores.ts';
import { defaultGoals } from '../../../../src/core/domain/goal.ts';
import { noGateways } from '../../../../src/core/domain/mail-gateways.ts';
import { noCadences } from '../../../../src/core/domain/subscription-cadence.ts';
import { hourMs } from '../../../../src/core/durations.ts';
import { type GoalModel, openModel } from '../../../../src/core/scoring/serve/goal-model.ts';
import { storeHits } from '../../../../src/core/store/account/arriving/hits.ts';
import { profilesOf, visitorsFrom } from '../../../../src/core/store/account/reading/visitors.ts';
import type { Steps } from '../../../../src/core/store/steps.ts';
import type { OpenStore } from '../../../../src/core/store/store.ts';
import { profilesAsOf } from '../../../../src/kit/reading/histories.ts';
import { trainedOnVisitors } from '../../../capabilities/training/made-up-profiles.ts';
import { examples } from '../../../quick.ts';
import { addAccount, type Engine, openAccountOn, receivedAtMs, subscriptionEvent } from '../engines.ts';
import { hit } from '../made-hits.ts';

const startMs = receivedAtMs;

/** Something that happens at the hour given by its position in the list. */
type Happening =
	| {
			readonly type: 'hit';
			readonly visitor: number;
			readonly tid?: string;
			readonly cid?: string;
			readonly unproven?: 'tid' | 'cid';
	  }
	| { readonly type: 'event'; readonly tid: string; readonly cid: string | null };

const tid = fc.constantFrom('a', 'b', 'c');
const cid = fc.constantFrom('x', 'y');
const anyHappenings: fc.Arbitrary<Happening[]> = fc.array(
	fc.oneof(
		{
			weight: 2,
			arbitrary: fc.record(
				{
					type: fc.constant('hit' as const),
					visitor: fc.nat(2),
					tid,
					cid,
					unproven: fc.constantFrom('tid' as const, 'cid' as const),
				},
				{ requiredKeys: ['type', 'visitor'] },
			),
		},
		{
			weight: 1,
			arbitrary: fc.record({ type: fc.constant('event' as const), tid, cid: fc.option(cid) }),
		},
	),
	{ minLength: 1, maxLength: 14 },
);

const vidOf = (visitor: number) => `${visitor + 1}`.padStart(32, '0');
const vids = [0, 1, 2].map(vidOf);

function* happenings(list: readonly Happening[]): Steps<void> {
	for (const [hour, each] of list.entries()) {
		const atMs = startMs + hour * hourMs;
		if (each.type === 'event') {
			const event = subscriptionEvent({ tid: each.tid, subid: each.tid, cid: each.cid });
			yield* storeHistory([], [{ ...event, receivedAtMs: atMs }]);
		} else {
			const vid = vidOf(each.visitor);
			const [isTidUnproven, isCidUnproven] = [each.unproven === 'tid', each.unproven === 'cid'];
			const events =
				each.tid === undefined
					? []
					: [{ name: 'checkout', tid: each.tid, ...(isTidUnproven && { isTidUnproven }) }];
			const sid = `${hour}`.padStart(32, 'f');
			yield* storeHits([
				hit(
					{ vid, freshVid: vid, freshSid: sid, atMs },
					{ events, cid: each.cid ?? null, ...(isCidUnproven && { isCidUnproven }) },
				),
			]);
		}
	}
}

function happen(store: OpenStore, accountId: number, list: readonly Happening[]): Promise<void> {
	return store.transact(accountId, () => happenings(list));
}

/** The contract of every engine for reads of the past. */
export function asOfContract(engine: Engine): void {
	suite(`visitors as of a time on ${engine.name}`, () => {
		const start = async () => (await openAccountOn(engine)).store;

		test('a profile as of a time equals the one stored then, whatever has arrived since', async () => {
			const store = await start();
			await fc.assert(
				fc.asyncProperty(anyHappenings, fc.nat(14), async (list, hours) => {
					const [whole, then] = [await addAccount(store), await addAccount(store)];
					await happen(store, whole, list);
					await happen(store, then, list.slice(0, hours + 1));
					const asOf = await store.read(whole, profilesAsOf(vids, startMs + hours * hourMs));
					const stored = await store.read(then, profilesOf(vids));
					assert.deepEqual(new Map([...asOf].sort()), new Map([...stored].sort()));
				}),
				{ numRuns: examples(engine.isFolder ? 40 : 10) },
			);
		});

		test("a later link to a tid does not remove what the cid's holder had then", async () => {
			const store = await start();
			const accountId = await addAccount(store);
			await happen(store, accountId, [
				{ type: 'hit', visitor: 0, cid: 'x' },
				{ type: 'event', tid: 'a', cid: 'x' },
				{ type: 'hit', visitor: 1, tid: 'a' },
			]);
			const counts = async (hours: number) => {
				const profiles = await store.read(accountId, profilesAsOf(vids, startMs + hours * hourMs));
				return vids.map((vid) => profiles.get(vid)?.subscriptions?.count ?? 0);
			};
			assert.deepEqual(
				[await counts(0), await counts(1), await counts(2)],
				[
					[0, 0, 0],
					[1, 0, 0],
					[0, 1, 0],
				],
			);
		});

		test('all or listed visitors are scored, as of now or as of a time', async () => {
			const store = await start();
			const accountId = await addAccount(store);
			await happen(store, accountId, [
				{ type: 'hit', visitor: 0, cid: 'x' },
				{ type: 'hit', visitor: 1 },
				{ type: 'event', tid: 'a', cid: 'x' },
				{ type: 'hit', visitor: 2 },
			]);
			const model = openModel('1', JSON.stringify(trainedOnVisitors('logistic').model));
			const scores = async (
				hours: number,
				fromLog: boolean,
				models: (GoalModel | undefined)[],
				wanted?: VisitorRef[],
			) => {
				const options = {
					goals: defaultGoals.map((goal, index) => ({ goal, model: models[index], baseRate: undefined })),
					scope: 'vid' as const,
					eachAtItsLastHit: false,
					explain: null,
					cadences: noCadences,
					gateways: noGateways,
					nowMs: startMs + hours * hourMs,
					fromLog,
				};
				const listed = wanted && {
					wanted: (async function* () {
						yield wanted;
					})(),
				};
				const pages = batchScores(store, accountId, {
					...options,
					...listed,
					onProgress: () => {},
				});
				return (await Array.fromAsync(pages)).flat();
			};
			const shown = (list: readonly VisitorScores[]) => list.map(({ vid, visitor }) => visitor ?? vid);
			const now = await scores(3, false, [model, undefined]);
			assert.deepEqual(shown(now), vids);
			assert.deepEqual(await scores(3, true, [model, undefined]), now);
			assert.deepEqual(
				now.map((each) => each.scores.map((score) => score.model)),
				[
					// Of the visitor who has subscribed, the renewal is scored as well.
					['1', 'prior', 'prior'],
					['1', 'prior'],
					['1', 'prior'],
				],
			);
			assert.deepEqual(
				now.map((each) => each.scores[0]?.percentile).toSorted((a = 0, b = 0) => a - b),
				[0, 75, 100],
				'the visitor who is present shares the highest of the ranks at the last hit',
			);
			const then = await scores(1, true, [model, undefined]);
			assert.deepEqual(shown(then), vids.slice(0, 2));
			// Nobody was known a horizon ago, so only the general base rate is known.
			assert.deepEqual(
				(await scores(3, true, [undefined, undefined])).map((each) => each.scores[0]?.score),
				[0.02, 0.02, 0.02],
			);
			assert.deepEqual(
				(await scores(1, true, [undefined, undefined])).map((each) => each.scores[0]?.score),
				[0.02, 0.02],
			);
			const wanted = [{ vid: vidOf(2), visitor: 'c' }, { vid: vidOf(7) }, { vid: vidOf(0), visitor: 'a' }];
			const some = await scores(3, false, [model, undefined], wanted);
			assert.deepEqual(shown(some), ['c', 'a']);
			assert.deepEqual(some[1]?.scores, now[0]?.scores);
			assert.deepEqual(shown(await scores(1, true, [model, undefined], wanted)), ['a']);
			const every = await store.read(accountId, visitorsFrom(0, 10, 2));
			assert.ok(every.length > 0 && every.length < 3 && every.every(({ id }) => id % 2 === 0));
		});
	});
}
