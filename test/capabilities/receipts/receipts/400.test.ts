import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';
import { askReceipts } from './ask.ts';

const text = 'a string of 1 to 255 characters, without control characters or lone surrogates';

test('names missing and invalid properties', async () => {
	const service = await openAccount();
	const { aid } = service;
	const tidsRule = `tids must be an array of 1 to 100 elements, each ${text}`;
	for (const [body, expected] of [
		[{}, 'aid is required; tids is required'],
		[[], 'the body must be an object'],
		['null', 'the body must be an object'],
		[{ aid }, 'tids is required'],
		[{ aid: '', tids: ['a'] }, `aid must be ${text}`],
		[{ aid, tids: [] }, tidsRule],
		[{ aid, tids: 'a' }, tidsRule],
		[{ aid, tids: [1] }, tidsRule],
		[{ aid, tids: ['a', ''] }, tidsRule],
		[{ aid, tids: ['x'.repeat(256)] }, tidsRule],
		[{ aid, tids: Array(101).fill('a') }, tidsRule],
	] as const) {
		const answer = await askReceipts(service, body);
		assert.equal(answer.status, 400, JSON.stringify(body));
		assert.deepEqual(await answer.json(), {
			message: 'Error reading receipts.',
			validationErrors: expected,
		});
	}
});

test("a body that is not JSON, or another client's account", async () => {
	const service = await openAccount();
	const other = await openAccount();
	const malformed = await askReceipts(service, '{');
	assert.equal(((await malformed.json()) as { message: string }).message, 'Malformed JSON.');
	const foreign = await askReceipts(service, { aid: other.aid, tids: ['a'] });
	assert.equal(foreign.status, 400);
	assert.deepEqual(await foreign.json(), {
		message: `No account ${other.aid} is available to this API key.`,
		validationErrors: 'Invalid account',
	});
});
