import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';

test('a body that is neither JSON nor plain text in UTF-8, or is compressed', async () => {
	const { sendHit } = await openAccount();
	for (const headers of [
		{ 'content-type': 'application/x-www-form-urlencoded' },
		{ 'content-type': 'text/plain; charset=latin1' },
		{ 'content-encoding': 'gzip' },
	] as Record<string, string>[]) {
		const answer = await sendHit({}, headers);
		assert.equal(answer.status, 415);
		assert.match(await answer.text(), /^\{"message":"Unsupported media type\."/);
		assert.equal(answer.headers.get('access-control-allow-origin'), '*');
	}
});
