import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';
import { askReceipt } from './ask.ts';

test("an unknown account and another client's account get the same answer", async () => {
	const service = await openAccount();
	const other = await openAccount();
	for (const aid of [other.aid, 'c-a-nobody']) {
		const answer = await askReceipt(service, 'T', { aid });
		assert.equal(answer.status, 400);
		assert.deepEqual(await answer.json(), {
			message: `No account ${aid} is available to this API key.`,
			validationErrors: 'Invalid account',
		});
	}
});

test('names missing and invalid parameters', async () => {
	const service = await openAccount();
	const ask = async (path: string) => {
		const answer = await fetch(`${service.url}/subscription/${path}`, {
			headers: { 'x-api-key': service.key },
		});
		assert.equal(answer.status, 400, path);
		const { message, validationErrors } = (await answer.json()) as Record<string, string>;
		assert.equal(message, 'Error reading receipts.');
		return validationErrors;
	};
	const text = 'a string of 1 to 255 characters, without control characters or lone surrogates';
	assert.equal(await ask('T'), 'aid is required');
	assert.equal(await ask('T?aid='), `aid must be ${text}`);
	assert.equal(await ask('T?aid=a&aid=b'), `aid must be ${text}`);
	assert.equal(await ask(`%00?aid=${service.aid}`), `tid must be ${text}`);
	assert.equal(await ask(`${'x'.repeat(256)}?aid=${service.aid}`), `tid must be ${text}`);
});
