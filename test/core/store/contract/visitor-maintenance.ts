import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
	erasable,
	eraseCustomerVisitors,
	eraseVisitor,
} from '../../../../src/capabilities/visitors/store/erasure.ts';
import { rebuildAll } from '../../../../src/capabilities/visitors/store/rebuilding.ts';
import { hourMs } from '../../../../src/core/durations.ts';
import { countVisitors } from '../../../../src/core/store/account/reading/visitors.ts';
import { foldAll } from '../../../../src/core/store/fold-all.ts';
import type { Query, Steps } from '../../../../src/core/store/steps.ts';
import { visitorsWith } from '../../../../src/kit/reading/visitor-finding.ts';
import { visitorRecord } from '../../../../src/kit/reading/visitor-record.ts';
import { takesLong } from '../../../quick.ts';
import {
	type Engine,
	openAccountOn,
	receivedAtMs,
	type Serving,
	subscriptionEvent,
	upload,
} from '../engines.ts';
import { addLongLog, longLogVid } from '../long-log.ts';
import { derived, hit } from '../made-hits.ts';

function* run(queries: readonly Query[]): Steps<void> {
	yield queries;
}

/** Three visitors, two of whom have bought. */
async function fill({ writer, accountId }: Serving) {
	const buyer = hit({}, { cid: 'C-care', events: [{ name: 'checkout', tid: 'T-care' }] });
	const customer = hit({ atMs: receivedAtMs + 1 }, { cid: 'C-other' });
	const visitor = hit({ atMs: receivedAtMs + 2 });
	for (const one of [buyer, customer, visitor]) await writer.storeHit(accountId, one);
	const sales = [
		subscriptionEvent({ tid: 'T-care', cid: 'C-care', rvn: 700 }),
		subscriptionEvent({ tid: 'T-by-cid', cid: 'C-other' }),
	];
	await upload(writer, accountId, sales);
	return { buyer, customer, visitor, sales };
}

