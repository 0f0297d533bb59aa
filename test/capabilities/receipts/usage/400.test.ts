import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';

test('an account that is not one of the key, or none, is refused', async () => {
	const service = await openAccount();
	const other = await openAccount();
	for (const query of [`aid=${other.aid}`, 'aid=c-a-nobody', 'aid=', 'aid=a&aid=b', 'aid=%00']) {
		const answer = await fetch(`${service.url}/usage?${query}`, { headers: { 'x-api-key': service.key } });
		assert.equal(answer.status, 400, query);
		assert.equal(((await answer.json()) as { validationErrors: string }).validationErrors, 'Invalid account');
	}
});
