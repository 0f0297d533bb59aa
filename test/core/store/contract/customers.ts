import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { storeHistory } from '../../../../src/capabilities/history/store/past-history.ts';
import { prune } from '../../../../src/capabilities/upkeep/store/pruning.ts';
import {
	erasable,
	eraseCustomerVisitors,
	eraseVisitor,
} from '../../../../src/capabilities/visitors/store/erasure.ts';
import { rebuildAll, takeVisitorApart } from '../../../../src/capabilities/visitors/store/rebuilding.ts';
import { derivedVid } from '../../../../src/core/domain/derived-vid.ts';
import type { HistoryHit, HitRecord, StoredHit } from '../../../../src/core/domain/stored-hit.ts';
import { foldAll } from '../../../../src/core/store/fold-all.ts';
import { visitorRecord } from '../../../../src/kit/reading/visitor-record.ts';
import { quick, takesLong } from '../../../quick.ts';
import {
	type Engine,
	openAccountOn,
	openFor,
	receivedAtMs,
	startWritingFor,
	subscriptionEvent,
	upload,
} from '../engines.ts';
import { Killed, killedBefore } from '../killed.ts';
import { body, derived, hit, ordersOf } from '../made-hits.ts';
import { readStored } from '../stored-log.ts';
import { assertAsTheLogSays } from './visitors.ts';

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

		test('the erasure of one customer takes nothing of another who uses the same browser', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const visitorSecret = await store.control.visitorSecret(accountId);
			let atMs = receivedAtMs;
			const shows = (cookie: Partial<StoredHit>, fields: Partial<HitRecord>) =>
				writer.storeHit(
					accountId,
					hit({ visitorSecret, atMs: atMs++, ...cookie }, { ...fields, title: 'secret' }),
				);
			const buys = (tid: string, cid: string | null) =>
				upload(writer, accountId, [subscriptionEvent({ tid, subid: tid, cid, rvn: 2500 })]);
			const asA = await shows(await shows({}, {}), { cid: 'A' });
			await buys('A-1', 'A');
			const asB = await shows(asA, { cid: 'B' });
			await buys('B-1', 'B');
			await shows(asB, { events: [{ name: 'checkout', tid: 'B-2' }] });
			await buys('B-2', null);
			const phone = await shows({}, { cid: 'A' });
			await buys('A-3', 'A');
			const laptop = await shows({}, { cid: 'B' });
			await buys('B-3', 'B');
			const ofB = async () => {
				const { events, links } = (await derived(store, accountId)) as {
					events: { tid: string }[];
					links: { vid: string }[];
				};
				const records = [];
				for (const vid of [asB.vid, laptop.vid])
					records.push(await store.read(accountId, visitorRecord(vid)));
				return {
					events: events.filter(({ tid }) => tid.startsWith('B')),
					links: links.filter(({ vid }) => vid === asB.vid || vid === laptop.vid),
					records,
				};
			};
			const before = await ofB();
			assert.deepEqual(
				before.events.map((event) => ({ ...event })),
				['B-1', 'B-2', 'B-3'].map((tid) => ({ tid, cid: tid === 'B-2' ? null : 'B', vid: asB.vid })),
			);
			for (const { vid } of [asA, phone]) {
				const text = JSON.stringify(await store.read(accountId, visitorRecord(vid)));
				assert.match(text, /"A"/);
				assert.doesNotMatch(text, /"B/);
			}
			const would = await erasable(store, accountId, { cid: 'A' });
			assert.deepEqual(would, {
				vids: [asA.vid, phone.vid].sort(),
				hits: 3,
				visits: 2,
				events: 2,
				links: 2,
			});
			const { revoked: _, ...erased } = await eraseCustomerVisitors(store, accountId, 'A');
			assert.deepEqual(erased, would);
			assert.deepEqual(await ofB(), before);
			await assertAsTheLogSays(store, accountId);
		});

		for (const how of ['an erasure', 'a rebuild'] as const)
			test(`${how} takes visitors apart who have shown several customers`, async () => {
				const { store, writer, accountId } = await openAccountOn(engine);
				const vid = 'a'.repeat(32);
				const moments: [hits: number, fields: Partial<HitRecord>][] = [
					[1, {}],
					[1, { cid: 'A' }],
					// More than are moved at once.
					[600, { title: 'of A' }],
					[1, { cid: 'B' }],
					[600, { title: 'of B' }],
					[1, { title: 'of B', events: [{ name: 'checkout', tid: 'B-2' }] }],
					[1, { cid: 'A', events: [{ name: 'checkout', tid: 'A-2' }] }],
					[1, { cid: 'undefined' }],
					[1, { cid: 'B', title: 'of B' }],
				];
				let atMs = receivedAtMs;
				const hits = moments.flatMap(([count, fields]) =>
					Array.from(
						{ length: count },
						(): HistoryHit => ({
							vid,
							sid: null,
							atMs: atMs++,
							body: body({ ...fields, page: String(atMs) }),
						}),
					),
				);
				for (let from = 0; from < hits.length; from += 100)
					await store.transact(accountId, () => storeHistory(hits.slice(from, from + 100), []));
				const laptop = await writer.storeHit(accountId, hit({ atMs: atMs++ }, { cid: 'B' }));
				await upload(writer, accountId, [
					subscriptionEvent({ tid: 'A-1', subid: 'A', cid: 'A' }),
					subscriptionEvent({ tid: 'A-2', subid: 'A', cid: null }),
					subscriptionEvent({ tid: 'B-1', subid: 'B', cid: 'B' }),
					subscriptionEvent({ tid: 'B-2', subid: 'B-2', cid: null }),
				]);
				await foldAll(store, accountId);
				const ofA = 604;
				const secret = await store.control.visitorSecret(accountId);
				const other = derivedVid(secret, 'customer', vid, 'B');
				const eventsNow = async () =>
					((await derived(store, accountId)) as { events: object[] }).events.map((event) => ({ ...event }));
				const ofB = [
					{ tid: 'B-1', cid: 'B', vid: other },
					{ tid: 'B-2', cid: null, vid: other },
				];
				if (how === 'an erasure') {
					const would = await erasable(store, accountId, { cid: 'A' });
					assert.deepEqual(would, {
						vids: [vid],
						shared: [vid],
						hits: ofA,
						visits: 1,
						events: 2,
						links: 3,
					});
					const erased = await eraseCustomerVisitors(store, accountId, 'A');
					assert.deepEqual([erased.vids, erased.hits, erased.events, erased.links], [[vid], ofA, 2, 3]);
					assert.deepEqual(await eventsNow(), [
						{ tid: 'A-1', cid: null, vid: null },
						{ tid: 'A-2', cid: null, vid: null },
						...ofB,
					]);
					assert.equal(await store.read(accountId, visitorRecord(vid)), null);
				} else {
					const { apart } = await rebuildAll(store, accountId);
					assert.equal(apart, 1);
					assert.deepEqual(await eventsNow(), [
						{ tid: 'A-1', cid: 'A', vid },
						{ tid: 'A-2', cid: null, vid },
						...ofB,
					]);
					const record = await store.read(accountId, visitorRecord(vid));
					assert.equal(record?.hits.length, ofA);
					assert.doesNotMatch(JSON.stringify(record), /B/);
				}
				const record = await store.read(accountId, visitorRecord(other));
				assert.deepEqual([record?.hits.length, record?.profile?.hits], [603, 603]);
				assert.doesNotMatch(JSON.stringify(record), /"A|of A/);
				assert.equal((await store.read(accountId, visitorRecord(laptop.vid)))?.hits.length, 1);
				// Whoever comes back to the browser is whom the log says.
				const back = await writer.storeHit(
					accountId,
					hit({ vid, visitorSecret: secret, atMs: atMs++ }, { cid: 'B' }),
				);
				if (how === 'a rebuild') assert.deepEqual([back.vid, back.firstVid], [other, vid]);
				await assertAsTheLogSays(store, accountId);
			});

		for (const how of ['an erasure', 'a rebuild'] as const)
			test(`whoever repeats ${how} after a kill between any two transactions of taking a visitor apart completes it`, {
				skip: !engine.isFolder && takesLong,
			}, async () => {
				for (let kills = 0, isDone = false; !isDone; kills += quick ? 3 : 1) {
					const { store, writer, accountId } = await openAccountOn(engine);
					const vid = 'a'.repeat(32);
					const moments: Partial<HitRecord>[] = [
						{ cid: 'A' },
						{ cid: 'B' },
						{ cid: 'C' },
						{},
						{ cid: 'B' },
						{ events: [{ name: 'checkout', tid: 'B-2' }] },
						{ cid: 'A', events: [{ name: 'checkout', tid: 'A-2' }] },
						{ cid: 'C' },
					];
					const hits = moments.map(
						(fields, place): HistoryHit => ({
							vid,
							sid: null,
							atMs: receivedAtMs + place,
							body: body({ ...fields, page: String(place) }),
						}),
					);
					await store.transact(accountId, () => storeHistory(hits, []));
					await upload(writer, accountId, [
						subscriptionEvent({ tid: 'A-1', subid: 'A', cid: 'A' }),
						subscriptionEvent({ tid: 'A-2', subid: 'A', cid: null }),
						subscriptionEvent({ tid: 'B-1', subid: 'B', cid: 'B' }),
						subscriptionEvent({ tid: 'B-2', subid: 'B-2', cid: null }),
						subscriptionEvent({ tid: 'C-1', subid: 'C', cid: 'C' }),
					]);
					// Of the first hits, only links are left.
					await store.transact(accountId, () => prune(receivedAtMs + 4, true));
					await foldAll(store, accountId);
					const killed = killedBefore(store, kills);
					const operation =
						how === 'an erasure' ? takeVisitorApart(killed, accountId, vid) : rebuildAll(killed, accountId);
					isDone = await operation.then(
						() => true,
						(error) => {
							assert.ok(error instanceof Killed);
							return false;
						},
					);
					if (how === 'an erasure') await eraseCustomerVisitors(store, accountId, 'B');
					else await rebuildAll(store, accountId);
					await foldAll(store, accountId);
					const { log } = await readStored(store, accountId);
					const titles = Map.groupBy(log.hits, (one) => one.vid);
					const pagesOf = [...titles.values()].map((own) => own.map(({ body: { page } }) => page).join());
					assert.deepEqual(
						pagesOf.sort(),
						how === 'an erasure' ? ['6', '7'] : ['4,5', '6', '7'],
						`the hits of each customer, killed before transaction ${kills}`,
					);
					assert.equal(log.events.filter(({ cid }) => cid === 'B').length, how === 'an erasure' ? 0 : 1);
					assert.equal(
						log.kept.links.some(({ key }) => key === 'c:B'),
						how === 'a rebuild',
					);
					await assertAsTheLogSays(store, accountId);
				}
			});

		test('a sale that a customer could not have is the next visitor’s who has shown it, once the customer is erased', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const events = [{ name: 'order', tid: 'T' }];
			const customer = await writer.storeHit(accountId, hit({}, { cid: 'A', events }));
			const browser = await writer.storeHit(accountId, hit({ atMs: receivedAtMs + 1 }, { events }));
			await upload(writer, accountId, [subscriptionEvent({ tid: 'T', cid: 'B' })]);
			const ownerNow = async () =>
				((await derived(store, accountId)) as { events: { vid: string | null }[] }).events[0]?.vid;
			assert.equal(await ownerNow(), null);
			await eraseVisitor(store, accountId, customer.vid);
			assert.equal(await ownerNow(), browser.vid);
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
