import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { storeHistory } from '../../../../src/capabilities/history/store/past-history.ts';
import { copyStore } from '../../../../src/capabilities/upkeep/store/copy.ts';
import { beginErasing } from '../../../../src/capabilities/visitors/store/erasing.ts';
import {
	checkErasures,
	eraseAgain,
	foundAgain,
	missingErasures,
} from '../../../../src/capabilities/visitors/store/erasing-again.ts';
import {
	eraseCustomerVisitors,
	eraseOne,
	eraseVisitor,
} from '../../../../src/capabilities/visitors/store/erasure.ts';
import { customerMarkOf, markOf } from '../../../../src/core/domain/derived-vid.ts';
import type { HistoryHit } from '../../../../src/core/domain/stored-hit.ts';
import { hourMs } from '../../../../src/core/durations.ts';
import { isoTime } from '../../../../src/core/format/iso-time.ts';
import type { OpenStore } from '../../../../src/core/store/store.ts';
import { visitorRecord } from '../../../../src/kit/reading/visitor-record.ts';
import { temporaryFolder } from '../../../support.ts';
import { openStore } from '../../../whole.ts';
import {
	addAccount,
	assertRefuses,
	type Engine,
	receivedAtMs,
	startWritingFor,
	storedEvents,
	subscriptionEvent,
	upload,
} from '../engines.ts';
import { Killed, killedBefore } from '../killed.ts';
import { body, hit, newId } from '../made-hits.ts';
import { rowsIn } from '../rows.ts';
import { assertAsTheLogSays } from './visitors.ts';

const aid = 'c-a-acme-uk';
/** When everything was erased. */
const erasedAtMs = receivedAtMs + hourMs;

interface Place {
	readonly address: string;
	readonly list: string;
}

async function openAt(t: TestContext, { address, list }: Place): Promise<OpenStore> {
	const store = await openStore(address, { now: () => erasedAtMs, erasureList: list });
	t.after(() => store.close());
	return store;
}

/** A store with one account, and what stores a hit or an event of it. */
async function startAt(t: TestContext, place: Place, begin: (store: OpenStore) => Promise<number>) {
	const store = await openAt(t, place);
	const accountId = await begin(store);
	const writer = await startWritingFor(t, store);
	const shows = async (cid: string | null, tid: string, atMs = receivedAtMs) =>
		(await writer.storeHit(accountId, hit({ atMs }, { cid, events: [{ name: 'order', tid }] }))).vid;
	const sells = (tid: string, cid: string | null, atMs = receivedAtMs, toldMs?: number) =>
		upload(
			writer,
			accountId,
			[{ ...subscriptionEvent({ tid, cid }), ...(toldMs !== undefined && { atMs: toldMs }) }],
			{ atMs },
		);
	return { store, accountId, writer, shows, sells };
}

/** Owner and customer of each event. */
async function eventsOf(store: OpenStore, accountId: number) {
	const owners = new Map(
		(await rowsIn(store, accountId, 'subscription_event')).map((row) => [row.tid, row.vid]),
	);
	return Object.fromEntries(
		(await storedEvents(store, accountId)).map(({ tid, cid }) => [tid, [owners.get(tid), cid]]),
	);
}

/** What is missing of an account's erasures, and who was found. */
async function missingIn(store: OpenStore) {
	const account = await store.control.account(aid);
	const { erasures, unknown } = await missingErasures(store, account, store.erasureList.read());
	return { unknown, ...(await foundAgain(store, account, erasures)) };
}

async function again(store: OpenStore) {
	return eraseAgain(store, await store.control.account(aid), store.erasureList.read());
}

/**
 * An account of which a copy was made before a visitor, a customer with two visitors, and somebody who came after the copy were
 * erased. The copy is what a restore puts in its place.
 */
