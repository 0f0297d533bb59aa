import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { storeHistory } from '../../../../src/capabilities/history/store/past-history.ts';
import { minuteMs } from '../../../../src/core/durations.ts';
import { storeHits } from '../../../../src/core/store/account/arriving/hits.ts';
import { vidsAfter } from '../../../../src/core/store/account/reading/visitors.ts';
import type { OpenStore } from '../../../../src/core/store/store.ts';
import type { VisitorHistory } from '../../../../src/kit/reading/histories.ts';
import {
	firstHits,
	historyExtent,
	hitsBefore,
	visitorHistories,
} from '../../../../src/kit/reading/histories.ts';
import { examples } from '../../../quick.ts';
import {
	addAccount,
	type Engine,
	openAccountOn,
	receivedAtMs as startMs,
	subscriptionEvent,
} from '../engines.ts';
import { hit } from '../made-hits.ts';

const vidOf = (digit: number) => digit.toString(16).repeat(32);
const ever = Number.MAX_SAFE_INTEGER;

interface HitStep {
	readonly type: 'hit';
	readonly visitor: number;
	readonly minute: number;
	readonly tid: string | null;
	readonly cid: string | null;
}
interface UploadStep {
	readonly type: 'upload';
	readonly minute: number;
	readonly tid: string;
	readonly cid: string | null;
	/** Default: a subscription of its own. */
	readonly subid?: string;
}
type Step = HitStep | UploadStep;

const minute = fc.nat({ max: 60 });
const tid = fc.constantFrom('T1', 'T2', 'T3');
const cid = fc.constantFrom('C1', 'C2');
const anyStep: fc.Arbitrary<Step> = fc.oneof(
	fc.record({
		type: fc.constant('hit' as const),
		visitor: fc.integer({ min: 1, max: 3 }),
		minute,
		tid: fc.option(tid),
		cid: fc.option(cid),
	}),
	fc.record({
		type: fc.constant('upload' as const),
		minute,
		tid,
		cid: fc.option(cid),
		subid: fc.constantFrom('S1', 'S2'),
	}),
);
/** Each `tid` is uploaded once, and steps are in order of time. */
const anySteps = fc
	.uniqueArray(anyStep, {
		maxLength: 14,
		selector: (step) => (step.type === 'upload' ? step.tid : JSON.stringify(step)),
	})
	.map((steps) => [...steps].sort((a, b) => a.minute - b.minute));

async function store(place: OpenStore, accountId: number, steps: readonly Step[]): Promise<void> {
	for (const step of steps) {
		const atMs = startMs + step.minute * minuteMs;
		if (step.type === 'upload') {
			const event = subscriptionEvent({ tid: step.tid, cid: step.cid, subid: step.subid ?? step.tid });
			await place.transact(accountId, () => storeHistory([], [{ ...event, receivedAtMs: atMs }]));
		} else {
			const vid = vidOf(step.visitor);
			const events = step.tid === null ? [] : [{ name: 'begin', tid: step.tid }];
			await place.transact(accountId, () =>
				storeHits([hit({ vid, freshVid: vid, atMs }, { events, cid: step.cid })]),
			);
		}
	}
}

async function historiesAt(place: OpenStore, accountId: number, asOfMs: number): Promise<VisitorHistory[]> {
	const vids = await place.read(accountId, vidsAfter('', 100));
	return place.read(accountId, visitorHistories(vids, asOfMs));
}

/** The contract of every engine for histories of visitors. */
export function historiesContract(engine: Engine): void {
	suite(`histories as of a moment on ${engine.name}`, () => {
		const start = async () => {
			const { store: place, accountId } = await openAccountOn(engine);
			return { place, accountId };
		};

		test('hits are in order, and uploads have the time since which they were known', async () => {
			const { place, accountId } = await start();
			await store(place, accountId, [
				{ type: 'hit', visitor: 2, minute: 1, tid: null, cid: 'C1' },
				{ type: 'hit', visitor: 1, minute: 2, tid: null, cid: null },
				{ type: 'upload', minute: 3, tid: 'T1', cid: 'C1' },
				{ type: 'upload', minute: 4, tid: 'T2', cid: null },
				{ type: 'hit', visitor: 2, minute: 5, tid: 'T2', cid: null },
				{ type: 'hit', visitor: 1, minute: 6, tid: 'T1', cid: null },
			]);
			const [first, second] = await historiesAt(place, accountId, ever);
			const told = (history: VisitorHistory | undefined) => ({
				hits: history?.hits.map(({ atMs }) => (atMs - startMs) / minuteMs),
				events: history?.events.map(({ entry, knownFromMs, knownUntilMs }) => [
					entry.tid,
					(entry.atMs - startMs) / minuteMs,
					(knownFromMs - startMs) / minuteMs,
					(knownUntilMs - startMs) / minuteMs,
				]),
			});
			assert.deepEqual(told(first), { hits: [2, 6], events: [['T1', 3, 6, Number.POSITIVE_INFINITY]] });
			assert.deepEqual(told(second), {
				hits: [1, 5],
				events: [
					['T1', 3, 3, 6],
					['T2', 4, 5, Number.POSITIVE_INFINITY],
				],
			});
			assert.deepEqual(await place.read(accountId, historyExtent(ever)), {
				hits: 4,
				uploads: 2,
				fromMs: startMs + minuteMs,
				toMs: startMs + 6 * minuteMs,
			});
			const vids = [first?.vid ?? '', second?.vid ?? ''];
			assert.deepEqual((await place.read(accountId, firstHits(vids, ever))).map(({ atMs }) => atMs).sort(), [
				startMs + minuteMs,
				startMs + 2 * minuteMs,
			]);
			assert.deepEqual(await place.read(accountId, firstHits(vids, startMs)), []);
			assert.deepEqual(
				(await place.read(accountId, hitsBefore(startMs + 5 * minuteMs, 2))).map(({ atMs }) => atMs),
				[startMs + 5 * minuteMs, startMs + 2 * minuteMs],
			);
		});

		test('an empty account has no history', async () => {
			const { place, accountId } = await start();
			assert.deepEqual(await historiesAt(place, accountId, ever), []);
			assert.deepEqual(await place.read(accountId, historyExtent(ever)), {
				hits: 0,
				uploads: 0,
				fromMs: Number.POSITIVE_INFINITY,
				toMs: Number.NEGATIVE_INFINITY,
			});
		});

		test('a history as of a moment is the same as it was then, whatever has arrived since', async () => {
			const { place } = await start();
			await fc.assert(
				fc.asyncProperty(anySteps, minute, async (steps, untilMinute) => {
					// The end of that minute, because hits of a visitor at the same moment are stored a millisecond apart.
					const asOfMs = startMs + (untilMinute + 1) * minuteMs - 1;
					const [earlierId, wholeId] = [await addAccount(place), await addAccount(place)];
					await store(
						place,
						earlierId,
						steps.filter((step) => step.minute <= untilMinute),
					);
					const then = await historiesAt(place, earlierId, ever);
					await store(place, wholeId, steps);
					const seen = (histories: readonly VisitorHistory[]) =>
						histories.map(({ vid, hits, events }) => ({
							vid,
							hits: hits.map(({ atMs }) => atMs),
							events: events.map(({ entry, ...known }) => [entry.tid, entry.atMs, known]),
						}));
					assert.deepEqual(seen(await historiesAt(place, wholeId, asOfMs)), seen(then));
				}),
				{ numRuns: examples(12) },
			);
		});
	});
}
