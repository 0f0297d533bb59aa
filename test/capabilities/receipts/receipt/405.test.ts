import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';

test('methods other than GET and HEAD are refused, and Allow lists these', async () => {
	const service = await openAccount();
	const headers = { 'x-api-key': service.key };
	for (const [path, allowed] of [
		['/subscription/order-1', 'GET, HEAD'],
		['/subscription/a%2Fb', 'GET, HEAD'],
		['/subscription/receipts', 'GET, HEAD, POST'],
	] as const) {
		const answer = await fetch(service.url + path, { method: 'PUT', headers });
		assert.equal(answer.status, 405, path);
		assert.equal(answer.headers.get('allow'), allowed);
		assert.equal((await fetch(service.url + path, { method: 'OPTIONS' })).status, 403);
	}
	assert.equal((await fetch(`${service.url}/subscription/a/b`, { method: 'PUT', headers })).status, 404);
});
