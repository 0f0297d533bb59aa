import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loseTables } from '../../../core/store/damage.ts';
import { startService } from '../../../support.ts';
import { askReceipt } from './ask.ts';

test('a failure of the store reveals nothing', async (t) => {
	const service = await startService(t);
	const { id } = await service.store.control.account(service.aid);
	loseTables(`${service.folder}/accounts/${id}.sqlite`, 'subscription_event');
	const answer = await askReceipt(service, 'T');
	assert.equal(answer.status, 500);
	assert.deepEqual(await answer.json(), {
		message: 'Internal server error.',
		validationErrors: 'the store failed',
	});
	assert.ok(service.logged.some((line) => line.includes('no such table')));
});
