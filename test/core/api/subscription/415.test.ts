import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { connectTo, uploadHead } from '../../../raw-http.ts';
import { openAccount } from '../../../shared-server.ts';
import { event } from '../../../support.ts';

const wrongType =
	'{"message":"Unsupported media type.","validationErrors":"content-type must be application/json, in UTF-8"}';
const compressed =
	'{"message":"Unsupported media type.","validationErrors":"the body must not be compressed: leave content-encoding out"}';

test('a content-type other than JSON in UTF-8, or none, is refused', async () => {
	const service = await openAccount();
	const body = new TextEncoder().encode(JSON.stringify({ aid: service.aid, data: [event()] }));
	for (const type of [
		undefined,
		'text/plain',
		'text/json',
		'application/x-www-form-urlencoded',
		'multipart/form-data; boundary=x',
		'application/octet-stream',
		'application/xml',
		'application/jsonl',
		'application/vnd.api+json',
		'application/json-seq',
		'json',
		'*/*',
		'application/json, text/plain',
		'application/json; charset=iso-8859-1',
		'application/json; charset=utf-16',
		'application/json; charset=utf-8; charset=latin1',
		'application/json; charset=',
		'application/json; charset',
		`application/json; parameter=${'x'.repeat(200)}`,
	]) {
		const answer = await service.upload(body, { 'content-type': type });
		assert.equal(answer.status, 415, String(type));
		assert.equal(await answer.text(), wrongType);
		assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
		assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
		assert.match(answer.headers.get('ratelimit-policy') ?? '', /^"rate";q=\d+;w=1, "quota";q=\d+;w=\d+$/);
	}
	assert.deepEqual(await service.stored(), []);
});

test('a compressed body is refused', async () => {
	const service = await openAccount();
	const body = JSON.stringify({ aid: service.aid, data: [event()] });
	for (const encoding of ['gzip', 'br', 'deflate', 'zstd', 'gzip, identity']) {
		const answer = await service.upload(gzipSync(body), { 'content-encoding': encoding });
		assert.equal(answer.status, 415, encoding);
		assert.equal(await answer.text(), compressed);
		assert.equal(answer.headers.get('accept-encoding'), 'identity');
	}
	assert.deepEqual(await service.stored(), []);
	assert.equal((await service.upload(body, { 'content-encoding': 'identity' })).status, 201);
});

test('a body that is said not to be encoded is taken, in any case of letters', async () => {
	const service = await openAccount();
	for (const encoding of ['identity', 'Identity', ' IDENTITY '])
		assert.equal(
			(await service.upload({ aid: service.aid, data: [event()] }, { 'content-encoding': encoding })).status,
			201,
		);
});

test('is answered before the body is sent', async (t) => {
	const service = await openAccount();
	for (const expect of [undefined, '100-continue']) {
		const connection = await connectTo(t, service.url);
		connection.send(
			uploadHead({ 'x-api-key': service.key, 'content-type': 'text/plain', 'content-length': 9, expect }),
		);
		const answer = await connection.answer();
		assert.equal(answer.status, 415);
		assert.equal(answer.body, wrongType);
		connection.destroy();
	}
});
