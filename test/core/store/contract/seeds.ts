import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { HistoryWriter } from '../../../../src/capabilities/history/store/history-writer.ts';
import { storeHistory } from '../../../../src/capabilities/history/store/past-history.ts';
import { prune } from '../../../../src/capabilities/upkeep/store/pruning.ts';
import { eraseVisitor } from '../../../../src/capabilities/visitors/store/erasure.ts';
import { rebuildAll } from '../../../../src/capabilities/visitors/store/rebuilding.ts';
import { type DerivedVisitor, derivedVisitor } from '../../../../src/core/domain/derived-vid.ts';
import type { HistoryHit } from '../../../../src/core/domain/stored-hit.ts';
import { minuteMs } from '../../../../src/core/durations.ts';
import type { OpenStore } from '../../../../src/core/store/store.ts';
import { addAccount, type Engine, openAccountOn, subscriptionEvent, upload } from '../engines.ts';
import { body, derived, hit, newId, startMs } from '../made-hits.ts';
import { rowsIn } from '../rows.ts';
import { assertAsTheLogSays } from './visitors.ts';

/** Whom a new seed leads to in an account. */
export async function newSeed(store: OpenStore, accountId: number): Promise<DerivedVisitor> {
	return derivedVisitor(await store.control.visitorSecret(accountId), 'seed', newId());
}

