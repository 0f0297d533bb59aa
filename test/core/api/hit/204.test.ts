import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countVisitors } from '../../../../src/core/store/account/reading/visitors.ts';
import { startService } from '../../../support.ts';

test('OPTIONS tells pages of every origin what they may send, stores no hit and uses no budget', async (t) => {
	const { url, store, aid, hit } = await startService(t, { hitsPerAddress: 0.1 });
	for (let count = 0; count < 3; count++) {
		const answer = await fetch(`${url}/hit?scope=sid`, {
			method: 'OPTIONS',
			headers: {
				origin: 'https://acme.example',
				'access-control-request-method': 'POST',
				'access-control-request-headers': 'content-type',
			},
		});
		assert.equal(answer.status, 204);
		assert.equal(await answer.text(), '');
		assert.equal(answer.headers.get('access-control-allow-origin'), '*');
		assert.equal(answer.headers.get('access-control-allow-methods'), 'POST');
		assert.equal(answer.headers.get('access-control-allow-headers'), 'content-type');
		assert.equal(answer.headers.get('access-control-max-age'), '7200');
		assert.equal(answer.headers.get('access-control-allow-credentials'), null);
		assert.equal(answer.headers.get('allow'), 'POST, OPTIONS');
	}
	const { id } = await store.control.account(aid);
	assert.equal(await store.read(id, countVisitors()), 0);
	await hit();
});
