import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';
import { event } from '../../../support.ts';
import { askUsage } from './ask.ts';

test('a key that asks too often is refused; its uploads and other keys are not', async () => {
	const service = await openAccount();
	const other = await openAccount();
	const beganMs = performance.now();
	let admitted = 0;
	let refused: Response | undefined;
	while (!refused) {
		const answers = await Promise.all(Array.from({ length: 20 }, () => askUsage(service)));
		admitted += answers.filter(({ status }) => status === 200).length;
		refused = answers.find(({ status }) => status === 429);
	}
	const seconds = (performance.now() - beganMs) / 1000;
	assert.ok(admitted <= 10 + seconds, `${admitted} in ${seconds} s`);
	assert.equal(refused.headers.get('retry-after'), '1');
	assert.equal(await refused.text(), '{"message":"Rate limit exceeded.","validationErrors":null}');
	assert.equal((await service.upload({ aid: service.aid, data: [event()] })).status, 201);
	assert.equal((await askUsage(service, { 'x-api-key': other.key })).status, 200);
});