async function restoredCopy(t: TestContext, engine: Engine) {
	const list = join(temporaryFolder(t), 'erasures.jsonl');
	const places = await Promise.all(
		[1, 2].map(async () => ({ address: await engine.installedAddress(t), list })),
	);
	const [place, copy] = places as [Place, Place];
	const source = await startAt(t, place, (store) => addAccount(store, aid));
	const { store, accountId, shows, sells, writer } = source;
	const gone = await shows('C-alone', 'T-gone');
	const phone = await shows('C-gone', 'T-phone');
	const laptop = await shows('C-gone', 'T-laptop');
	const stays = await shows('C-stays', 'T-stays');
	await sells('T-gone', 'C-alone');
	await sells('T-phone', 'C-gone');
	await sells('T-nobody', 'C-gone');
	await sells('T-stays', 'C-stays');
	await writer.stop();
	const restored = await openAt(t, copy);
	await copyStore(store, restored, () => {});
	const later = await startWritingFor(t, store);
	const { vid: absent } = await later.storeHit(accountId, hit());
	for (const vid of [gone, absent]) await eraseVisitor(store, accountId, vid);
	await eraseCustomerVisitors(store, accountId, 'C-gone');
	return { copy, list, restored, store, accountId, visitors: { gone, phone, laptop, stays, absent } };
}

