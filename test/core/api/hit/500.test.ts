import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startService } from '../../../support.ts';

const home = 'https://acme.example';

test('pages may read that the store failed, and a hit is stored once it works again', async (t) => {
	const { sendHit, store, server, folder, aid, logged } = await startService(t);
	await store.control.updateAccount(aid, { origins: [home] });
	await server.directory.refresh();
	const { id } = await store.control.account(aid);
	const file = join(folder, 'accounts', `${id}.sqlite`);
	renameSync(file, `${file}.away`);
	const answer = await sendHit({}, { origin: home });
	assert.equal(answer.status, 500);
	assert.equal(
		await answer.text(),
		'{"message":"Internal server error.","validationErrors":"the store failed; the hit is not stored"}',
	);
	assert.equal(answer.headers.get('access-control-allow-origin'), home);
	assert.equal(answer.headers.get('x-hit-stored'), null);
	const requestId = answer.headers.get('x-request-id');
	const entry = logged.map((line) => JSON.parse(line)).find((line) => line.requestId === requestId);
	assert.equal(entry.level, 'error');
	assert.ok(entry.cause);
	renameSync(`${file}.away`, file);
	assert.equal((await sendHit({}, { origin: home })).headers.get('x-hit-stored'), '1');
});
