import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startService } from '../../../support.ts';
import { askImage, assertImage, visitorsOf } from './image.ts';

test('more hits than one address may send: an image with retry-after', async (t) => {
	const service = await startService(t, { hitsPerAddress: 0.1 });
	await assertImage(await askImage(service, `aid=${service.aid}`), 200);
	const refused = await askImage(service, `aid=${service.aid}`);
	await assertImage(refused, 429);
	assert.match(refused.headers.get('retry-after') ?? '', /^([89]|10)$/);
	assert.equal(await visitorsOf(service), 1);
});

test('more hits than one visitor may send', async (t) => {
	const service = await startService(t, { hitsPerVisitor: 0.1 });
	const { vid } = await service.hit();
	await assertImage(await askImage(service, `aid=${service.aid}&vid=${vid}`), 200);
	await assertImage(await askImage(service, `aid=${service.aid}&vid=${vid}`), 429);
	await assertImage(await askImage(service, `aid=${service.aid}`), 200);
});
