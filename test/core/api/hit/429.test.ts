import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startService } from '../../../support.ts';

async function assertLimited(answer: Response): Promise<void> {
	assert.equal(answer.status, 429);
	assert.equal(await answer.text(), '{"message":"Rate limit exceeded.","validationErrors":null}');
	assert.match(answer.headers.get('retry-after') ?? '', /^([89]|10)$/);
	assert.equal(answer.headers.get('access-control-allow-origin'), '*');
}

test('more hits than one address may send', async (t) => {
	const { sendHit } = await startService(t, { hitsPerAddress: 0.1 });
	assert.equal((await sendHit()).status, 200);
	await assertLimited(await sendHit());
});

test('more hits than one visitor may send; other visitors are not affected', async (t) => {
	const { sendHit, hit } = await startService(t, { hitsPerVisitor: 0.1 });
	const { vid } = await hit();
	await hit({ vid });
	await assertLimited(await sendHit({ vid }));
	await hit();
});
