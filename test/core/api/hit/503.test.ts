import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QueueFullError } from '../../../../src/core/errors.ts';
import { appOver } from '../../../faulty-store.ts';
import { browserUserAgent } from '../../../support.ts';

test('more hits wait for the store than the queue holds; hit.gif still answers with an image', async (t) => {
	const { app, aid } = await appOver(t, { storeHit: () => Promise.reject(new QueueFullError()) });
	const headers = { 'user-agent': browserUserAgent, 'content-type': 'text/plain' };
	const answer = await app.inject({ method: 'POST', url: '/hit', headers, payload: JSON.stringify({ aid }) });
	assert.equal(answer.statusCode, 503);
	assert.equal(answer.body, '{"message":"Service unavailable.","validationErrors":null}');
	assert.equal(answer.headers['retry-after'], '1');
	assert.equal(answer.headers['access-control-allow-origin'], '*');
	const image = await app.inject({ url: `/hit.gif?aid=${aid}`, headers });
	assert.equal(image.statusCode, 503);
	assert.equal(image.headers['content-type'], 'image/gif');
	assert.equal(image.headers['retry-after'], '1');
	assert.equal(image.rawPayload.length, 42);
});
