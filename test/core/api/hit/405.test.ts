import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';

test('only POST is allowed, and pages of every origin may read the error', async () => {
	const { url } = await openAccount();
	for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']) {
		const answer = await fetch(`${url}/hit`, { method });
		assert.equal(answer.status, 405, method);
		const body = method === 'HEAD' ? '' : '{"message":"Method not allowed.","validationErrors":null}';
		assert.equal(await answer.text(), body);
		assert.equal(answer.headers.get('allow'), 'POST');
		assert.equal(answer.headers.get('access-control-allow-origin'), '*');
	}
});
