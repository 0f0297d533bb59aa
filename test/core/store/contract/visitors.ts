import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { storeHistory } from '../../../../src/capabilities/history/store/past-history.ts';
import { prune } from '../../../../src/capabilities/upkeep/store/pruning.ts';
import { eraseCustomerVisitors, eraseVisitor } from '../../../../src/capabilities/visitors/store/erasure.ts';
import { rebuildAll } from '../../../../src/capabilities/visitors/store/rebuilding.ts';
import type { ArrivingHit } from '../../../../src/core/domain/stored-hit.ts';
import { minuteMs } from '../../../../src/core/durations.ts';
import { countVisitors, visitorsFrom } from '../../../../src/core/store/account/reading/visitors.ts';
import { foldAll } from '../../../../src/core/store/fold-all.ts';
import type { Steps } from '../../../../src/core/store/steps.ts';
import type { OpenStore } from '../../../../src/core/store/store.ts';
import { examples } from '../../../quick.ts';
import { addAccount, type Engine, openAccountOn, subscriptionEvent, upload } from '../engines.ts';
import { body, derived, hit, newId, startMs } from '../made-hits.ts';

function* allVisitors(): Steps<string[]> {
	const [rows = []] = yield [{ sql: 'SELECT DISTINCT vid FROM @logged_hit' }];
	return rows.map(({ vid }) => String(vid));
}

/** Rebuilds all visitors, and expects no change. */
export async function assertAsTheLogSays(store: OpenStore, accountId: number): Promise<void> {
	await foldAll(store, accountId);
	const before = await derived(store, accountId);
	const vids = await store.transact(accountId, () => allVisitors());
	assert.deepEqual(await rebuildAll(store, accountId), { visitors: vids.length, apart: 0, changed: 0 });
	assert.deepEqual(await derived(store, accountId), before);
}

async function ownerOf(store: OpenStore, accountId: number, tid: string): Promise<unknown> {
	const { events } = (await derived(store, accountId)) as { events: { tid: string; vid: string | null }[] };
	return events.find((event) => event.tid === tid)?.vid;
}

async function profile(store: OpenStore, accountId: number, vid: string) {
	const reader = store.startReading();
	try {
		return await reader.visitor(accountId, vid);
	} finally {
		await reader.close();
	}
}

