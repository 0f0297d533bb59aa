import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '../support.ts';
import { webhooksKilled } from './webhooks.ts';

test('a server that is killed again and again tells webhooks every change once, and keeps the last one', async (t) => {
	const address = `sqlite:${temporaryFolder(t)}`;
	const { transitions } = await webhooksKilled({ address, processes: 1, kills: 2, lifeMs: 500, seed: 1 });
	assert.ok(transitions > 0);
});
