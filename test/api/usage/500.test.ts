import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { startService } from '../../support.ts';
import { askUsage } from './ask.ts';

test('a failure of the control database reveals nothing', async (t) => {
	const service = await startService(t);
	const database = new DatabaseSync(`${service.folder}/control.sqlite`);
	database.exec('ALTER TABLE quota_lease RENAME TO gone');
	database.close();
	const answer = await askUsage(service);
	assert.equal(answer.status, 500);
	assert.deepEqual(await answer.json(), {
		message: 'Internal server error.',
		validationErrors: 'the store failed',
	});
});