/** The contract of every engine for hits, joins and profiles. */
export function visitorContract(engine: Engine): void {
	suite(`visitors on ${engine.name}`, () => {
		test('the first hit creates a visitor and a visit; the next one continues both', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const first = hit();
			const issued = await writer.storeHit(accountId, first);
			assert.deepEqual(issued, { vid: first.freshVid, sid: first.freshSid });
			const next = hit({ ...issued, atMs: startMs + minuteMs }, { page: 'checkout' });
			assert.deepEqual(await writer.storeHit(accountId, next), issued);
			const stored = await profile(store, accountId, issued.vid);
			assert.equal(stored?.hits, 2);
			assert.equal(stored?.visits, 1);
			assert.equal(stored?.dwellMs, minuteMs);
			assert.deepEqual(stored?.pageTimes, [
				['pricing', startMs],
				['checkout', startMs + minuteMs],
			]);
			await assertAsTheLogSays(store, accountId);
		});

		test('all visitors can be read in order of arrival, a page at a time', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const hits = [hit(), hit({}, { page: 'checkout' }), hit()];
			for (const each of hits) await writer.storeHit(accountId, each);
			assert.equal(await store.read(accountId, countVisitors()), 3);
			const first = await store.read(accountId, visitorsFrom(0, 2));
			const rest = await store.read(accountId, visitorsFrom(first.at(-1)?.id ?? 0, 2));
			const all = [...first, ...rest];
			assert.deepEqual([first.length, rest.length], [2, 1]);
			assert.deepEqual(
				all.map(({ vid }) => vid),
				hits.map(({ freshVid }) => freshVid),
			);
			for (const { vid, profile: paged } of all)
				assert.deepEqual(paged, await profile(store, accountId, vid));
		});

		test('a visit ends after 30 minutes without a hit', async () => {
			const { writer, accountId } = await openAccountOn(engine);
			const issued = await writer.storeHit(accountId, hit());
			const within = await writer.storeHit(accountId, hit({ ...issued, atMs: startMs + 30 * minuteMs - 1 }));
			assert.equal(within.sid, issued.sid);
			const after = await writer.storeHit(accountId, hit({ ...issued, atMs: startMs + 60 * minuteMs }));
			assert.equal(after.vid, issued.vid);
			assert.notEqual(after.sid, issued.sid);
		});

		for (const [told, sid] of [
			['no visit', null],
			['a visit that is not there', newId()],
		] as const)
			test(`a page that sends ${told} continues the visit in progress`, async () => {
				const { store, writer, accountId } = await openAccountOn(engine);
				const issued = await writer.storeHit(accountId, hit());
				const next = hit({ vid: issued.vid, sid, atMs: startMs + minuteMs }, { page: 'checkout' });
				assert.deepEqual(await writer.storeHit(accountId, next), issued);
				await assertAsTheLogSays(store, accountId);
			});

		test("an unknown vid, and another visitor's sid, are replaced", async () => {
			const { writer, accountId } = await openAccountOn(engine);
			const unknown = hit({ vid: newId(), sid: newId() });
			assert.deepEqual(await writer.storeHit(accountId, unknown), {
				vid: unknown.freshVid,
				sid: unknown.freshSid,
			});
			const other = await writer.storeHit(accountId, hit());
			const mixed = hit({ vid: unknown.freshVid, sid: other.sid, atMs: startMs + 1 });
			assert.deepEqual(await writer.storeHit(accountId, mixed), {
				vid: unknown.freshVid,
				sid: unknown.freshSid,
			});
		});

		test('a vid of another account is replaced', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const other = await addAccount(store, undefined, 'other');
			const issued = await writer.storeHit(accountId, hit());
			const foreign = hit({ ...issued });
			assert.equal((await writer.storeHit(other, foreign)).vid, foreign.freshVid);
		});

		for (const first of ['hit', 'upload'])
			test(`a sale that starts on a page and is approved later is joined, with the ${first} first`, async () => {
				const { store, writer, accountId } = await openAccountOn(engine);
				const sale = hit({}, { events: [{ name: 'checkout', tid: 'T-joined' }] });
				const approval = subscriptionEvent({ tid: 'T-joined', rvn: 1250 });
				if (first === 'hit') await writer.storeHit(accountId, sale);
				await upload(writer, accountId, [approval, subscriptionEvent()]);
				if (first === 'upload') await writer.storeHit(accountId, sale);
				const stored = await profile(store, accountId, sale.freshVid);
				assert.equal(stored?.subscriptions?.count, 1);
				assert.equal(stored?.subscriptions?.revenuePence, 1250);
				await assertAsTheLogSays(store, accountId);
			});

		test('cid links if tid does not; tid takes precedence over cid', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const customer = hit({}, { cid: 'C-linked' });
			const buyer = hit({ atMs: startMs + 1 }, { events: [{ name: 'checkout', tid: 'T-both' }] });
			await writer.storeHit(accountId, customer);
			await upload(writer, accountId, [
				subscriptionEvent({ tid: 'T-both', cid: 'C-linked' }),
				subscriptionEvent({ tid: 'T-only-cid', cid: 'C-linked' }),
			]);
			assert.equal(await ownerOf(store, accountId, 'T-both'), customer.freshVid);
			await writer.storeHit(accountId, buyer);
			assert.equal(await ownerOf(store, accountId, 'T-both'), buyer.freshVid);
			assert.equal(await ownerOf(store, accountId, 'T-only-cid'), customer.freshVid);
			assert.equal((await profile(store, accountId, customer.freshVid))?.subscriptions?.count, 1);
			await assertAsTheLogSays(store, accountId);
		});

		test('of two visitors who show one tid, the first owns it', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const events = [{ name: 'checkout', tid: 'T-claimed' }];
			const first = hit({}, { events });
			await writer.storeHit(accountId, first);
			await writer.storeHit(accountId, hit({ atMs: startMs + 1 }, { events }));
			await upload(writer, accountId, [subscriptionEvent({ tid: 'T-claimed' })]);
			assert.equal(await ownerOf(store, accountId, 'T-claimed'), first.freshVid);
			await assertAsTheLogSays(store, accountId);
		});

		test('a simulated upload joins nothing', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const sale = hit({}, { events: [{ name: 'checkout', tid: 'T-simulated' }] });
			await writer.storeHit(accountId, sale);
			await upload(writer, accountId, [subscriptionEvent({ tid: 'T-simulated' })], { simulate: true });
			assert.equal((await profile(store, accountId, sale.freshVid))?.subscriptions, null);
		});

		test('no join is missed between concurrent hits and uploads', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const sales = Array.from({ length: 40 }, (_, index) => `T-at-once-${index}`);
			const hits = sales.map((tid, index) =>
				hit({ atMs: startMs + index }, { events: [{ name: 'checkout', tid }] }),
			);
			await Promise.all(
				sales.flatMap((tid, index) => [
					writer.storeHit(accountId, hits[index] as ArrivingHit),
					upload(writer, accountId, [subscriptionEvent({ tid })]),
				]),
			);
			for (const [index, tid] of sales.entries())
				assert.equal(await ownerOf(store, accountId, tid), hits[index]?.freshVid);
			await assertAsTheLogSays(store, accountId);
		});

		test('erasing a visitor keeps the sale, without visitor and customer', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const gone = hit({}, { cid: 'C-gone', events: [{ name: 'checkout', tid: 'T-gone' }] });
			const kept = hit({ atMs: startMs + 5 });
			await writer.storeHit(accountId, gone);
			await writer.storeHit(accountId, kept);
			await upload(writer, accountId, [subscriptionEvent({ tid: 'T-gone', cid: 'C-gone' })]);
			assert.deepEqual(await eraseVisitor(store, accountId, gone.freshVid), {
				vids: [gone.freshVid],
				revoked: 2,
				hits: 1,
				visits: 1,
				events: 1,
				links: 2,
			});
			const { visitors, visits, links, events } = (await derived(store, accountId)) as Record<
				string,
				object[]
			>;
			assert.equal(visitors?.length, 1);
			assert.equal(visits?.length, 1);
			assert.deepEqual(links, []);
			assert.deepEqual(events, [{ tid: 'T-gone', cid: null, vid: null }]);
			// The page still has its cookie.
			const again = hit({ vid: gone.freshVid, sid: gone.freshSid });
			assert.equal((await writer.storeHit(accountId, again)).vid, again.freshVid);
		});

		test('erasing a customer finds every visitor who has shown the cid', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const laptop = hit({}, { cid: 'C-two' });
			const phone = hit({ atMs: startMs + 1 }, { cid: 'C-two' });
			await writer.storeHit(accountId, laptop);
			await writer.storeHit(accountId, phone);
			const event = subscriptionEvent({ cid: 'C-two' });
			await upload(writer, accountId, [event]);
			const { vids } = await eraseCustomerVisitors(store, accountId, 'C-two');
			assert.deepEqual(vids, [laptop.freshVid, phone.freshVid].sort());
			assert.deepEqual(await derived(store, accountId), {
				visitors: [],
				visits: [],
				links: [],
				touches: [],
				events: [{ tid: event.tid, cid: null, vid: null }],
			});
		});

		test('pruned hits no longer count', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const old = hit({}, { page: 'old' });
			const issued = await writer.storeHit(accountId, old);
			await writer.storeHit(accountId, hit({ ...issued, atMs: startMs + 90 * minuteMs }, { page: 'new' }));
			const onlyOld = await writer.storeHit(accountId, hit());
			const cutMs = startMs + 10 * minuteMs;
			assert.equal(await store.transact(accountId, () => prune(cutMs)), 2);
			assert.equal(await store.transact(accountId, () => prune(cutMs)), 0);
			const stored = await profile(store, accountId, issued.vid);
			assert.equal(stored?.hits, 1);
			assert.deepEqual(stored?.pageTimes, [['new', startMs + 90 * minuteMs]]);
			assert.equal(await profile(store, accountId, onlyOld.vid), null);
			await assertAsTheLogSays(store, accountId);
		});

		test('a late hit counts as if it had arrived in time', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const issued = await writer.storeHit(accountId, hit({ atMs: startMs + 20 * minuteMs }));
			await writer.storeHit(accountId, hit({ ...issued, atMs: startMs }, { page: 'first' }));
			await writer.storeHit(accountId, hit({ ...issued, atMs: startMs + 10 * minuteMs }));
			const stored = await profile(store, accountId, issued.vid);
			assert.equal(stored?.landingPage, 'first');
			assert.deepEqual([stored?.hits, stored?.visits, stored?.dwellMs], [3, 1, 20 * minuteMs]);
			await assertAsTheLogSays(store, accountId);
		});

		test('any order of arrival gives the same links, joins and profiles', async () => {
			const { store } = await openAccountOn(engine);
			await fc.assert(
				fc.asyncProperty(
					fc.array(arrival, { minLength: 2, maxLength: 14 }),
					fc.infiniteStream(fc.nat()),
					async (script, dice) => {
						const shuffled = [...script]
							.map((entry) => [dice.next().value ?? 0, entry] as const)
							.sort(([a], [b]) => a - b)
							.map(([, entry]) => entry);
						const inOrder = [...script].sort((a, b) => a.atMs - b.atMs);
						const [one, other] = [await addAccount(store), await addAccount(store)];
						for (const entry of inOrder) await store.transact(one, () => arrive(entry));
						for (const entry of shuffled) await store.transact(other, () => arrive(entry));
						assert.deepEqual(await derived(store, other), await derived(store, one));
						// Takes those apart who have shown several customers.
						if (hasShared(script)) await rebuildAll(store, other);
						await assertAsTheLogSays(store, other);
					},
				),
				{ numRuns: examples(engine.isFolder ? 20 : 12) },
			);
		});
	});
}

