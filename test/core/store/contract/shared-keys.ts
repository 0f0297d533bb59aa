import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { HistoryWriter } from '../../../../src/capabilities/history/store/history-writer.ts';
import { findSharedKeys } from '../../../../src/capabilities/visitors/store/find-shared-keys.ts';
import { rebuildAll } from '../../../../src/capabilities/visitors/store/rebuilding.ts';
import { maxSharing } from '../../../../src/core/domain/shared-key.ts';
import { foldAll } from '../../../../src/core/store/fold-all.ts';
import type { OpenStore } from '../../../../src/core/store/store.ts';
import { unjoinableKeysOfEvents } from '../../../../src/kit/reading/missing-keys.ts';
import { takesLong } from '../../../quick.ts';
import { addCrowd } from '../crowd.ts';
import { type Engine, openAccountOn, receivedAtMs, subscriptionEvent, upload } from '../engines.ts';
import { derived, hit, ordersOf } from '../made-hits.ts';
import { readStored } from '../stored-log.ts';

/** Whose events are once nothing waits, by `tid`. */
async function ownersIn(store: OpenStore, accountId: number): Promise<Map<string, string | null>> {
	await foldAll(store, accountId);
	const { events } = (await derived(store, accountId)) as {
		events: { tid: string; vid: string | null }[];
	};
	return new Map(events.map(({ tid, vid }) => [tid, vid]));
}

