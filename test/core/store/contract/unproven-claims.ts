import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { prune } from '../../../../src/capabilities/upkeep/store/pruning.ts';
import { eraseVisitor } from '../../../../src/capabilities/visitors/store/erasure.ts';
import type { HitRecord, StoredHit } from '../../../../src/core/domain/stored-hit.ts';
import { hourMs } from '../../../../src/core/durations.ts';
import { profilesOf } from '../../../../src/core/store/account/reading/visitors.ts';
import { foldAll } from '../../../../src/core/store/fold-all.ts';
import { claimedEvents } from '../../../../src/kit/reading/claimed-events.ts';
import { profilesAsOf } from '../../../../src/kit/reading/histories.ts';
import { eventsUpTo } from '../../../../src/kit/reading/journey-events.ts';
import { takesLong } from '../../../quick.ts';
import { type Engine, openAccountOn, type Serving, subscriptionEvent, upload } from '../engines.ts';
import { hit, startMs } from '../made-hits.ts';
import { rowsIn } from '../rows.ts';
import { assertAsTheLogSays } from './visitors.ts';

/** An account on which things happen an hour after each other. */
async function openHours(engine: Engine) {
	const serving = await openAccountOn(engine);
	const { store, writer, accountId } = serving;
	let hours = 0;
	const nowMs = () => startMs + hours * hourMs;
	return {
		...serving,
		nowMs,
		async shows(shown: Partial<HitRecord>, cookie: Partial<StoredHit> = {}): Promise<StoredHit> {
			hours++;
			return writer.storeHit(accountId, hit({ ...cookie, atMs: nowMs() }, shown));
		},
		async uploads(...events: Parameters<typeof subscriptionEvent>[0][]): Promise<void> {
			hours++;
			await upload(writer, accountId, events.map(subscriptionEvent), { atMs: nowMs() });
		},
		/** How many events a visitor's page is told of. */
		async told({ vid }: StoredHit): Promise<number> {
			await foldAll(store, accountId);
			const profiles = await store.read(accountId, profilesOf([vid]));
			return profiles.get(vid)?.subscriptions?.count ?? 0;
		},
	};
}

const claimedCid = (cid: string) => ({ cid, isCidUnproven: true as const });
const claimedTid = (tid: string) => ({ events: [{ name: 'order', tid, isTidUnproven: true as const }] });
const provenTid = (tid: string) => ({ events: [{ name: 'order', tid }] });

/** Whose an event is. */
async function ownerIn({ store, accountId }: Serving, tid: string): Promise<string | null> {
	const events = await rowsIn(store, accountId, 'subscription_event');
	const event = events.find((one) => one.tid === tid);
	return event?.vid as string | null;
}