type Arrival =
	| {
			type: 'hit';
			atMs: number;
			visitor: number;
			visit: number;
			tid: number | null;
			cid: number | null;
			page: number;
	  }
	| { type: 'upload'; atMs: number; tid: number; cid: number | null };

function hasShared(script: readonly Arrival[]): boolean {
	const cids = new Map<number, number>();
	return script.some((entry) => {
		if (entry.type !== 'hit' || entry.cid === null) return false;
		return cids.getOrInsert(entry.visitor, entry.cid) !== entry.cid;
	});
}

const small = fc.integer({ min: 0, max: 3 });
const maybe = fc.option(small);
const time = fc.integer({ min: 0, max: 300 }).map((minutes) => startMs + minutes * minuteMs);

const arrival: fc.Arbitrary<Arrival> = fc.oneof(
	fc.record({
		type: fc.constant('hit' as const),
		atMs: time,
		visitor: small,
		visit: small,
		tid: maybe,
		cid: maybe,
		page: small,
	}),
	// One upload for each tid: the first write wins by design, so two would depend on the order.
	fc
		.record({ type: fc.constant('upload' as const), tid: small, cid: fc.constant(null) })
		.chain(({ type, tid }) =>
			fc.constant({ type, tid, cid: tid % 2 === 0 ? tid : null, atMs: startMs + tid * 70 * minuteMs }),
		),
);

function* arrive(entry: Arrival): Steps<unknown> {
	if (entry.type === 'upload')
		return yield* storeHistory(
			[],
			[
				{
					tid: `T-${entry.tid}`,
					subid: 'S-1',
					cid: entry.cid === null ? null : `C-${entry.cid}`,
					evt: 'newsletter',
					rvn: 100,
					receivedAtMs: entry.atMs,
				},
			],
		);
	const vid = String(entry.visitor).padStart(32, 'a');
	return yield* storeHistory(
		[
			{
				vid,
				sid: `${entry.visitor}${entry.visit}`.padStart(32, 'b'),
				atMs: entry.atMs,
				body: body({
					page: `page-${entry.page}`,
					channel: ['direct', 'email', 'internal', 'social'][entry.page] as string,
					// Two hits that differ only in their visit would count as one.
					url: `https://shop.example/${entry.visit}/page-${entry.page}`,
					events: entry.tid === null ? [] : [{ name: 'checkout', tid: `T-${entry.tid}` }],
					cid: entry.cid === null ? null : `C-${entry.cid}`,
				}),
			},
		],
		[],
	);
}
