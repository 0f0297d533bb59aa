import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { importSecret } from '../../../src/store/import-secret.ts';
import { type ArrivingHit, rebuild, storeHits } from '../../../src/store/visitor-log.ts';
import { addAccount, type Engine, openFor, receivedAtMs, startServingFor } from '../engines.ts';
import { derived, hit } from './visitors.ts';

const minuteMs = 60_000;
const vid = 'a'.repeat(32);

/** A hit of history of one visitor, so many minutes after the start. */
function past(minutes: number, fields: Partial<ArrivingHit> = {}, page = `page-${minutes}`): ArrivingHit {
	return hit(
		{ vid, freshVid: vid, isHistory: true, atMs: receivedAtMs + minutes * minuteMs, ...fields },
		{ page, url: `https://shop.example/${page}` },
	);
}

/** What every engine must do with hits that come late, or again. */
export function historyContract(engine: Engine): void {
	suite(`history on ${engine.name}`, () => {
		test('history that comes again is not stored again, whole or in part', async (t) => {
			const store = await openFor(t, await engine.freshAddress(t));
			const accountId = await addAccount(store, 'c-a-acme-uk');
			const hits = [past(0), past(5), past(90)];
			const first = await store.transact(accountId, storeHits(hits));
			assert.ok(first.every(({ isRepeat }) => !isRepeat));
			const before = await derived(store, accountId);
			const again = await store.transact(
				accountId,
				storeHits(hits.map((one) => ({ ...one, freshSid: 'f'.repeat(32) }))),
			);
			assert.deepEqual(
				again,
				first.map((one) => ({ ...one, isRepeat: true })),
			);
			const more = await store.transact(
				accountId,
				storeHits([past(5), past(6), past(90), past(91), past(91)]),
			);
			assert.deepEqual(
				more.map(({ isRepeat }) => isRepeat ?? false),
				[true, false, true, false, true],
			);
			assert.notDeepEqual(await derived(store, accountId), before);
		});

		test('a hit that differs in anything but its channel and device is another', async (t) => {
			const store = await openFor(t, await engine.freshAddress(t));
			const accountId = await addAccount(store, 'c-a-acme-uk');
			const one = past(0);
			await store.transact(accountId, storeHits([one]));
			const changed = (fields: Partial<ArrivingHit['body']>) => ({
				...one,
				body: { ...one.body, ...fields },
			});
			const isRepeat = async (hit: ArrivingHit) =>
				(await store.transact(accountId, storeHits([hit])))[0]?.isRepeat ?? false;
			assert.equal(await isRepeat(changed({ channel: 'email', device: 'tv', page: 'renamed' })), true);
			assert.equal(await isRepeat(changed({ events: [{ name: 'checkout' }] })), false);
			assert.equal(await isRepeat(changed({ cid: 'C-1' })), false);
			assert.equal(await isRepeat(changed({ referrer: 'https://news.example/' })), false);
			assert.equal(await isRepeat({ ...one, atMs: one.atMs + 1 }), false);
		});

		test('late hits join the visit of the nearest hit, as if they had come in order', async (t) => {
			const store = await openFor(t, await engine.freshAddress(t));
			// No visit is so long that a late hit could join two parts of it, which stay two visits.
			const minutes = [0, 10, 25, 100, 120, 160, 300];
			const visits = [0, 0, 0, 1, 1, 2, 3];
			let account = 0;
			await fc.assert(
				fc.asyncProperty(fc.integer({ min: 1, max: 7 }), fc.boolean(), async (batch, backwards) => {
					const accountId = await addAccount(store, `c-a-late-${account++}`);
					const order = backwards ? minutes.toReversed() : minutes;
					const sids = new Map<number, string>();
					for (let from = 0; from < order.length; from += batch) {
						const some = order.slice(from, from + batch).sort((a, b) => a - b);
						const stored = await store.transact(accountId, storeHits(some.map((at) => past(at))));
						for (const [index, at] of some.entries()) sids.set(at, stored[index]?.sid as string);
					}
					const cut = minutes.map((at) => sids.get(at));
					const first = (sid: string | undefined) => cut.indexOf(sid);
					const expected = visits.map((visit) => visits.indexOf(visit));
					assert.deepEqual(cut.map(first), expected);
					assert.equal(await store.transact(accountId, rebuild([vid])), 0);
				}),
				{ numRuns: engine.isFolder ? 14 : 6 },
			);
		});

		test('a visit that history names is one visit, however long', async (t) => {
			const store = await openFor(t, await engine.freshAddress(t));
			const accountId = await addAccount(store, 'c-a-acme-uk');
			const sid = 'b'.repeat(32);
			const named = { sid, freshSid: sid, visitIsGiven: true };
			await store.transact(accountId, storeHits([past(0, named), past(500, named)]));
			const stored = await store.transact(accountId, storeHits([past(250, named), past(251)]));
			assert.deepEqual(
				stored.map((one) => one.sid === sid),
				[true, true],
			);
			assert.equal(await store.transact(accountId, rebuild([vid])), 0);
		});

		test('a live hit without its sid goes on with the visit, and loses nothing of it', async (t) => {
			const { store, writer, accountId } = await startServingFor(t, engine);
			const issued = await writer.storeHit(accountId, hit());
			const next = hit({ vid: issued.vid, atMs: receivedAtMs + minuteMs });
			assert.deepEqual(await writer.storeHit(accountId, next), issued);
			assert.equal(await store.transact(accountId, rebuild([issued.vid])), 0);
		});

		test('the secret of an account is made once, and is its own', async (t) => {
			const store = await openFor(t, await engine.freshAddress(t));
			const [one, other] = [await addAccount(store, 'c-a-one'), await addAccount(store, 'c-a-other')];
			assert.equal(await store.transact(one, importSecret('first')), 'first');
			assert.equal(await store.transact(one, importSecret('second')), 'first');
			assert.equal(await store.transact(other, importSecret('third')), 'third');
		});
	});
}