/** The contract of every engine for maintaining visitors. */
export function visitorMaintenanceContract(engine: Engine): void {
	suite(`looking after visitors on ${engine.name}`, () => {
		test('a record contains everything about one visitor, and nothing about another', async () => {
			const serving = await openAccountOn(engine);
			const { buyer, customer, sales } = await fill(serving);
			const record = await serving.store.transact(serving.accountId, () => visitorRecord(buyer.freshVid));
			const at = new Date(receivedAtMs).toISOString();
			assert.deepEqual(record?.hits, [{ at, sid: buyer.freshSid, ...buyer.body }]);
			assert.deepEqual(
				record?.visits.map(({ sid, profile }) => [sid, profile.hits]),
				[[buyer.freshSid, 1]],
			);
			assert.deepEqual(record?.subscriptionEvents, [{ ...sales[0], receivedAt: at }]);
			assert.deepEqual(record?.identityLinks, [
				{ kind: 'cid', value: 'C-care', at, isProven: true, holds: true },
				{ kind: 'tid', value: 'T-care', at, isProven: true, holds: true },
			]);
			assert.equal(record?.profile?.subscriptions?.revenuePence, 700);
			assert.doesNotMatch(JSON.stringify(record), new RegExp(`${customer.freshVid}|C-other`));
			assert.equal(
				await serving.store.transact(serving.accountId, () => visitorRecord('f'.repeat(32))),
				null,
			);
		});

		test('erasing revokes the casks of the visitor and of all its visits', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const first = hit();
			const issued = await writer.storeHit(accountId, first);
			const later = await writer.storeHit(accountId, hit({ ...issued, atMs: receivedAtMs + hourMs }));
			const kept = await writer.storeHit(accountId, hit());
			const counts = { vids: [issued.vid], hits: 2, visits: 2, events: 0, links: 0 };
			assert.deepEqual(await erasable(store, accountId, { vid: issued.vid }), counts);
			const erasure = await eraseVisitor(store, accountId, issued.vid);
			assert.deepEqual(erasure, { ...counts, revoked: 3 });
			const { revocation = [] } = await store.control.content();
			assert.deepEqual(
				revocation
					.filter((one) => one.account_id === accountId)
					.map(({ subject }) => subject)
					.sort(),
				[issued.vid, issued.sid, later.sid].sort(),
			);
			assert.equal(await store.transact(accountId, () => visitorRecord(issued.vid)), null);
			assert.equal((await store.transact(accountId, () => visitorRecord(kept.vid)))?.hits.length, 1);
			const none = { vids: [issued.vid], hits: 0, visits: 0, events: 0, links: 0 };
			assert.deepEqual(await erasable(store, accountId, { vid: issued.vid }), none);
			assert.deepEqual(await eraseVisitor(store, accountId, issued.vid), { ...none, revoked: 1 });
		});

		test('erasing a customer erases its visitors, and the cid of every sale', async () => {
			const serving = await openAccountOn(engine);
			const { store, accountId } = serving;
			const { buyer } = await fill(serving);
			const alone = subscriptionEvent({ cid: 'C-alone' });
			await upload(serving.writer, accountId, [alone]);
			const counts = { vids: [buyer.freshVid], hits: 1, visits: 1, events: 1, links: 2 };
			assert.deepEqual(await erasable(store, accountId, { cid: 'C-care' }), counts);
			const erasure = await eraseCustomerVisitors(store, accountId, 'C-care');
			assert.deepEqual(erasure, { ...counts, revoked: 2 });
			const aloneCounts = { vids: [], hits: 0, visits: 0, events: 1, links: 0 };
			assert.deepEqual(await erasable(store, accountId, { cid: 'C-alone' }), aloneCounts);
			assert.deepEqual(await eraseCustomerVisitors(store, accountId, 'C-alone'), {
				...aloneCounts,
				revoked: 0,
			});
			assert.doesNotMatch(JSON.stringify(await derived(store, accountId)), /C-care|C-alone/);
			const none = { vids: [], hits: 0, visits: 0, events: 0, links: 0 };
			assert.deepEqual(await erasable(store, accountId, { cid: 'C-care' }), none);
			assert.deepEqual(await eraseCustomerVisitors(store, accountId, 'C-care'), { ...none, revoked: 0 });
		});

		test('what an erasure of a customer would erase is what it erases', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const customer = hit({}, { cid: 'C-1', events: [{ name: 'checkout', tid: 'T-1' }] });
			const phone = hit({ atMs: receivedAtMs + 1 }, { cid: 'C-1' });
			const other = hit({ atMs: receivedAtMs + 2 }, { events: [{ name: 'checkout', tid: 'T-3' }] });
			for (const one of [customer, phone, other]) await writer.storeHit(accountId, one);
			await upload(writer, accountId, [
				subscriptionEvent({ tid: 'T-1', cid: 'C-2' }),
				subscriptionEvent({ tid: 'T-2', cid: 'C-1' }),
				subscriptionEvent({ tid: 'T-3', cid: 'C-1' }),
				subscriptionEvent({ tid: 'T-4', cid: 'C-2' }),
			]);
			const vids = [customer.freshVid, phone.freshVid].sort();
			const would = await erasable(store, accountId, { cid: 'C-1' });
			// T-1 names another customer.
			assert.deepEqual(would, { vids, hits: 2, visits: 2, events: 2, links: 3 });
			assert.deepEqual(await eraseCustomerVisitors(store, accountId, 'C-1'), { ...would, revoked: 4 });
		});

		test('visitors are found by what they have shown, and by their subscription events', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const buyer = hit({}, { cid: 'C-1', events: [{ name: 'checkout', tid: 'T-1' }] });
			const phone = hit({ atMs: receivedAtMs + 1 }, { cid: 'C-1' });
			for (const one of [buyer, phone]) await writer.storeHit(accountId, one);
			await upload(writer, accountId, [
				subscriptionEvent({ tid: 'T-1', subid: 'S-1', cid: 'C-1' }),
				subscriptionEvent({ tid: 'T-2', subid: 'S-1', cid: 'C-1' }),
				subscriptionEvent({ tid: 'T-3', subid: 'S-1' }),
				subscriptionEvent({ tid: 'T-4', subid: 'S-2', cid: 'C-nobody' }),
			]);
			const find = (kind: 'cid' | 'tid' | 'subid', value: string) =>
				store.read(accountId, visitorsWith({ kind, value }));
			const byCid = [
				{ vid: buyer.freshVid, shown: true, events: 2 },
				{ vid: phone.freshVid, shown: true, events: 0 },
			];
			assert.deepEqual(
				await find('cid', 'C-1'),
				byCid.sort((a, b) => (a.vid < b.vid ? -1 : 1)),
			);
			assert.deepEqual(await find('tid', 'T-1'), [{ vid: buyer.freshVid, shown: true, events: 1 }]);
			assert.deepEqual(await find('tid', 'T-3'), [{ vid: buyer.freshVid, shown: false, events: 1 }]);
			assert.deepEqual(await find('subid', 'S-1'), [{ vid: buyer.freshVid, shown: false, events: 3 }]);
			for (const [kind, value] of [
				['cid', 'C-nobody'],
				['subid', 'S-2'],
				['tid', ''],
				['subid', ''],
			] as const)
				assert.deepEqual(await find(kind, value), []);
			await eraseVisitor(store, accountId, buyer.freshVid);
			assert.deepEqual(await find('subid', 'S-1'), []);
		});

		test('rebuilding a sound account changes nothing', async () => {
			const serving = await openAccountOn(engine);
			await fill(serving);
			const before = await derived(serving.store, serving.accountId);
			assert.deepEqual(await rebuildAll(serving.store, serving.accountId), {
				visitors: 3,
				apart: 0,
				changed: 0,
			});
			assert.deepEqual(await derived(serving.store, serving.accountId), before);
			assert.equal(await serving.store.transact(serving.accountId, () => countVisitors()), 3);
		});

		const unknown = 'f'.repeat(32);
		const damages: Readonly<Record<string, string | Query>> = {
			'every profile': `UPDATE @visitor SET profile = '{}'`,
			'a visit of the wrong visitor': 'UPDATE @visit SET vid = (SELECT max(vid) FROM @visitor)',
			'all visits gone': 'DELETE FROM @visit',
			'all visitors gone': 'DELETE FROM @visitor',
			'all links gone': 'DELETE FROM @claim',
			'no event joined': 'UPDATE @subscription_event SET vid = NULL',
			'events of a visitor whom nobody knows': `UPDATE @subscription_event SET vid = '${unknown}'`,
			'what no hit has led to': {
				sql: 'INSERT INTO @visitor (vid, profile) ?rows',
				rows: [[unknown, '{}']],
			},
			'a visit that no hit has led to': {
				sql: 'INSERT INTO @visit (sid, vid, profile) ?rows',
				rows: [['s', unknown, '{}']],
			},
			'a link that no hit has made': `INSERT INTO @claim (key, at, vid) VALUES ('t:T-care', 1, '${unknown}')`,
		};
		test('rebuilding repairs anything wrong', async () => {
			const serving = await openAccountOn(engine);
			const { store, accountId } = serving;
			await fill(serving);
			const before = await derived(store, accountId);
			for (const [what, damage] of Object.entries(damages)) {
				await store.transact(accountId, () => run([typeof damage === 'string' ? { sql: damage } : damage]));
				const { changed } = await rebuildAll(store, accountId);
				assert(changed > 0 || what.includes('link'), what);
				assert.deepEqual(await derived(store, accountId), before, what);
			}
		});

		test('rebuilding repairs anything wrong with a visitor of many hits, in short pieces', {
			skip: !engine.isFolder && takesLong,
		}, async () => {
			const serving = await openAccountOn(engine);
			const { store, writer, accountId } = serving;
			await addLongLog(store, accountId, 1700, receivedAtMs);
			const shown = { cid: 'C-long', events: [{ name: 'checkout', tid: 'T-long' }] };
			await writer.storeHit(accountId, hit({ vid: longLogVid, atMs: receivedAtMs + 1 }, shown));
			await upload(writer, accountId, [
				subscriptionEvent({ tid: 'T-long' }),
				subscriptionEvent({ cid: 'C-long' }),
			]);
			await fill(serving);
			await foldAll(store, accountId);
			const before = await derived(store, accountId);
			for (const [what, damage] of Object.entries(damages)) {
				await store.transact(accountId, () => run([typeof damage === 'string' ? { sql: damage } : damage]));
				await rebuildAll(store, accountId);
				assert.deepEqual(await derived(store, accountId), before, what);
			}
		});
	});
}
