import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { issueCask } from '../../../../src/core/access/cask.ts';
import { addClient, startService } from '../../../support.ts';

const home = 'https://acme.example';

test('pages may read that the store failed, the log has the cause, and no answer contains a path', async (t) => {
	const { url, store, server, folder, logged } = await startService(t);
	const { aid } = await addClient(store, { client: 'broken' });
	await store.control.updateAccount(aid, { origins: [home] });
	await server.directory.refresh();
	const { id } = await store.control.account(aid);
	const file = join(folder, 'accounts', `${id}.sqlite`);
	renameSync(file, `${file}.away`);
	const subject = '0123456789abcdef0123456789abcdef';
	const claims = { aid, scope: 'vid', subject } as const;
	const { cask } = issueCask(server.directory.signingKeys, claims, Date.now());
	const paths = ['/visscores', '/visscores/segments', '/segments'];
	for (const path of paths) {
		const answer = await fetch(`${url}${path}?cask=${cask}`, { headers: { origin: home } });
		assert.equal(answer.status, 500);
		assert.equal(
			await answer.text(),
			'{"message":"Internal server error.","validationErrors":"the store failed"}',
		);
		assert.equal(answer.headers.get('access-control-allow-origin'), home);
		assert.equal(answer.headers.get('vary'), 'origin');
		assert.equal(answer.headers.get('cache-control'), 'private, no-store');
		const requestId = answer.headers.get('x-request-id');
		const entry = logged.map((line) => JSON.parse(line)).find((line) => line.requestId === requestId);
		assert.equal(entry.level, 'error');
		assert.ok(entry.cause);
	}
	renameSync(`${file}.away`, file);
	for (const path of paths) assert.equal((await fetch(`${url}${path}?cask=${cask}`)).status, 200);
});
