import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eraseVisitor } from '../../../../src/capabilities/visitors/store/erasure.ts';
import { openAccount } from '../../../shared-server.ts';

async function assertForbidden(answer: Response, what: string): Promise<void> {
	assert.equal(answer.status, 403, what);
	assert.equal(await answer.text(), '{"message":"Forbidden","validationErrors":null}');
	assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
	assert.equal(answer.headers.get('www-authenticate'), null);
	assert.equal(answer.headers.get('access-control-allow-origin'), '*');
	assert.equal(answer.headers.get('cache-control'), 'private, no-store');
}

test('a valid cask is refused for another account, visitor or visit in the query', async () => {
	const { url, hit, aid } = await openAccount();
	const other = await openAccount();
	const { vid, sid, cask } = await hit();
	const ofVisit = await hit({ vid }, {}, '?scope=sid');
	const somebody = await hit();
	for (const more of [
		`&aid=${other.aid}`,
		'&aid=',
		`&aid=${aid}&aid=${aid}`,
		`&vid=${somebody.vid}`,
		`&vid=${vid.toUpperCase()}`,
		'&vid=',
		`&vid=${vid}&vid=${somebody.vid}`,
		`&sid=${sid}`,
		`&vid=${vid}&sid=${sid}`,
	])
		await assertForbidden(await fetch(`${url}/visscores?cask=${cask}${more}`), more);
	for (const more of [`&vid=${vid}`, `&sid=${somebody.sid}`, `&sid=${sid}&vid=${vid}`])
		await assertForbidden(await fetch(`${url}/visscores?cask=${ofVisit.cask}${more}`), more);
});

test('the casks of an erased visitor and of its visits are refused at once', async () => {
	const { url, hit, store, directory, aid } = await openAccount();
	const { vid, cask } = await hit();
	const ofVisit = await hit({ vid }, {}, '?scope=sid');
	const somebody = await hit();
	const { id } = await store.control.account(aid);
	await eraseVisitor(store, id, vid);
	await directory.refresh();
	for (const path of ['/visscores', '/visscores/segments', '/segments'])
		for (const each of [cask, ofVisit.cask])
			await assertForbidden(await fetch(`${url}${path}?cask=${each}`), path);
	assert.equal((await fetch(`${url}/visscores?cask=${somebody.cask}`)).status, 200);
});

test('the casks of a disabled account are refused', async () => {
	const { url, hit, store, directory, aid } = await openAccount();
	const { cask } = await hit();
	await store.control.setAccountDisabled(aid, true);
	await directory.refresh();
	await assertForbidden(await fetch(`${url}/visscores?cask=${cask}`), 'disabled');
	await store.control.setAccountDisabled(aid, false);
	await directory.refresh();
	assert.equal((await fetch(`${url}/visscores?cask=${cask}`)).status, 200);
});
