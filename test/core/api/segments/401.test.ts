import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';

test('a missing or invalid cask is refused, on both paths', async () => {
	const { url } = await openAccount();
	for (const path of ['/visscores/segments', '/segments'])
		for (const query of ['', '?cask=x']) {
			const answer = await fetch(url + path + query);
			assert.equal(answer.status, 401);
			assert.equal(await answer.text(), '{"message":"Unauthorized","validationErrors":null}');
			assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer error="invalid_token"/);
			assert.equal(answer.headers.get('access-control-allow-origin'), '*');
		}
});