/** The contract for ids that hits show without a right signature, where the account believes them no further. */
export function unprovenClaimContract(engine: Engine): void {
	suite(`unproven claims on ${engine.name}`, () => {
		test('a claim joins what was uploaded before, but its profile does not have it', async () => {
			for (const claim of [claimedCid('customer-42'), claimedTid('order-1')]) {
				const account = await openHours(engine);
				await account.uploads(
					{ tid: 'order-1', subid: 'S', cid: 'customer-42' },
					{ tid: 'order-2', subid: 'S' },
				);
				const stranger = await account.shows(claim);
				assert.equal(await ownerIn(account, 'order-1'), stranger.vid);
				assert.equal(await ownerIn(account, 'order-2'), stranger.vid);
				assert.equal(await account.told(stranger), 0);
				// What comes later was not known before.
				await account.uploads({ tid: 'order-3', subid: 'S' });
				assert.equal(await account.told(stranger), 1);
				await account.uploads({ tid: 'order-4', subid: 'T', cid: 'customer-42' });
				const isCustomer = 'cid' in claim;
				assert.equal(await account.told(stranger), isCustomer ? 2 : 1);
				await assertAsTheLogSays(account.store, account.accountId);
				assert.equal(await account.told(stranger), isCustomer ? 2 : 1);
			}
		});

		test('what is claimed before its upload is there, as a sale begun on a page is', async () => {
			const account = await openHours(engine);
			const buyer = await account.shows(claimedTid('order-1'));
			await account.uploads({ tid: 'order-1', subid: 'S' }, { tid: 'order-2', subid: 'S' });
			assert.equal(await account.told(buyer), 2);
			await assertAsTheLogSays(account.store, account.accountId);
		});

		test('what stands for a missing id proves nothing, whenever it was shown', async () => {
			const account = await openHours(engine);
			const stranger = await account.shows({ cid: 'undefined' });
			await account.shows(claimedCid('guest'), stranger);
			await account.uploads(
				{ tid: 'order-1', subid: 'S', cid: 'guest' },
				{ tid: 'order-2', cid: 'undefined' },
			);
			await account.shows(claimedTid('order-1'), stranger);
			await account.shows(claimedTid('order-2'), stranger);
			assert.equal(await ownerIn(account, 'order-2'), stranger.vid);
			assert.equal(await account.told(stranger), 0);
			await assertAsTheLogSays(account.store, account.accountId);
			const { store, accountId } = account;
			const profiles = await store.read(accountId, profilesAsOf([stranger.vid], account.nowMs()));
			assert.equal(profiles.get(stranger.vid)?.subscriptions, null);
			const events = await store.read(accountId, eventsUpTo(account.nowMs(), false));
			const options = { asOfMs: account.nowMs(), isWhole: true };
			assert.equal((await store.read(accountId, claimedEvents(events, options))).size, 2);
		});

		test('a proof shows everything, that of another key what it is about', async () => {
			const account = await openHours(engine);
			await account.uploads(
				{ tid: 'order-1', subid: 'S', cid: 'customer-42' },
				{ tid: 'order-2', subid: 'S' },
				{ tid: 'order-3', subid: 'T', cid: 'customer-42' },
			);
			const customer = await account.shows(claimedCid('customer-42'));
			await account.shows(provenTid('order-1'), customer);
			assert.equal(await account.told(customer), 2, 'its order, and what follows its subscription');
			await account.shows({ cid: 'customer-42' }, customer);
			assert.equal(await account.told(customer), 3);
			await assertAsTheLogSays(account.store, account.accountId);
		});

		test('an event that names its visitor shows what follows its subscription', async () => {
			const account = await openHours(engine);
			await account.uploads(
				{ tid: 'order-1', subid: 'S', cid: 'customer-42' },
				{ tid: 'order-2', subid: 'S' },
			);
			const customer = await account.shows(claimedCid('customer-42'));
			await account.shows(provenTid('order-3'), customer);
			assert.equal(await account.told(customer), 0);
			await account.uploads({ tid: 'order-3', subid: 'S' });
			assert.equal(await account.told(customer), 2, 'not what only its customer names');
			await assertAsTheLogSays(account.store, account.accountId);
		});

		test('whoever claims an event that has followed a proven one sees it by the claim from then on', async () => {
			const account = await openHours(engine);
			await account.uploads({ tid: 'order-1', subid: 'S' }, { tid: 'order-2', subid: 'S' });
			const buyer = await account.shows(provenTid('order-1'));
			assert.equal(await account.told(buyer), 2);
			await account.shows(claimedTid('order-2'), buyer);
			assert.equal(await account.told(buyer), 1);
			await assertAsTheLogSays(account.store, account.accountId);
			await account.shows(provenTid('order-2'), buyer);
			assert.equal(await account.told(buyer), 2);
			await assertAsTheLogSays(account.store, account.accountId);
		});

		test('who proves a key holds it, whoever claimed it before, and a claim to an order yields to its customer', async () => {
			const account = await openHours(engine);
			await account.uploads({ tid: 'order-1', cid: 'customer-42' }, { tid: 'order-2' });
			await account.shows(claimedCid('customer-42'));
			const thief = await account.shows(claimedTid('order-1'));
			assert.equal(await ownerIn(account, 'order-1'), thief.vid);
			const customer = await account.shows({ cid: 'customer-42' });
			assert.equal(await ownerIn(account, 'order-1'), customer.vid);
			await account.uploads({ tid: 'order-3', cid: 'customer-42' });
			assert.equal(await ownerIn(account, 'order-3'), customer.vid);
			await account.shows(claimedTid('order-2'), thief);
			const buyer = await account.shows(provenTid('order-2'));
			assert.equal(await ownerIn(account, 'order-2'), buyer.vid);
			const late = await account.shows(provenTid('order-2'));
			assert.equal(await ownerIn(account, 'order-2'), buyer.vid, 'the first to prove it');
			assert.deepEqual([await account.told(customer), await account.told(buyer)], [2, 1]);
			assert.deepEqual([await account.told(thief), await account.told(late)], [0, 0]);
			await assertAsTheLogSays(account.store, account.accountId);
			await eraseVisitor(account.store, account.accountId, buyer.vid);
			assert.equal(await ownerIn(account, 'order-2'), late.vid);
		});

		test('a customer with many events gets them back from a claim, in the background', async () => {
			const account = await openHours(engine);
			const many = Array.from({ length: 70 }, (_, n) => ({
				tid: `T-${n}`,
				subid: `S-${n}`,
				cid: 'customer-42',
			}));
			await account.uploads(...many);
			const stranger = await account.shows(claimedCid('customer-42'));
			assert.equal(await account.told(stranger), 0);
			await account.uploads({ tid: 'T-later', subid: 'S-later', cid: 'customer-42' });
			assert.equal(await account.told(stranger), 1);
			const customer = await account.shows({ cid: 'customer-42' });
			assert.deepEqual([await account.told(stranger), await account.told(customer)], [0, 71]);
			await assertAsTheLogSays(account.store, account.accountId);
		});

		test('a long log shows as much as a short one', async () => {
			const account = await openHours(engine);
			const many = Array.from({ length: 600 }, (_, n) => ({ tid: `T-${n}`, subid: 'S', cid: 'customer-42' }));
			await account.uploads(...many, { tid: 'R', subid: 'S' });
			const customer = await account.shows(claimedCid('customer-42'));
			assert.equal(await account.told(customer), 0);
			await account.uploads({ tid: 'R-2', subid: 'S' });
			assert.equal(await account.told(customer), 1);
			await account.shows({ cid: 'customer-42' }, customer);
			assert.equal(await account.told(customer), 602);
			await assertAsTheLogSays(account.store, account.accountId);
			assert.equal(await account.told(customer), 602);
		});

		test('when retention deletes what proved a key, what is left counts', async () => {
			const account = await openHours(engine);
			const { store, accountId } = account;
			await account.uploads({ tid: 'order-1', cid: 'customer-42' });
			const customer = await account.shows({ cid: 'customer-42' });
			await account.shows(claimedCid('customer-42'), customer);
			const beforeMs = account.nowMs();
			assert.equal(await account.told(customer), 1);
			while ((await store.transact(accountId, () => prune(beforeMs))) > 0);
			assert.equal(await account.told(customer), 0);
			await account.shows({ cid: 'customer-42' }, customer);
			assert.equal(await account.told(customer), 1);
			while ((await store.transact(accountId, () => prune(account.nowMs()))) > 0);
			assert.equal(await account.told(customer), 1);
			await assertAsTheLogSays(store, accountId);
		});

		test('the same of a long log, with and without another proof after many hits', {
			skip: !engine.isFolder && takesLong,
		}, async () => {
			for (const isProvenAgain of [false, true]) {
				const account = await openHours(engine);
				const { store, accountId } = account;
				await account.uploads({ tid: 'order-1', cid: 'customer-42' });
				const customer = await account.shows({ cid: 'customer-42' });
				await account.shows(claimedCid('customer-42'), customer);
				const beforeMs = account.nowMs();
				for (let n = 0; n < 1100; n++) await account.shows({}, customer);
				if (isProvenAgain) await account.shows({ cid: 'customer-42' }, customer);
				while ((await store.transact(accountId, () => prune(beforeMs))) > 0);
				const told = isProvenAgain ? 1 : 0;
				assert.equal(await account.told(customer), told);
				await assertAsTheLogSays(store, accountId);
				assert.equal(await account.told(customer), told);
			}
		});

		test('what only claims join is told apart, as of any moment', async () => {
			const account = await openHours(engine);
			const { store, accountId } = account;
			await account.uploads(
				{ tid: 'order-1', subid: 'S', cid: 'customer-42' },
				{ tid: 'order-2', subid: 'S' },
				{ tid: 'order-3', subid: 'T' },
				{ tid: 'order-4', subid: 'T' },
			);
			const customer = await account.shows(claimedCid('customer-42'));
			const claimedMs = account.nowMs();
			await account.shows(provenTid('order-3'), customer);
			const shownMs = account.nowMs();
			await account.shows({ cid: 'customer-42' }, customer);
			const claimed = (atMs: number, isPast: boolean) =>
				store.read(
					accountId,
					(function* () {
						const events = yield* eventsUpTo(atMs, isPast);
						const ids = yield* claimedEvents(events, { asOfMs: atMs, isWhole: true });
						// By their place in order of arrival.
						return [...ids].map((id) => 1 + events.findIndex((event) => event.id === id)).sort();
					})(),
				);
			assert.deepEqual(await claimed(claimedMs, true), [1, 2]);
			assert.deepEqual(await claimed(shownMs, true), [1, 2]);
			assert.deepEqual(await claimed(account.nowMs(), true), []);
			assert.deepEqual(await claimed(account.nowMs(), false), []);
			await account.uploads(
				{ tid: 'order-5', subid: 'U', cid: 'customer-43' },
				{ tid: 'order-6', subid: 'T' },
			);
			await account.shows(claimedCid('customer-43'));
			assert.deepEqual(await claimed(account.nowMs(), false), [5]);
		});

		test('as of a moment, profiles and owners are as they were then', async () => {
			const account = await openHours(engine);
			const { store, accountId } = account;
			await account.uploads(
				{ tid: 'order-1', subid: 'S', cid: 'customer-42' },
				{ tid: 'order-2', subid: 'S' },
			);
			const stranger = await account.shows(claimedCid('customer-42'));
			const claimedMs = account.nowMs();
			await account.uploads({ tid: 'order-3', subid: 'S' });
			const uploadedMs = account.nowMs();
			const customer = await account.shows(claimedCid('customer-42'));
			await account.shows({ cid: 'customer-42' }, customer);
			const vids = [stranger.vid, customer.vid];
			const asOf = async (atMs: number) => {
				const profiles = await store.read(accountId, profilesAsOf(vids, atMs));
				const events = await store.read(accountId, eventsUpTo(atMs, true));
				return {
					told: vids.map((vid) => profiles.get(vid)?.subscriptions?.count ?? 0),
					owners: [...new Set(events.map(({ vid }) => vids.indexOf(vid ?? '')))],
				};
			};
			assert.deepEqual(await asOf(claimedMs), { told: [0, 0], owners: [0] });
			assert.deepEqual(await asOf(uploadedMs), { told: [1, 0], owners: [0] });
			assert.deepEqual(await asOf(account.nowMs() - 1), { told: [1, 0], owners: [0] });
			assert.deepEqual(await asOf(account.nowMs()), { told: [0, 3], owners: [1] });
			assert.deepEqual([await account.told(stranger), await account.told(customer)], [0, 3]);
		});
	});
}
