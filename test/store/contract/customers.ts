import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { StoredHit } from '../../../src/domain/hit.ts';
import { eraseVisitor } from '../../../src/store/erasure.ts';
import { foldAll } from '../../../src/store/fold-all.ts';
import {
	type Engine,
	openAccountOn,
	openFor,
	startWritingFor,
	subscriptionEvent,
	upload,
} from '../engines.ts';
import { assertAsTheLogSays, derived, hit } from './visitors.ts';

/** All orders of some things. */
function ordersOf<T>(all: readonly T[]): T[][] {
	if (all.length === 0) return [[]];
	return all.flatMap((one, index) => ordersOf(all.toSpliced(index, 1)).map((others) => [one, ...others]));
}

/** The contract for whose an event is where customers differ. */
export function customerContract(engine: Engine): void {
	suite(`customers on ${engine.name}`, () => {
		test('what names a customer is never another customer’s, in any order of arrival', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			for (const [run, order] of ordersOf(['begins', 'is A', 'B on a laptop', 'uploads']).entries()) {
				const name = (text: string) => `${text}-${run}`;
				// The browser is known, so that it is one visitor whatever comes first.
				const browser = await writer.storeHit(accountId, hit());
				let laptop = '';
				for (const step of order) {
					if (step === 'begins') {
						const events = ['T-A', 'T-B', 'T-nobody'].map((tid) => ({ name: 'order', tid: name(tid) }));
						await writer.storeHit(accountId, hit(browser, { events }));
					} else if (step === 'is A') await writer.storeHit(accountId, hit(browser, { cid: name('A') }));
					else if (step === 'B on a laptop')
						laptop = (await writer.storeHit(accountId, hit({}, { cid: name('B') }))).vid;
					else
						await upload(writer, accountId, [
							subscriptionEvent({ tid: name('T-A'), subid: name('S'), cid: null }),
							subscriptionEvent({ tid: name('T-B'), subid: name('S-B'), cid: name('B') }),
							subscriptionEvent({ tid: name('T-nobody'), subid: name('S-nobody'), cid: name('nobody') }),
							subscriptionEvent({ tid: name('R-A'), subid: name('S'), cid: name('A') }),
							subscriptionEvent({ tid: name('R'), subid: name('S'), cid: null }),
							subscriptionEvent({ tid: name('R-nobody'), subid: name('S'), cid: name('nobody') }),
						]);
				}
				const { events } = (await derived(store, accountId)) as {
					events: { tid: string; vid: string | null }[];
				};
				const owners = new Map(events.map(({ tid, vid }) => [tid, vid]));
				const expected = {
					'T-A': browser.vid,
					'T-B': laptop,
					'T-nobody': null,
					'R-A': browser.vid,
					R: browser.vid,
					'R-nobody': null,
				};
				for (const [tid, vid] of Object.entries(expected))
					assert.equal(owners.get(name(tid)), vid, `${tid} after ${order.join(', ')}`);
			}
			await assertAsTheLogSays(store, accountId);
		});

		test('a hit of another customer is another visitor’s, until the first customer is back', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const visitorSecret = await store.control.visitorSecret(accountId);
			const shows = (cookie: Partial<StoredHit>, cid: string | null) =>
				writer.storeHit(accountId, hit({ visitorSecret, ...cookie }, { cid }));
			const first = await shows({}, null);
			const asA = await shows(first, 'A');
			assert.deepEqual(asA, first, 'what came before anybody was named stays with the first customer');
			assert.deepEqual(await shows(first, ' undefined '), first, 'nobody is no customer');
			const asB = await shows(asA, 'B');
			assert.notEqual(asB.vid, first.vid);
			assert.notEqual(asB.sid, first.sid);
			assert.equal(asB.firstVid, first.vid);
			assert.deepEqual(await shows(asB, null), asB, 'who shows nobody is the one who was told last');
			assert.deepEqual(await shows(asB, 'B'), asB);
			assert.deepEqual(await shows(first, 'B'), asB, 'the same where the answer got lost');
			const asC = await shows(asB, 'C');
			assert.deepEqual([asC.vid === asB.vid, asC.vid === first.vid, asC.firstVid], [false, false, first.vid]);
			assert.equal((await shows(asC, 'A')).vid, first.vid);
			assert.equal((await shows(asC, 'A')).firstVid, undefined);
			const laptop = await shows({}, 'B');
			assert.equal((await shows({ ...laptop, firstVid: 'f'.repeat(32) }, 'B')).vid, laptop.vid);
			// The first visitor is erased, the second goes on by itself.
			await eraseVisitor(store, accountId, first.vid);
			assert.deepEqual(await shows(asB, null), { vid: asB.vid, sid: asB.sid });
			assert.deepEqual(await shows(asB, 'B'), { vid: asB.vid, sid: asB.sid });
			// An erased second visitor does not come back.
			await eraseVisitor(store, accountId, asB.vid);
			const other = await shows({}, 'A');
			const second = await shows(other, 'B');
			await eraseVisitor(store, accountId, second.vid);
			const again = await shows(other, 'B');
			assert.notEqual(again.vid, second.vid);
			assert.equal(again.firstVid, other.vid);
			assert.deepEqual(await shows(other, 'B'), again);
			await assertAsTheLogSays(store, accountId);
		});

		test('two customers who log in on one browser at the same moment are two visitors', async (t) => {
			const serving = await openAccountOn(engine);
			const { store, accountId, writer } = serving;
			const other = engine.isFolder ? writer : await startWritingFor(t, await openFor(t, serving.address));
			for (let round = 0; round < 10; round++) {
				const browser = await writer.storeHit(accountId, hit());
				const cids = [`A-${round}`, `B-${round}`];
				const stored = await Promise.all(
					[writer, other, writer, other].map((one, index) =>
						one.storeHit(accountId, hit(browser, { cid: cids[index % 2] ?? null })),
					),
				);
				assert.equal(new Set(stored.map(({ vid }) => vid)).size, 2);
				assert.equal(stored[0]?.vid, stored[2]?.vid);
				assert.equal(stored[1]?.vid, stored[3]?.vid);
			}
			await assertAsTheLogSays(store, accountId);
		});

		test('a visitor who turns out to be a customer leaves many sales of another one', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const browser = await writer.storeHit(accountId, hit());
			const tids = Array.from({ length: 120 }, (_, index) => `T-${index}`);
			for (let from = 0; from < tids.length; from += 30) {
				const some = tids.slice(from, from + 30);
				await writer.storeHit(
					accountId,
					hit(browser, { events: some.map((tid) => ({ name: 'order', tid })) }),
				);
				await upload(
					writer,
					accountId,
					some.map((tid) => subscriptionEvent({ tid, subid: tid, cid: 'B' })),
				);
			}
			const ownersNow = async () => {
				await foldAll(store, accountId);
				const { events } = (await derived(store, accountId)) as { events: { vid: string | null }[] };
				return new Set(events.map(({ vid }) => vid));
			};
			assert.deepEqual(await ownersNow(), new Set([browser.vid]));
			await writer.storeHit(accountId, hit(browser, { cid: 'A' }));
			assert.deepEqual(await ownersNow(), new Set([null]));
			const laptop = await writer.storeHit(accountId, hit({}, { cid: 'B' }));
			assert.deepEqual(await ownersNow(), new Set([laptop.vid]));
			await assertAsTheLogSays(store, accountId);
		});

		test('texts that stand for a missing key join nobody, and are stored as they were sent', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			for (const cid of ['undefined', 'Guest', ' null ', 'None']) {
				const shown = await writer.storeHit(
					accountId,
					hit({}, { cid, events: [{ name: 'order', tid: cid }] }),
				);
				// It is nobody's name, so the visitor may be anybody.
				await writer.storeHit(
					accountId,
					hit(shown, {
						events: [
							{ name: 'order', tid: `T-${cid}` },
							{ name: 'order', tid: `S-${cid}` },
						],
					}),
				);
				await upload(writer, accountId, [
					subscriptionEvent({ tid: cid, subid: `own ${cid}`, cid }),
					subscriptionEvent({ tid: `other ${cid}`, subid: `other ${cid}`, cid }),
					subscriptionEvent({ tid: `T-${cid}`, subid: cid, cid: 'C' }),
					subscriptionEvent({ tid: `R-${cid}`, subid: cid, cid: null }),
				]);
				const { events } = (await derived(store, accountId)) as {
					events: { tid: string; cid: string | null; vid: string | null }[];
				};
				const found = (tid: string) => events.find((event) => event.tid === tid);
				assert.deepEqual(found(cid), { tid: cid, cid, vid: null });
				assert.equal(found(`other ${cid}`)?.vid, null);
				assert.equal(found(`T-${cid}`)?.vid, shown.vid);
				assert.equal(found(`R-${cid}`)?.vid, null);
			}
			await assertAsTheLogSays(store, accountId);
		});
	});
}
