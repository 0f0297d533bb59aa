import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';
import { visitorsOf } from './image.ts';

test('only GET stores a hit; HEAD does not', async () => {
	const service = await openAccount();
	for (const method of ['HEAD', 'POST', 'DELETE']) {
		const answer = await fetch(`${service.url}/hit.gif?aid=${service.aid}`, { method });
		assert.equal(answer.status, 405, method);
		assert.equal(answer.headers.get('allow'), 'GET');
	}
	assert.equal(await visitorsOf(service), 0);
});
