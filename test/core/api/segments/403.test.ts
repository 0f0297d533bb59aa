import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';

test('a valid cask is refused for anything but its own subject, on both paths', async () => {
	const { url, hit } = await openAccount();
	const other = await openAccount();
	const { sid, cask } = await hit();
	const somebody = await hit();
	for (const path of ['/visscores/segments', '/segments'])
		for (const more of [`aid=${other.aid}`, `vid=${somebody.vid}`, `sid=${sid}`, 'vid=', 'aid=&aid=']) {
			const answer = await fetch(`${url}${path}?cask=${cask}&${more}`);
			assert.equal(answer.status, 403, more);
			assert.equal(await answer.text(), '{"message":"Forbidden","validationErrors":null}');
			assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
			assert.equal(answer.headers.get('cache-control'), 'private, no-store');
			assert.equal(answer.headers.get('www-authenticate'), null);
			assert.equal(answer.headers.get('access-control-allow-origin'), '*');
		}
});
