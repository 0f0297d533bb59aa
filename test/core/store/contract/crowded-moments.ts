import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { HistoryWriter } from '../../../../src/capabilities/history/store/history-writer.ts';
import type { HistoryEvent } from '../../../../src/capabilities/history/store/past-history.ts';
import type { HistoryHit } from '../../../../src/core/domain/stored-hit.ts';
import { minuteMs } from '../../../../src/core/durations.ts';
import { joinEvents } from '../../../../src/core/store/account/arriving/arriving-events.ts';
import { storeHits } from '../../../../src/core/store/account/arriving/hits.ts';
import { foldCrowd, leaveCrowd } from '../../../../src/core/store/account/profiles/crowded-fold.ts';
import { foldPiece } from '../../../../src/core/store/account/profiles/folding.ts';
import { foldAll } from '../../../../src/core/store/fold-all.ts';
import type { Steps } from '../../../../src/core/store/steps.ts';
import type { OpenStore } from '../../../../src/core/store/store.ts';
import { takesLong } from '../../../quick.ts';
import { addAccount, type Engine, openAccountOn, receivedAtMs, subscriptionEvent } from '../engines.ts';
import { body, derived, hit } from '../made-hits.ts';
import { assertFolded, type Cost, counting } from './folding.ts';
import { assertAsTheLogSays } from './visitors.ts';

const vid = 'a'.repeat(32);

/** The store; the cost of each of its transactions is added to the list. */
function counted(store: OpenStore, costs: Cost[]): OpenStore {
	const transact: OpenStore['transact'] = (accountId, begin) =>
		store.transact(accountId, () => {
			const cost = { statements: 0, rows: 0 };
			costs.push(cost);
			return counting(begin(), cost);
		});
	return new Proxy(store, {
		get(_, name) {
			const value = name === 'transact' ? transact : Reflect.get(store, name, store);
			return typeof value === 'function' ? value.bind(store) : value;
		},
	});
}

/** Hits of one visitor at one moment, some of visits with a name, some that show a `tid` or a `cid`. */
function crowd(count: number, atMs = receivedAtMs): HistoryHit[] {
	return Array.from({ length: count }, (_, index) => ({
		vid,
		sid: index % 10 === 0 ? `b${index % 50}`.padEnd(32, 'b') : null,
		atMs,
		body: body({
			url: `https://shop.example/${index}`,
			page: String(index % 70),
			cid: index % 5 === 0 ? 'C-1' : null,
			events: index % 20 === 0 ? [{ name: 'checkout', tid: `T-${index}` }] : [],
		}),
	}));
}

function crowdOfEvents(count: number): HistoryEvent[] {
	return Array.from({ length: count }, (_, index) => ({
		...subscriptionEvent({ tid: `T-${index}`, subid: `S-${index % 200}`, cid: 'C-1' }),
		receivedAtMs,
	}));
}

/** The contract of every engine for moments of a visitor with more entries than a transaction may read. */
export function crowdedMomentContract(engine: Engine): void {
	suite(`crowded moments on ${engine.name}`, () => {
		test('transactions of an import read few of the hits at its moment, and it gives the same result in any order', {
			skip: !engine.isFolder && takesLong,
		}, async () => {
			const { store } = await openAccountOn(engine);
			const add = async (accountId: number, hits: readonly HistoryHit[], events: readonly HistoryEvent[]) => {
				const costs: Cost[] = [];
				const writer = new HistoryWriter(counted(store, costs), accountId, { initial: 100, max: 100 });
				let stored = 0;
				for (let from = 0; from < events.length; from += 100)
					await writer.add([], events.slice(from, from + 100));
				for (let from = 0; from < hits.length; from += 100)
					stored += (await writer.add(hits.slice(from, from + 100), [])).hits;
				return { stored, most: Math.max(...costs.map(({ rows }) => rows)) };
			};
			const outcomes: unknown[] = [];
			for (const isReversed of [false, true]) {
				const accountId = await addAccount(store);
				const hits = [...crowd(1800), ...crowd(200, receivedAtMs + 20 * minuteMs)];
				const events = crowdOfEvents(500);
				if (isReversed) hits.reverse();
				const first = await add(accountId, hits.slice(0, 1300), events);
				const second = await add(accountId, hits, events.toReversed());
				assert.deepEqual([first.stored, second.stored], [1300, 700]);
				const again = await add(accountId, hits.toReversed(), events);
				assert.equal(again.stored, 0);
				// The hits themselves, and some of those that are stored: not all of them.
				for (const { most } of [first, second, again]) assert.ok(most < 1700, `${most} rows`);
				const folding: Cost[] = [];
				await foldAll(counted(store, folding), accountId);
				for (const { rows } of folding) assert.ok(rows < 900, `${rows} rows`);
				await assertFolded(store, accountId);
				outcomes.push(await derived(store, accountId));
				if (isReversed) await assertAsTheLogSays(store, accountId);
			}
			assert.deepEqual(outcomes[0], outcomes[1]);
		});

		test('whatever arrives for a crowded moment while it is folded is in the profile', {
			skip: !engine.isFolder && takesLong,
		}, async () => {
			const { store } = await openAccountOn(engine);
			const at = (atMs: number) => hit({ vid, atMs }, { url: 'https://shop.example/late' });
			const event = { ...subscriptionEvent({ tid: 'late' }), received_at: receivedAtMs, request_id: null };
			const arrivals: Record<string, () => Steps<unknown>> = {
				'a hit of the moment': () => storeHits([at(receivedAtMs - 90_000), at(receivedAtMs)]),
				'a hit from before': () => storeHits([at(receivedAtMs - 10 * minuteMs)]),
				'an event': () =>
					joinEvents([event], {
						owners: new Map([['late', { vid, named: 2 }]]),
						subscribers: new Map(),
						isAnothers: () => false,
					}),
				nothing: () => storeHits([]),
			};
			for (const [what, arrive] of Object.entries(arrivals)) {
				const accountId = await addAccount(store);
				const writer = new HistoryWriter(store, accountId, { initial: 400, max: 400 });
				for (let from = 0; from < 800; from += 100) await writer.add(crowd(800).slice(from, from + 100), []);
				const piece = await store.transact(accountId, () => foldPiece());
				assert.ok(piece?.crowd, what);
				const { crowd: entered } = piece;
				const folded = await store.read(accountId, foldCrowd(entered));
				await store.transact(accountId, arrive);
				await store.transact(accountId, () => leaveCrowd(entered, folded));
				await foldAll(store, accountId);
				await assertFolded(store, accountId);
				await assertAsTheLogSays(store, accountId);
			}
		});
	});
}