/** Hits of browsers that have no `vid` yet, and send a seed. */
export function seedContract(engine: Engine): void {
	suite(`${engine.name}: seeds`, () => {
		test('hits of a seed are one visitor’s and one visit’s, without a vid or a sid', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const [one, other] = [await newSeed(store, accountId), await newSeed(store, accountId)];
			const first = await writer.storeHit(accountId, hit({ derived: one }));
			assert.equal(first.vid, one.vid);
			const later = hit({ derived: one, atMs: startMs + 29 * minuteMs });
			assert.deepEqual(await writer.storeHit(accountId, later), first);
			const nextVisit = hit({ derived: one, atMs: startMs + 90 * minuteMs });
			assert.deepEqual(await writer.storeHit(accountId, nextVisit), {
				vid: one.vid,
				sid: nextVisit.freshSid,
			});
			assert.equal((await writer.storeHit(accountId, hit({ derived: other }))).vid, other.vid);
			const { visitors, visits } = (await derived(store, accountId)) as Record<string, object[]>;
			assert.deepEqual([visitors?.length, visits?.length], [2, 3]);
			assert.equal((await rowsIn(store, accountId, 'hit')).length, 4);
			await assertAsTheLogSays(store, accountId);
		});

		test('a known vid wins; a seed stands in for one that nobody has issued, and of another account', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const seed = await newSeed(store, accountId);
			const known = await writer.storeHit(accountId, hit());
			const both = hit({ ...known, derived: seed, atMs: startMs + 1 });
			assert.deepEqual(await writer.storeHit(accountId, both), known);
			// The seed has made nobody.
			assert.equal(((await derived(store, accountId)) as { visitors: object[] }).visitors.length, 1);
			const elsewhere = await writer.storeHit(await addAccount(store), hit());
			for (const vid of [newId(), elsewhere.vid]) {
				const invented = hit({ vid, sid: newId(), derived: seed, atMs: startMs + 2 });
				assert.equal((await writer.storeHit(accountId, invented)).vid, seed.vid);
			}
			// From the first answer on, the page sends its vid.
			const next = hit({ vid: seed.vid, atMs: startMs + 3 });
			assert.equal((await writer.storeHit(accountId, next)).vid, seed.vid);
			await assertAsTheLogSays(store, accountId);
		});

		const returns = [
			['a hit', ''],
			['an import', ''],
			['a hit', ', as the successor of an erased visitor'],
			['an import', ', as the successor of an erased visitor'],
		] as const;
		test('who comes back after retention has deleted all hits has the events that its touches kept', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			for (const [way, asSuccessor] of returns) {
				const seed = await newSeed(store, accountId);
				const tid = `order of ${way}${asSuccessor}`;
				if (asSuccessor) {
					await writer.storeHit(accountId, hit({ derived: seed }));
					await eraseVisitor(store, accountId, seed.vid);
				}
				const buyer = hit({ derived: seed }, { events: [{ name: 'order', tid }] });
				const { vid } = await writer.storeHit(accountId, buyer);
				assert.equal(vid === seed.vid, !asSuccessor);
				const atMs = startMs + minuteMs;
				await upload(writer, accountId, [subscriptionEvent({ tid, subid: tid, cid: null })], { atMs });
				await store.transact(accountId, () => prune(startMs + 10 * minuteMs, true));
				const back = { derived: seed, atMs: startMs + 90 * minuteMs };
				if (way === 'a hit') await writer.storeHit(accountId, hit(back));
				else
					await store.transact(accountId, () =>
						storeHistory([{ vid: seed.vid, sid: newId(), ...back, body: body() }], []),
					);
				const { visitors } = (await derived(store, accountId)) as { visitors: Record<string, unknown>[] };
				const profile = visitors.find((visitor) => visitor.vid === vid)?.profile as string;
				assert.equal(JSON.parse(profile).firstAtMs, atMs, tid);
				assert.equal(JSON.parse(profile).subscriptions?.count, 1, tid);
			}
			await assertAsTheLogSays(store, accountId);
		});

		test('a hit that is imported again after retention has kept its touch leaves nothing for a rebuild', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const vid = newId();
			const past = { vid, sid: null, atMs: startMs, body: body({ events: [{ name: 'order', tid: 'T-1' }] }) };
			const add = () => store.transact(accountId, () => storeHistory([past], []));
			await add();
			await upload(writer, accountId, [subscriptionEvent({ tid: 'T-1' })], { atMs: startMs + minuteMs });
			await store.transact(accountId, () => prune(startMs + 10 * minuteMs, true));
			assert.equal((await add()).hits, 1);
			assert.equal((await rowsIn(store, accountId, 'touch')).length, 1);
			assert.equal((await rebuildAll(store, accountId)).changed, 0);
		});

		test('hits of a seed at the same moment are one visitor’s, in one visit, and none is lost', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			for (let round = 0; round < 5; round++) {
				const seeds = await Promise.all(Array.from({ length: 4 }, () => newSeed(store, accountId)));
				const hits = Array.from({ length: 48 }, (_, number) =>
					hit({ derived: seeds[number % seeds.length] }, { cid: `C-${round}-${number % seeds.length}` }),
				);
				const stored = await Promise.all(hits.map((one) => writer.storeHit(accountId, one)));
				assert.equal(new Set(stored.map(({ vid }) => vid)).size, seeds.length);
				assert.equal(new Set(stored.map(({ sid }) => sid)).size, seeds.length);
				for (const [number, { vid }] of stored.entries())
					assert.equal(vid, seeds[number % seeds.length]?.vid);
			}
			const { visitors, visits, links } = (await derived(store, accountId)) as Record<string, object[]>;
			assert.deepEqual([visitors?.length, visits?.length, links?.length], [20, 20, 20]);
			const profiles = (visitors as { profile: string }[]).map(({ profile }) => JSON.parse(profile).hits);
			assert.deepEqual(new Set(profiles), new Set([12]));
			assert.equal((await rowsIn(store, accountId, 'hit')).length, 5 * 48);
			await assertAsTheLogSays(store, accountId);
		});

		test('a sale that a seed’s hit has begun is its visitor’s', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const seed = await newSeed(store, accountId);
			const shown = { cid: 'C-1', events: [{ name: 'checkout', tid: 'T-1' }] };
			await writer.storeHit(accountId, hit({ derived: seed }, shown));
			await writer.storeHit(accountId, hit({ derived: seed, atMs: startMs + 1 }, shown));
			await upload(writer, accountId, [
				subscriptionEvent({ tid: 'T-1' }),
				subscriptionEvent({ tid: 'T-2', cid: 'C-1' }),
			]);
			const { events, links } = (await derived(store, accountId)) as Record<string, { vid: string }[]>;
			assert.deepEqual(
				events?.map(({ vid }) => vid),
				[seed.vid, seed.vid],
			);
			assert.equal(links?.length, 2);
			await assertAsTheLogSays(store, accountId);
		});

		test('after an erasure a seed leads to somebody new, always the same, however often it is erased', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const seed = await newSeed(store, accountId);
			const bystander = await writer.storeHit(accountId, hit());
			const gone = [(await writer.storeHit(accountId, hit({ derived: seed }))).vid];
			for (let round = 0; round < 3; round++) {
				await eraseVisitor(store, accountId, gone.at(-1) as string);
				const hits = Array.from({ length: 6 }, () => hit({ derived: seed }, body({ cid: `C-${round}` })));
				const stored = await Promise.all(hits.map((one) => writer.storeHit(accountId, one)));
				assert.equal(new Set(stored.map(({ vid, sid }) => `${vid} ${sid}`)).size, 1);
				const { vid } = stored[0] as { vid: string };
				assert(!gone.includes(vid) && vid !== bystander.vid);
				// The browser knows its vid now, or has still that of the erased one.
				assert.equal((await writer.storeHit(accountId, hit({ vid, derived: seed }))).vid, vid);
				assert.equal(
					(await writer.storeHit(accountId, hit({ vid: gone[0] ?? null, derived: seed }))).vid,
					vid,
				);
				gone.push(vid);
			}
			const { visitors } = (await derived(store, accountId)) as { visitors: object[] };
			assert.equal(visitors.length, 2);
			// What is kept names no erased visitor.
			const kept = await rowsIn(store, accountId, 'erased');
			assert.equal(kept.length, 3);
			for (const { mark, successor } of kept) {
				assert(!gone.includes(mark as string));
				assert(!gone.slice(0, -1).includes(successor as string));
			}
			assert.equal(kept.find(({ mark }) => mark === seed.mark)?.successor, gone.at(-1));
			await assertAsTheLogSays(store, accountId);
		});

		test('after an erasure, too, who shows another customer by the seed alone is another visitor', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const secret = await store.control.visitorSecret(accountId);
			const seed = derivedVisitor(secret, 'seed', newId());
			const of = (cid: string | null, atMs: number) =>
				writer.storeHit(accountId, hit({ derived: seed, visitorSecret: secret, atMs }, { cid }));
			await of('C-1', startMs);
			await eraseVisitor(store, accountId, seed.vid);
			const first = await of('C-1', startMs + 1);
			const second = await of('C-2', startMs + 2);
			assert.notEqual(second.vid, first.vid);
			assert.equal(second.firstVid, first.vid);
			assert.equal((await of('C-1', startMs + 3)).vid, first.vid);
			assert.equal((await of('C-2', startMs + 4)).vid, second.vid);
			assert.equal((await of(null, startMs + 5)).vid, first.vid);
			assert.equal((await rebuildAll(store, accountId)).apart, 0);
			await assertAsTheLogSays(store, accountId);
		});

		test('hits during an erasure are stored, of the erased visitor or of the next', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			for (let round = 0; round < 5; round++) {
				const seed = await newSeed(store, accountId);
				await writer.storeHit(accountId, hit({ derived: seed }));
				let isOver = false;
				const erasing = eraseVisitor(store, accountId, seed.vid).then(() => {
					isOver = true;
				});
				while (!isOver)
					await Promise.all(
						Array.from({ length: 4 }, () => writer.storeHit(accountId, hit({ derived: seed }))),
					);
				await erasing;
				const { vid } = await writer.storeHit(accountId, hit({ derived: seed }));
				assert.notEqual(vid, seed.vid);
				const { visitors } = (await derived(store, accountId)) as { visitors: { vid: string }[] };
				assert(!visitors.some((visitor) => visitor.vid === seed.vid));
				assert.equal(visitors.length, round + 1);
			}
			await assertAsTheLogSays(store, accountId);
		});

		test('imported hits of a seed are those of the browser that has it, before, after and during an erasure', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const seed = await newSeed(store, accountId);
			const past = (atMs: number) => ({
				vid: seed.vid,
				derived: seed,
				sid: null,
				atMs,
				body: body({ cid: 'C-1' }),
			});
			const add = (hits: readonly HistoryHit[]) =>
				new HistoryWriter(store, accountId, { min: 20, initial: 100, max: 2000 }).add(hits, []);
			// Neither is stored yet, and both are stored at once.
			const [, live] = await Promise.all([
				add([past(startMs - minuteMs)]),
				writer.storeHit(accountId, hit({ derived: seed })),
			]);
			assert.equal(live.vid, seed.vid);
			const { visitors } = (await derived(store, accountId)) as { visitors: { profile: string }[] };
			assert.deepEqual(
				visitors.map(({ profile }) => JSON.parse(profile).hits),
				[2],
			);
			await assertAsTheLogSays(store, accountId);
			await eraseVisitor(store, accountId, seed.vid);
			const again = [past(startMs - minuteMs), past(startMs - 2 * minuteMs)];
			assert.equal((await add(again)).hits, 2);
			assert.equal((await add(again)).hits, 0, 'repeated');
			const { vid } = await writer.storeHit(accountId, hit({ derived: seed }));
			assert.notEqual(vid, seed.vid);
			const after = (await derived(store, accountId)) as { visitors: { vid: string; profile: string }[] };
			assert.deepEqual(
				after.visitors.map((one) => [one.vid, JSON.parse(one.profile).hits]),
				[[vid, 3]],
			);
			await assertAsTheLogSays(store, accountId);
		});

		test('an account’s secret is made with it, and is its own', async () => {
			const { store } = await openAccountOn(engine);
			const [one, other] = [await addAccount(store), await addAccount(store)];
			const secret = await store.control.visitorSecret(one);
			assert.match(secret, /^[0-9a-f]{64}$/);
			assert.notEqual(await store.control.visitorSecret(other), secret);
			const { accounts } = await store.control.accessSnapshot();
			assert(accounts.values().some((account) => account.id === one && account.visitorSecret === secret));
		});
	});
}