/** The contract for keys that too many share. */
export function sharedKeyContract(engine: Engine): void {
	suite(`shared keys on ${engine.name}`, () => {
		test('a cid that too many visitors share joins nobody, in any order of arrival', {
			skip: !engine.isFolder && takesLong,
		}, async () => {
			for (const [run, others] of ordersOf(['shop', 'customer', 'uploads']).entries()) {
				const order = others.toSpliced(run % 4, 0, 'crowd');
				const { store, writer, accountId } = await openAccountOn(engine);
				const visitorSecret = await store.control.visitorSecret(accountId);
				// The browsers are known, so that they are the same visitors whatever comes first.
				const [browser, laptop] = [
					await writer.storeHit(accountId, hit()),
					await writer.storeHit(accountId, hit()),
				];
				const show = (cookie: object, cid: string, ...tids: string[]) =>
					writer.storeHit(
						accountId,
						hit({ ...cookie, visitorSecret }, { cid, events: tids.map((tid) => ({ name: 'order', tid })) }),
					);
				for (const step of order)
					if (step === 'crowd') await addCrowd(store, accountId, { key: 'c:webshop', short: 0 });
					else if (step === 'shop') await show(browser, 'webshop', 'T-1');
					else if (step === 'customer') await show(laptop, 'A', 'T-2');
					else
						await upload(writer, accountId, [
							subscriptionEvent({ tid: 'T-0', subid: 'S-0', cid: 'webshop' }),
							// Whoever has only shown the shop's cid has shown no customer.
							subscriptionEvent({ tid: 'T-1', subid: 'S-1', cid: 'B' }),
							// What has the shop's cid names no customer.
							subscriptionEvent({ tid: 'T-2', subid: 'S-2', cid: 'webshop' }),
							subscriptionEvent({ tid: 'R-2', subid: 'S-2', cid: 'webshop' }),
							subscriptionEvent({ tid: 'T-A', subid: 'S-A', cid: 'A' }),
						]);
				// Only who shows a key after the crowd finds out.
				await show({}, 'webshop');
				const expected = {
					'T-0': null,
					'T-1': browser.vid,
					'T-2': laptop.vid,
					'R-2': laptop.vid,
					'T-A': laptop.vid,
				};
				const told = order.join(', ');
				assert.deepEqual(Object.fromEntries(await ownersIn(store, accountId)), expected, told);
				const { log, derived: stored } = await readStored(store, accountId);
				assert.deepEqual([...log.shared], ['c:webshop']);
				assert.deepEqual([...stored.links.keys()].sort(), [
					...[`${browser.vid} t:T-1`, `${laptop.vid} c:A`, `${laptop.vid} t:T-2`].sort(),
				]);
				await rebuildAll(store, accountId);
				assert.deepEqual(Object.fromEntries(await ownersIn(store, accountId)), expected, `${told}, rebuilt`);
			}
		});

		test('a key of as many visitors as may share one still joins', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			await addCrowd(store, accountId, { key: 'c:A', short: 1 });
			const first = await writer.storeHit(accountId, hit({}, { cid: 'A' }));
			// The same visitor again is no other one.
			await writer.storeHit(accountId, hit(first, { cid: 'A' }));
			await upload(writer, accountId, [subscriptionEvent({ tid: 'T-1', cid: 'A' })]);
			assert.equal((await ownersIn(store, accountId)).get('T-1'), first.vid);
			await writer.storeHit(accountId, hit({}, { cid: 'A' }));
			assert.equal((await ownersIn(store, accountId)).get('T-1'), null);
		});

		test('a hit with a shared cid is of whom it presents, and the customers of a browser are as before', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			await addCrowd(store, accountId, { key: 'c:webshop' });
			const visitorSecret = await store.control.visitorSecret(accountId);
			const shows = (cookie: object, cid: string | null) =>
				writer.storeHit(accountId, hit({ visitorSecret, ...cookie }, { cid }));
			await shows({}, 'webshop');
			const asA = await shows({}, 'A');
			assert.deepEqual(await shows(asA, 'webshop'), asA);
			const asB = await shows(asA, 'B');
			assert.notEqual(asB.vid, asA.vid);
			assert.deepEqual(await shows(asB, 'webshop'), asB);
			assert.equal((await shows(asB, 'A')).vid, asA.vid);
			const stranger = await shows({}, 'webshop');
			assert.deepEqual(await shows(stranger, 'C'), stranger, 'nobody was named before');
		});

		test('a tid that too many visitors share joins nobody', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			await upload(writer, accountId, [subscriptionEvent({ tid: 'order', subid: 'S-1' })]);
			const show = () => writer.storeHit(accountId, hit({}, { events: [{ name: 'order', tid: 'order' }] }));
			const first = await show();
			assert.equal((await ownersIn(store, accountId)).get('order'), first.vid);
			await addCrowd(store, accountId, { key: 't:order' });
			await show();
			assert.equal((await ownersIn(store, accountId)).get('order'), null);
			assert.equal((await readStored(store, accountId)).derived.links.size, 0);
		});

		test('texts that stand for a missing key need no bound', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			await addCrowd(store, accountId, { key: 'c:undefined' });
			await writer.storeHit(accountId, hit({}, { cid: 'undefined' }));
			assert.deepEqual([...(await readStored(store, accountId)).log.shared], []);
		});

		test('a cid that too many subscriptions share, and a subid that too many customers share, join nobody', {
			skip: !engine.isFolder && takesLong,
		}, async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const show = (tid: string, cid: string | null) =>
				writer.storeHit(accountId, hit({}, { cid, events: [{ name: 'order', tid }] }));
			const [ofShop, ofA] = [await show('T-shop', 'webshop'), await show('T-A', 'A')];
			const history = new HistoryWriter(store, accountId, { initial: 400, max: 400 });
			const past = (fields: object) => ({
				...subscriptionEvent({ ...fields }),
				receivedAtMs: receivedAtMs - 1,
			});
			const some = (count: number, fieldsOf: (number: number) => object) =>
				Array.from({ length: count }, (_, number) => past(fieldsOf(number)));
			await history.add(
				[],
				[
					past({ tid: 'T-A', subid: 'plan', cid: 'webshop' }),
					past({ tid: 'R-A', subid: 'plan', cid: null }),
					past({ tid: 'T-0', subid: 'S-0', cid: 'webshop' }),
					...some(maxSharing - 2, (number) => ({ tid: `a${number}`, subid: `s${number}`, cid: 'webshop' })),
					...some(maxSharing - 1, (number) => ({ tid: `b${number}`, subid: 'plan', cid: `c${number}` })),
					// A company with as many, and one subscription that is paid often.
					...some(maxSharing, (number) => ({ tid: `d${number}`, subid: `d${number}`, cid: 'company' })),
					...some(maxSharing + 1, (number) => ({ tid: `e${number}`, subid: 'often', cid: 'E' })),
				],
			);
			await findSharedKeys(store, accountId);
			const before = await ownersIn(store, accountId);
			assert.deepEqual([before.get('T-0'), before.get('T-A')], [ofShop.vid, ofShop.vid]);
			assert.deepEqual([...(await readStored(store, accountId)).log.shared], []);
			const more = [
				subscriptionEvent({ tid: 'T-more', subid: 'S-more', cid: 'webshop' }),
				subscriptionEvent({ tid: 'R-more', subid: 'plan', cid: 'c-more' }),
			];
			assert.equal((await upload(writer, accountId, more)).sharedRows, undefined);
			await findSharedKeys(store, accountId);
			const owners = await ownersIn(store, accountId);
			assert.deepEqual([...(await readStored(store, accountId)).log.shared].sort(), ['c:webshop', 's:plan']);
			assert.deepEqual(
				['T-0', 'T-more', 'T-A', 'R-A'].map((tid) => owners.get(tid)),
				[null, null, ofA.vid, null],
			);
			const told = await upload(writer, accountId, [
				subscriptionEvent({ cid: 'C' }),
				subscriptionEvent({ cid: 'webshop' }),
				subscriptionEvent({ subid: 'plan' }),
			]);
			assert.deepEqual(told.sharedRows, [1, 2]);
			const period = { fromMs: receivedAtMs, toMs: receivedAtMs + 1, asOfMs: receivedAtMs };
			const named = await store.read(accountId, unjoinableKeysOfEvents(period));
			assert.deepEqual(
				named.map(({ field, value, events, why }) => [field, value, events, why]),
				[
					['subid', 'plan', 2, 'shared'],
					['cid', 'webshop', 2, 'shared'],
				],
			);
		});

		test('a rebuild finds keys that were shared before anybody looked', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const first = await writer.storeHit(accountId, hit({}, { cid: 'webshop' }));
			await upload(writer, accountId, [subscriptionEvent({ tid: 'T-1', cid: 'webshop' })]);
			await addCrowd(store, accountId, { key: 'c:webshop' });
			assert.equal((await ownersIn(store, accountId)).get('T-1'), first.vid);
			assert.equal((await rebuildAll(store, accountId)).apart, 0);
			assert.equal((await ownersIn(store, accountId)).get('T-1'), null);
		});
	});
}
