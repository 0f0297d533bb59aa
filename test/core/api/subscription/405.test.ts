import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectTo } from '../../../raw-http.ts';
import { openAccount } from '../../../shared-server.ts';
import { event } from '../../../support.ts';

const methodNotAllowed = '{"message":"Method not allowed.","validationErrors":null}';

test('methods other than POST are refused, and Allow lists POST', async (t) => {
	const service = await openAccount();
	for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'QUERY', 'PROPFIND']) {
		const connection = await connectTo(t, service.url);
		connection.send(
			`${method} /subscription HTTP/1.1\r\nhost: caskade.test\r\nx-api-key: ${service.key}\r\n\r\n`,
		);
		const answer = await connection.answer();
		assert.equal(answer.status, 405, method);
		assert.equal(answer.body, methodNotAllowed);
		assert.equal(answer.headers.get('allow'), 'POST');
		assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
		assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
		connection.destroy();
	}
});

test('HEAD gets the same headers without a body', async () => {
	const service = await openAccount();
	const answer = await fetch(`${service.url}/subscription`, { method: 'HEAD' });
	assert.equal(answer.status, 405);
	assert.equal(answer.headers.get('allow'), 'POST');
	assert.equal(await answer.text(), '');
});

test('is decided before the key, and stores nothing', async () => {
	const service = await openAccount();
	for (const key of ['unknown', service.key]) {
		const answer = await fetch(`${service.url}/subscription`, {
			method: 'PUT',
			headers: { 'x-api-key': key, 'content-type': 'application/json' },
			body: JSON.stringify({ aid: service.aid, data: [event()] }),
		});
		assert.equal(answer.status, 405);
		assert.equal(await answer.text(), methodNotAllowed);
	}
	assert.deepEqual(await service.stored(), []);
});
