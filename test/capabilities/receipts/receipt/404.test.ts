import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';
import { event } from '../../../support.ts';
import { askReceipt } from './ask.ts';

const notStored = '{"message":"No subscription event with this tid is stored.","validationErrors":null}';

test('an event that is not stored, was simulated, or has other letter case in its tid', async () => {
	const service = await openAccount();
	await service.upload({ aid: service.aid, data: [event({ tid: 'order-1' })] });
	await service.upload({ aid: service.aid, simulate: true, data: [event({ tid: 'order-2' })] });
	for (const tid of ['order-2', 'Order-1', 'order-1 ', 'constructor']) {
		const answer = await askReceipt(service, tid);
		assert.equal(answer.status, 404, tid);
		assert.equal(await answer.text(), notStored);
		assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
	}
});

test('a path with two names matches no operation', async () => {
	const service = await openAccount();
	for (const path of ['/subscription/a/b', '/receipts/a']) {
		const answer = await fetch(`${service.url}${path}?aid=${service.aid}`, {
			headers: { 'x-api-key': service.key },
		});
		assert.equal(answer.status, 404, path);
		assert.equal(await answer.text(), '{"message":"Not found.","validationErrors":null}');
	}
});
