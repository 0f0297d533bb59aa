import assert from 'node:assert/strict';
import { test } from 'node:test';
import { takesLong } from '../quick.ts';
import { startService, temporaryFolder } from '../support.ts';
import { uploadAsStranger } from './stranger.ts';

test('over TLS, through a proxy that cuts, stalls and answers 504, acknowledged events are stored', {
	skip: takesLong,
}, async (t) => {
	const service = await startService(t, { selfSigned: true });
	const options = { folder: temporaryFolder(t), uploads: 250, share: 0.2, seed: 7 };
	const { acknowledged, attempts, repeated, proxy } = await uploadAsStranger(t, service, options);
	assert.equal(acknowledged, 250);
	assert.ok(attempts > 270, `${attempts} attempts`);
	assert.ok(repeated > 0);
	for (const [fate, count] of Object.entries(proxy)) assert.ok(count > 0, fate);
});
