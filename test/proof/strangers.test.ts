import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '../support.ts';
import { strangers } from './strangers.ts';

test('strange requests, foreign credentials and hostile connections get documented answers, and no secret', async (t) => {
	const addresses = [`sqlite:${temporaryFolder(t)}`, `sqlite:${temporaryFolder(t)}`] as const;
	const { accessChecks, answers } = await strangers({ addresses, requests: 240, seed: 1 });
	assert.ok(accessChecks > 600);
	for (const status of [200, 400, 403, 404, 405]) assert.ok(answers[status], `no ${status}`);
});
