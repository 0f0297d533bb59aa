import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type IdTrust, signId } from '../../../../src/core/domain/signed-id.ts';
import { openAccount } from '../../../shared-server.ts';
import { event, type ServedAccount } from '../../../support.ts';

type Told = { readonly ignored?: string; readonly segments: readonly { readonly id: string }[] };

/** What a page that shows these ids is told. */
async function shows({ hit }: ServedAccount, fields: object): Promise<Told> {
	return (await hit(fields, {}, '?include=segments')) as unknown as Told;
}

const isSubscriber = ({ segments }: Told) => segments.some(({ id }) => id === 'subscriber');

async function openSigning(idTrust: IdTrust) {
	const account = await openAccount();
	const { id } = await account.store.control.account(account.aid);
	const secret = await account.store.control.identitySecret(id);
	await account.store.control.updateAccount(account.aid, { idTrust });
	await account.directory.refresh();
	const data = [event({ tid: 'order-1', cid: 'customer-42' }), event({ tid: 'order-2' })];
	assert.equal((await account.upload({ aid: account.aid, data })).status, 201);
	return { ...account, id, secret };
}

const shownCid = (cid: string) => ({ cid });
const shownTid = (tid: string) => ({ events: [{ name: 'order', tid }] });

test('where ids must be signed, a stranger who guesses one learns nothing and takes nothing', async () => {
	const account = await openSigning('signed');
	const { secret } = account;
	const wrong = 'f'.repeat(64);
	for (const [fields, ignored] of [
		[shownCid('customer-42'), 'cid must be signed'],
		[shownCid(`customer-42~${wrong}`), 'cid must have a right signature'],
		[shownCid(signId(secret, 'tid', 'customer-42')), 'cid must have a right signature'],
		[shownTid('order-2'), 'events[0].tid must be signed'],
		[shownTid(signId(secret, 'cid', 'order-2')), 'events[0].tid must have a right signature'],
	] as const) {
		const told = await shows(account, fields);
		assert.equal(told.ignored, ignored);
		assert.equal(isSubscriber(told), false, ignored);
	}
	const customer = await shows(account, shownCid(signId(secret, 'cid', 'customer-42')));
	assert.equal(customer.ignored, undefined);
	assert.equal(isSubscriber(customer), true);
	assert.equal(isSubscriber(await shows(account, shownTid(signId(secret, 'tid', 'order-2')))), true);
});

test('where ids are claimed, a stranger is not told what was uploaded before, and whoever signs is', async () => {
	const account = await openSigning('claimed');
	const { secret, aid } = account;
	const wrong = 'f'.repeat(64);
	for (const [fields, ignored] of [
		[shownCid('customer-42'), undefined],
		[shownCid(`customer-42~${wrong}`), 'cid must have a right signature'],
		[shownTid('order-2'), undefined],
	] as const) {
		const told = await shows(account, fields);
		assert.equal(told.ignored, ignored);
		assert.equal(isSubscriber(told), false);
	}
	assert.equal(isSubscriber(await shows(account, shownCid(signId(secret, 'cid', 'customer-42')))), true);
	assert.equal(isSubscriber(await shows(account, shownTid(signId(secret, 'tid', 'order-2')))), true);
	// A sale that begins on a page needs no signature.
	const buyer = (await (await account.sendHit(shownTid('order-3'))).json()) as { vid: string };
	await account.upload({ aid, data: [event({ tid: 'order-3', subid: 'S-3' })] });
	assert.equal(isSubscriber(await shows(account, { vid: buyer.vid })), true);
});

test('an account is made so that ids are claims', async () => {
	const { store, aid } = await openAccount();
	assert.equal((await store.control.account(aid)).idTrust, 'claimed');
});

test('where ids are trusted, a signature is taken away, and a wrong one is named', async () => {
	const account = await openSigning('trusted');
	const wrong = await shows(account, shownCid(`customer-42~${'0'.repeat(64)}`));
	assert.equal(wrong.ignored, 'cid must have a right signature');
	assert.equal(isSubscriber(wrong), true);
	const right = await shows(account, shownTid(signId(account.secret, 'tid', 'order-2')));
	assert.deepEqual([right.ignored, isSubscriber(right)], [undefined, true]);
});

test('after a rotation, both secrets sign', async () => {
	const account = await openSigning('signed');
	const next = await account.store.control.rotateIdentitySecret(account.id);
	assert.notEqual(next, account.secret);
	await account.directory.refresh();
	for (const secret of [next, account.secret]) {
		const told = await shows(account, shownCid(signId(secret, 'cid', 'customer-42')));
		assert.equal(told.ignored, undefined);
	}
	await account.store.control.rotateIdentitySecret(account.id);
	await account.directory.refresh();
	const told = await shows(account, shownCid(signId(account.secret, 'cid', 'customer-42')));
	assert.equal(told.ignored, 'cid must have a right signature');
});

test('an image takes signed ids, too', async (t) => {
	const account = await openSigning('signed');
	const signed = signId(account.secret, 'tid', 'order-2');
	const reader = account.store.startReading();
	t.after(() => reader.close());
	const joined = async () => (await reader.receipts(account.id, ['order-2']))[0]?.joined;
	for (const [tid, isJoined] of [
		['order-2', false],
		[signed, true],
	] as const) {
		const image = await fetch(`${account.url}/hit.gif?aid=${account.aid}&event=order&tid=${tid}`, {
			headers: { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' },
		});
		assert.equal(image.status, 200);
		assert.equal(await joined(), isJoined);
	}
});
