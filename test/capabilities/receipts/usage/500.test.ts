import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loseTables } from '../../../core/store/damage.ts';
import { startService } from '../../../support.ts';
import { askUsage } from './ask.ts';

test('a failure of the control database reveals nothing', async (t) => {
	const service = await startService(t);
	loseTables(`${service.folder}/control.sqlite`, 'quota_lease');
	const answer = await askUsage(service);
	assert.equal(answer.status, 500);
	assert.deepEqual(await answer.json(), {
		message: 'Internal server error.',
		validationErrors: 'the store failed',
	});
});
