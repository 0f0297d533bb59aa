import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { HistoryWriter } from '../../../../src/capabilities/history/store/history-writer.ts';
import type { HistoryEvent } from '../../../../src/capabilities/history/store/past-history.ts';
import { prune, pruneKept } from '../../../../src/capabilities/upkeep/store/pruning.ts';
import type { HistoryHit } from '../../../../src/core/domain/stored-hit.ts';
import { dayMs, hourMs, minuteMs } from '../../../../src/core/durations.ts';
import { foldAll } from '../../../../src/core/store/fold-all.ts';
import type { OpenStore } from '../../../../src/core/store/store.ts';
import { quick, takesLong } from '../../../quick.ts';
import { type Engine, openAccountOn, receivedAtMs, subscriptionEvent } from '../engines.ts';
import { Killed, killedBefore } from '../killed.ts';
import { body, derived } from '../made-hits.ts';
import { assertAsTheLogSays } from './visitors.ts';

const vidOf = (number: number) => number.toString(16).padStart(32, '0');
const longHits = 1600;

/** A visitor with a long log, and some with short ones, who show customers and transactions of each other and in any order. */
function history(): { hits: HistoryHit[]; events: HistoryEvent[] } {
	const hits: HistoryHit[] = [];
	const add = (visitor: number, hour: number, cid: string | null, tid?: string) => {
		hits.push({
			vid: vidOf(visitor),
			sid: null,
			atMs: receivedAtMs + Math.round(hour * hourMs),
			body: body({
				page: `${visitor} ${hour}`,
				url: `https://shop.example/${hour}`,
				cid,
				...(tid !== undefined && { events: [{ name: 'order', tid }] }),
			}),
		});
	};
	for (let number = 0; number < longHits; number++)
		add(1, number / 8, number % 5 === 0 ? 'C-1' : null, number % 7 === 0 ? `T-1-${number % 21}` : undefined);
	for (let visitor = 2; visitor < 12; visitor++)
		for (let number = 0; number < 24; number++)
			add(
				visitor,
				number * 8 + visitor / 7,
				number % 3 === 0 ? `C-${visitor % 3 === 0 ? 1 : visitor}` : null,
				number % 6 === 1 ? `T-${visitor % 4}-${number}` : undefined,
			);
	const events = hits.flatMap(({ vid, atMs, body: { cid, events: shown } }, index): HistoryEvent[] => {
		const tid = shown[0]?.tid ?? (index % 11 === 0 && cid ? `R-${index}` : undefined);
		if (tid === undefined || tid === null) return [];
		const customer = index % 2 === 0 ? (cid ?? null) : null;
		const subid = `S-${Number.parseInt(vid, 16) % 5}`;
		return [{ ...subscriptionEvent({ tid, subid, cid: customer }), receivedAtMs: atMs + 60_000 }];
	});
	return { hits, events: [...new Map(events.map((event) => [event.tid, event])).values()] };
}

type Work = (store: OpenStore, accountId: number) => Promise<unknown>;

const { hits, events } = history();

const importAll: Work = async (store, accountId) => {
	const writer = new HistoryWriter(store, accountId, { initial: 200, max: 200 });
	for (let from = 0; from < hits.length; from += 200) await writer.add(hits.slice(from, from + 200), []);
	for (let from = 0; from < events.length; from += 60) await writer.add([], events.slice(from, from + 60));
	await foldAll(store, accountId);
};

const retention =
	(keepTouches: boolean): Work =>
	async (store, accountId) => {
		const beforeMs = receivedAtMs + 6 * dayMs;
		while ((await store.transact(accountId, () => prune(beforeMs, keepTouches))) > 0);
		if (!keepTouches) while ((await store.transact(accountId, () => pruneKept(beforeMs))) > 0);
		await foldAll(store, accountId);
	};

/** Does work that is killed again and again, each time after so many transactions more. @returns how often */
async function doKilled(work: Work, store: OpenStore, accountId: number, between: Work): Promise<number> {
	for (let kills = 0; ; kills++)
		try {
			await work(killedBefore(store, 1 + kills * 3), accountId);
			return kills;
		} catch (error) {
			if (!(error instanceof Killed)) throw error;
			await between(store, accountId);
		}
}

/** Without what is drawn at random. */
async function outcome(store: OpenStore, accountId: number) {
	const {
		visitors,
		visits,
		links,
		events: owned,
		touches,
	} = (await derived(store, accountId)) as Record<string, Record<string, unknown>[]>;
	const shown = visits?.map(({ vid, profile }) => `${vid} ${profile}`).sort();
	return { visitors, visits: shown, links, owned, touches };
}

/** The contract for work in several transactions of which a process is killed between two. */
export function piecesContract(engine: Engine): void {
	suite(`killed between pieces on ${engine.name}`, () => {
		test('a visit that retention cuts in two, by its pages or by the time, has not arrived anew', async () => {
			const { store, accountId } = await openAccountOn(engine);
			const at = (minutes: number) => receivedAtMs + minutes * minuteMs;
			const buyer = Array.from({ length: 15 }, (_, number): HistoryHit => {
				const arrival = { channel: 'email', events: [{ name: 'order', tid: 'T-cut' }] } as const;
				return {
					vid: vidOf(1),
					sid: 'f'.repeat(32),
					atMs: at(4 * number),
					body: body(number === 0 ? arrival : { page: `${number}` }),
				};
			});
			const others = Array.from({ length: 300 }, (_, number): HistoryHit => {
				return { vid: vidOf(2 + number), sid: null, atMs: at(number / 5), body: body() };
			});
			const sale = { ...subscriptionEvent({ tid: 'T-cut' }), receivedAtMs: at(70) };
			await new HistoryWriter(store, accountId, { initial: 400, max: 400 }).add(
				[...buyer, ...others],
				[sale],
			);
			for (const beforeMs of [at(30), at(45), at(100)]) {
				while ((await store.transact(accountId, () => prune(beforeMs, true))) > 0);
				// Who has no hits left is not counted by that.
				if (beforeMs < at(60)) await assertAsTheLogSays(store, accountId);
				const { touches } = (await derived(store, accountId)) as {
					touches: { vid: string; origin: string }[];
				};
				assert.deepEqual(
					touches.flatMap(({ vid, origin }) => (vid === vidOf(1) ? JSON.parse(origin)[0] : [])),
					['email'],
				);
			}
		});

		test('an import, a retention with and without touches, killed again and again, end as if they were not', {
			skip: !engine.isFolder && takesLong,
		}, async () => {
			const whole = await openAccountOn(engine);
			const killed = await openAccountOn(engine);
			for (const [name, work] of (
				[
					['import', importAll],
					['retention with touches', retention(true)],
					['import again', importAll],
					['retention', retention(false)],
				] as const
			).slice(0, quick ? 2 : undefined)) {
				await work(whole.store, whole.accountId);
				const kills = await doKilled(work, killed.store, killed.accountId, async (store, accountId) => {
					await assertAsTheLogSays(store, accountId);
				});
				assert(kills > 2, `${name}: ${kills} kills`);
				assert.deepEqual(
					await outcome(killed.store, killed.accountId),
					await outcome(whole.store, whole.accountId),
					name,
				);
				await assertAsTheLogSays(killed.store, killed.accountId);
			}
		});
	});
}