/** The contract for erasing again whom a restored backup has brought back. */
export function erasingAgainContract(engine: Engine): void {
	suite(`erasing again on ${engine.name}`, () => {
		test('whom a backup has brought back is erased again, and nobody else', async (t) => {
			const { copy, restored, accountId, visitors } = await restoredCopy(t, engine);
			const { gone, phone, laptop, stays } = visitors;
			const { shows, sells, store } = await startAt(t, copy, async () => accountId);
			// The customer has come back, with another browser, before anybody has run it.
			const back = await shows('C-gone', 'T-back', erasedAtMs + 1);
			await sells('T-back', 'C-gone', erasedAtMs + 2);
			await sells('T-later', 'C-gone', erasedAtMs + 3, receivedAtMs);
			await sells('T-alone-later', 'C-alone', erasedAtMs + 3);
			assert.deepEqual((await eventsOf(store, accountId))['T-alone-later'], [gone, 'C-alone']);
			assert.deepEqual(await missingIn(store), { unknown: 0, visitors: 3, customers: 1, absent: 1 });
			const before = await eventsOf(restored, accountId);
			assert.deepEqual(before['T-phone'], [phone, 'C-gone']);

			const { visitors: count, customers, absent, hits, events } = await again(store);
			assert.deepEqual({ count, customers, absent, hits }, { count: 3, customers: 1, absent: 1, hits: 3 });
			assert.equal(events, 3);
			for (const vid of [gone, phone, laptop])
				assert.equal(await store.read(accountId, visitorRecord(vid)), null, vid);
			assert.notEqual(await store.read(accountId, visitorRecord(stays)), null);
			assert.deepEqual(await eventsOf(store, accountId), {
				'T-gone': [null, null],
				'T-phone': [null, null],
				'T-nobody': [null, null],
				'T-stays': [stays, 'C-stays'],
				'T-back': [back, 'C-gone'],
				'T-later': [back, 'C-gone'],
				'T-alone-later': [null, 'C-alone'],
			});
			await assertAsTheLogSays(store, accountId);
			assert.deepEqual(await missingIn(store), { unknown: 0, visitors: 0, customers: 0, absent: 0 });
			const { visitors: none, hits: noHits } = await again(store);
			assert.deepEqual([none, noHits], [0, 0]);
		});

		test('killed at any point and run again, it erases the same', async (t) => {
			const { restored, accountId, visitors } = await restoredCopy(t, engine);
			let kills = 0;
			for (let transactions = 1, done = false; !done; transactions += 2)
				try {
					await again(killedBefore(restored, transactions));
					done = true;
				} catch (error) {
					if (!(error instanceof Killed)) throw error;
					kills++;
				}
			assert(kills > 3, `${kills} kills`);
			assert.deepEqual(await missingIn(restored), { unknown: 0, visitors: 0, customers: 0, absent: 0 });
			assert.deepEqual(await eventsOf(restored, accountId), {
				'T-gone': [null, null],
				'T-phone': [null, null],
				'T-nobody': [null, null],
				'T-stays': [visitors.stays, 'C-stays'],
			});
			assert.deepEqual(
				(await rowsIn(restored, accountId, 'visitor')).map(({ vid }) => vid),
				[visitors.stays],
			);
			assert.deepEqual(await rowsIn(restored, accountId, 'task'), []);
			await assertAsTheLogSays(restored, accountId);
		});

		test('an erased customer who came back before the backup stays', async (t) => {
			const list = join(temporaryFolder(t), 'erasures.jsonl');
			const place = { address: await engine.installedAddress(t), list };
			const { store, accountId, shows, sells } = await startAt(t, place, (opened) => addAccount(opened, aid));
			await shows('C-1', 'T-1');
			await eraseCustomerVisitors(store, accountId, 'C-1');
			const back = await shows('C-1', 'T-2', erasedAtMs + 1);
			await sells('T-2', 'C-1', erasedAtMs + 1);
			await again(store);
			assert.deepEqual(await eventsOf(store, accountId), { 'T-2': [back, 'C-1'] });
		});

		test('a visitor of several customers is taken apart first, as it was then', async (t) => {
			const list = join(temporaryFolder(t), 'erasures.jsonl');
			const [place, copy] = [
				{ address: await engine.installedAddress(t), list },
				{ address: await engine.installedAddress(t), list },
			];
			const store = await openAt(t, place);
			const accountId = await addAccount(store, aid);
			const vid = newId();
			const hits = ['C-A', 'C-B'].map(
				(cid, place): HistoryHit => ({ vid, sid: null, atMs: receivedAtMs + place, body: body({ cid }) }),
			);
			await store.transact(accountId, () => storeHistory(hits, []));
			const restored = await openAt(t, copy);
			await copyStore(store, restored, () => {});
			await eraseCustomerVisitors(store, accountId, 'C-A');
			const left = (await rowsIn(store, accountId, 'visitor')).map((row) => row.vid);
			assert.equal(left.length, 1);
			await again(restored);
			assert.deepEqual(
				(await rowsIn(restored, accountId, 'visitor')).map((row) => row.vid),
				left,
			);
			assert.deepEqual(await missingIn(restored), { unknown: 0, visitors: 0, customers: 0, absent: 0 });
		});

		test('nothing is erased where the list cannot be written', async (t) => {
			const { store, accountId, list, visitors } = await restoredCopy(t, engine);
			rmSync(list);
			mkdirSync(list);
			const refused = /^The list of erasures cannot be written \(EISDIR\), so nothing was erased: /;
			await assertRefuses(eraseVisitor(store, accountId, visitors.stays), refused);
			await assertRefuses(eraseCustomerVisitors(store, accountId, 'C-stays'), refused);
			assert.deepEqual((await eventsOf(store, accountId))['T-stays'], [visitors.stays, 'C-stays']);
		});

		test('an erasure that an earlier version has begun is listed when it is completed', async (t) => {
			const { store, accountId, list, visitors } = await restoredCopy(t, engine);
			const marking = await store.control.marking(accountId);
			const mark = markOf(marking.secret, visitors.stays);
			await store.transact(accountId, () =>
				beginErasing(visitors.stays, 1, { mark, successor: newId(), atMs: erasedAtMs - 1 }),
			);
			assert.doesNotMatch(readFileSync(list, 'utf8'), new RegExp(mark));
			await eraseOne(store, accountId, visitors.stays);
			assert.match(readFileSync(list, 'utf8'), new RegExp(mark));
			assert.deepEqual(await missingIn(store), { unknown: 0, visitors: 0, customers: 0, absent: 0 });
		});

		test('the list has marks and times, no ids, and is for its owner alone', async (t) => {
			const { store, accountId, list, visitors, restored } = await restoredCopy(t, engine);
			const { secret } = await store.control.marking(accountId);
			const text = readFileSync(list, 'utf8');
			assert.equal(statSync(list).mode & 0o777, 0o600);
			for (const id of [...Object.values(visitors), 'C-gone', secret]) assert(!text.includes(id));
			const lines = text
				.trim()
				.split('\n')
				.map((line) => JSON.parse(line));
			const [first] = lines;
			assert.deepEqual(lines[2], {
				at: isoTime(erasedAtMs),
				aid,
				customer: customerMarkOf(secret, 'C-gone'),
				secret: first.secret,
			});
			assert.equal(first.visitor, markOf(secret, visitors.gone));

			// A line that was cut off is told, and the next one begins anew.
			appendFileSync(list, '{"at":"2026-');
			await eraseVisitor(store, accountId, visitors.stays);
			const checks = async (one: OpenStore) => Array.fromAsync(checkErasures(one, () => true));
			assert.deepEqual(await checks(store), [
				{
					check: 'erasures',
					ok: false,
					detail: `${list} cannot be read in line 6: delete it, if the erasure failed then`,
				},
			]);
			assert.match(
				(await checks(restored))[0]?.detail ?? '',
				/^listed, but not erased in this database: 6 of c-a-acme-uk\. A backup was restored, or an erasure was interrupted\. Run 'caskade visitor erase-again'; /,
			);
		});
	});
}
